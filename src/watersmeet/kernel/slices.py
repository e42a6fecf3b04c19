"""Cutting rows into slices of event time, so that state can leave in whole runs.

    time   |--- slice ---|--- slice ---|--- slice ---|--- slice ---|
    rows    . . .. .  . .  ... .  . . .   . .. . .  .   .
                     ^ watermark - window: everything left of this slice is gone, nothing is copied

A batch may span far more than a window (a backfill, a stopped query). Slices then grow by doubling, so
a batch never falls into more than two windows' worth of slices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Slice(NamedTuple):
    """The event-time interval ``[index * width, (index + 1) * width)``, microseconds."""

    width: int
    index: int


def cut(times: Any, window: int, slices_per_window: int) -> list[tuple[Slice, Any]]:
    """Assign rows to slices: pairs of slice and the positions of its rows, in their given order.

    >>> [(s.index, rows.tolist()) for s, rows in cut(np.array([5, 12, 7]), window=100, slices_per_window=10)]
    [(0, [0, 2]), (1, [1])]
    """
    if len(times) == 0:
        return []
    earliest, latest = int(times.min()), int(times.max())
    width = max(1, window // slices_per_window)
    while latest // width - earliest // width > 2 * slices_per_window:
        width *= 2
    first = earliest // width
    if latest // width == first:
        return [(Slice(width, first), np.arange(len(times)))]
    # At most a few dozen slices, so 16 bits hold the number and NumPy sorts it by radix, stably.
    number = (times // width - first).astype(np.int16)
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(number.max() + 2))
    return [
        (Slice(width, first + i), order[bounds[i] : bounds[i + 1]])
        for i in range(len(bounds) - 1)
        if bounds[i] < bounds[i + 1]
    ]
