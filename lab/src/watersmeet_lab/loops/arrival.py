"""Rows as they arrive, and the order in which they do.

Rows of equal time still arrive one after the other: by time, then stream, then number within the stream. The
paper compares times alone, so that two rows of the same time find each other twice in a lazy join, once from
either side. With a total order every result has one last row, and that row finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Arrival(NamedTuple):
    """A row. Rows compare by their order of arrival.

    Attributes:
        ts: Its time.
        stream: Where it comes from.
        number: How many rows of its stream came before it.
        value: The attribute that all streams have in common.

    >>> Arrival(7, stream=0, number=3, value=1) < Arrival(7, stream=1, number=0, value=1)
    True
    """

    ts: float
    stream: int
    number: int
    value: int


# One row of every stream.
Combination = tuple[Arrival, ...]


def in_order(streams: Sequence[Sequence[tuple[float, int]]]) -> list[Arrival]:
    """Rows given per stream as time and value, one after the other as they arrive.

    >>> [(row.ts, row.stream) for row in in_order([[(5, 1), (2, 1)], [(2, 1)]])]
    [(2, 0), (2, 1), (5, 0)]
    """
    return sorted(
        Arrival(ts, stream, number, value)
        for stream, rows in enumerate(streams)
        # Sorting keeps the order of equal times, so a number says which of them came first.
        for number, (ts, value) in enumerate(sorted(rows, key=lambda row: row[0]))
    )
