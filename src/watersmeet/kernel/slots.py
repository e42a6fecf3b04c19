"""Rows in slots of time that overlap: a row is stored once for each of its slots.

    slots   |-------------------|
                      |-------------------|
                                |-------------------|
    row                    |====|                      alive in the first slot, to its end
                           |==============|            and in the second, as another row

The slot is part of the key, so rows of different slots never meet. It is told by its end, which all rows of a
slot have in common, and which results bring along.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from watersmeet.kernel.run import Rows
from watersmeet.query.window_kind import Slots


def in_slots(rows: Rows, slots: Slots) -> Rows:
    """Rows once for each of their slots; results of another operator stand in one already."""
    if rows.ends is None:
        copies = np.repeat(np.arange(len(rows)), slots.copies)
        rows = replace(rows.take(copies), ends=_ends(rows.times, slots))
    return replace(rows, keys=rows.keys.followed_by(rows.ends))


def _ends(times: Any, slots: Slots) -> Any:
    """Row by row the last instants of all its slots, from the newest slot to the oldest."""
    newest = (times // slots.hop) * slots.hop + slots.size - 1
    return (newest[:, None] - np.arange(slots.copies) * slots.hop).ravel()
