"""Cutting rows into pieces of event time, so that state can leave in whole runs.

    time     |--- slice ---|--- slice ---|--- slice ---|--- slice ---|
    batches    . . .. .  . .  ...|. . . .   . .. . .  .|  .. . .  .
             ^ watermark - window: a run whose last row is left of this is gone, nothing is copied

What is stored spans the window and the newest batch, because the watermark is one batch old. A piece may
therefore be a fixed fraction of both together without more dead weight: batches that span much (a backfill,
a stopped query) are cut into wider pieces, no batch into more than a dozen or so, and one about as long as a
slice not at all. The slice of a piece is that of its last row. Widths come from a short list, so that small
batches meet in the same slices and can be merged there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from watersmeet.kernel.stored import stored_as


@stored_as("slice")
class TimeSlice(NamedTuple):
    """The event-time interval ``[number * width, (number + 1) * width)``, microseconds."""

    width: int
    number: int


def cut(times: Any, window: int, slices_per_window: int) -> list[tuple[TimeSlice, Any]]:
    """Cut rows into pieces: pairs of slice and the positions of its rows, in their given order.

    >>> [(s.number, rows.tolist()) for s, rows in cut(np.array([5, 32, 7]), window=100, slices_per_window=10)]
    [(0, [0, 2]), (3, [1])]
    """
    if len(times) == 0:
        return []
    earliest, latest = int(times.min()), int(times.max())
    width = _width(window, window + latest - earliest, slices_per_window)
    span = latest - earliest + 1
    pieces = max(1, (2 * span + width) // (2 * width))
    if pieces == 1:
        return [(TimeSlice(width, latest // width), np.arange(len(times)))]
    # The number is small, so 16 bits hold it and NumPy sorts it by radix, stably.
    number = ((times - earliest) // -(-span // pieces)).astype(np.int16)
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(pieces + 1))
    cut_rows = [order[first:last] for first, last in pairwise(bounds) if first < last]
    return [(TimeSlice(width, int(times[rows].max()) // width), rows) for rows in cut_rows]


def _width(window: int, held: int, slices_per_window: int) -> int:
    """The widest of 1, 1.5, 2, 3, 4, 6, ... slices of the window that is within its share of what is held."""
    allowed = held * 17 // 16  # a batch of half a window spans a row less than half a window
    double = max(1, window // slices_per_window)
    while 2 * double * slices_per_window <= allowed:
        double *= 2
    half_more = double + double // 2
    return half_more if half_more * slices_per_window <= allowed else double
