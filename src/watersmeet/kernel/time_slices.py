"""Cutting rows into slices of event time, so that state can leave in whole runs.

    time   |--- slice ---|--- slice ---|--- slice ---|--- slice ---|
    rows    . . .. .  . .  ... .  . . .   . .. . .  .   .
                     ^ watermark - window: everything left of this slice is gone, nothing is copied

What is stored spans the window and the newest batch, because the watermark is one batch old. A slice may
therefore be a fixed fraction of both together without more dead weight: batches that span much (a backfill,
a stopped query) are cut into wider slices, and no batch into more than a dozen or so. Widths come from a
short list, so that small batches meet in the same slices and can be merged there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watersmeet.kernel.stored import stored_as


@stored_as("slice")
class TimeSlice(NamedTuple):
    """The event-time interval ``[number * width, (number + 1) * width)``, microseconds."""

    width: int
    number: int


def cut(times: Any, window: int, slices_per_window: int) -> list[tuple[TimeSlice, Any]]:
    """Assign rows to slices: pairs of slice and the positions of its rows, in their given order.

    >>> [(s.number, rows.tolist()) for s, rows in cut(np.array([5, 12, 7]), window=100, slices_per_window=10)]
    [(0, [0, 2]), (1, [1])]
    """
    if len(times) == 0:
        return []
    earliest, latest = int(times.min()), int(times.max())
    width = _width(window, window + latest - earliest, slices_per_window)
    first = earliest // width
    if latest // width == first:
        return [(TimeSlice(width, first), np.arange(len(times)))]
    # The number is small, so 16 bits hold it and NumPy sorts it by radix, stably.
    number = (times // width - first).astype(np.int16)
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(number.max() + 2))
    return [
        (TimeSlice(width, first + i), order[bounds[i] : bounds[i + 1]])
        for i in range(len(bounds) - 1)
        if bounds[i] < bounds[i + 1]
    ]


def _width(window: int, held: int, slices_per_window: int) -> int:
    """The widest of 1, 1.5, 2, 3, 4, 6, ... slices of the window that is within its share of what is held."""
    allowed = held * 17 // 16  # a batch of half a window spans a row less than half a window
    double = max(1, window // slices_per_window)
    while 2 * double * slices_per_window <= allowed:
        double *= 2
    half_more = double + double // 2
    return half_more if half_more * slices_per_window <= allowed else double
