"""The rows of one stream that a node holds, oldest first.

Rows come at the young end and leave at the old one, so each has a position that never changes:

    position   first           moved            next
                 | copies ...... | held ......... |
    age        oldest                          youngest

Held rows are those of the node. Copies have moved on to the next node, and wait here for partial results that
have still to see them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from watersmeet.kernel.ring.message import Row
from watersmeet.kernel.ring.predicate import Ids, Values

_CAPACITY = 16


class Slice:
    """Rows in arrays, so that all of them are compared in one call.

    >>> held = Slice([Row(0, id=4, place=10), Row(0, id=6, place=25), Row(0, id=9, place=31)])
    >>> [row.id for row in held.move(held.older_than(25))]
    [4, 6]
    >>> len(held), held.copies
    (1, 2)
    >>> held.release(1)
    >>> held.copies
    1
    """

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        """A slice with these rows, oldest first."""
        self.first = self.moved = self.next = 0
        self._origin = 0
        self._rows: list[Row] = []
        self._ids: Ids = np.empty(_CAPACITY, np.int64)
        self._places: NDArray[np.int64] = np.empty(_CAPACITY, np.int64)
        self._values: Values = np.empty(_CAPACITY, object)
        for row in rows:
            self.append(row)

    def __len__(self) -> int:
        return self.next - self.moved

    @property
    def copies(self) -> int:
        """Rows that have moved on and are still here."""
        return self.moved - self.first

    def append(self, row: Row) -> None:
        """Take a row that is younger than all others."""
        at = self.next - self._origin
        if at == len(self._ids):
            self._make_room()
            at = self.next - self._origin
        self._ids[at], self._places[at], self._values[at] = row.id, row.place, row.value
        self._rows.append(row)
        self.next += 1

    def _make_room(self) -> None:
        """Close the gap that released rows have left; where that is not enough, take more room."""
        begin, count = self.first - self._origin, self.next - self.first
        room = max(_CAPACITY, 2 * count)
        self._ids = _moved(self._ids, begin, count, room)
        self._places = _moved(self._places, begin, count, room)
        self._values = _moved(self._values, begin, count, room)
        self._rows = self._rows[begin:]
        self._origin = self.first

    def older_than(self, place: int) -> int:
        """How many held rows came at this place or before."""
        held = self._places[self.moved - self._origin : self.next - self._origin]
        return int(np.searchsorted(held, place, "right"))

    def move(self, count: int) -> list[Row]:
        """The oldest held rows, which become copies."""
        begin = self.moved - self._origin
        self.moved += count
        return self._rows[begin : begin + count]

    def release(self, position: int) -> None:
        """Let go of copies before a position."""
        self.first = max(self.first, min(position, self.moved))

    def view(self, begin: int, end: int) -> tuple[Ids, Values]:
        """Ids and values of the rows at some positions."""
        span = slice(begin - self._origin, end - self._origin)
        return self._ids[span], self._values[span]

    def row(self, position: int) -> Row:
        """The row at a position."""
        return self._rows[position - self._origin]

    @property
    def held(self) -> list[Row]:
        """The rows of this node, oldest first."""
        return self._rows[self.moved - self._origin :]


def _moved(array: NDArray[Any], begin: int, count: int, room: int) -> NDArray[Any]:
    """The same items at the start of a new array."""
    fresh = np.empty(room, array.dtype)
    fresh[:count] = array[begin : begin + count]
    return fresh
