"""From combinations of rows to results: fetching the columns that leave the operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.gather import TooManyBytes


@dataclass(frozen=True, slots=True)
class Results:
    """A block of results.

    Attributes:
        columns: Per input the columns that leave.
        times: When each result came about (int64 microseconds).
        ends: Until when its rows are all alive.
    """

    columns: tuple[list[pa.Array], ...]
    times: Any
    ends: Any

    def __len__(self) -> int:
        """How many results the block holds."""
        return len(self.times)


def fetch(rows: Combinations, leaving: Sequence[Sequence[int]]) -> Iterator[Results]:
    """The results of some combinations, in as many blocks as their size asks for.

    Args:
        rows: Combinations of all inputs.
        leaving: Per input the positions of the columns that leave.
    """
    try:
        columns = tuple(rows.columns(part, positions) for part, positions in enumerate(leaving))
    except TooManyBytes:
        half = len(rows) // 2
        yield from fetch(rows.take(slice(None, half)), leaving)
        yield from fetch(rows.take(slice(half, None)), leaving)
    else:
        yield Results(columns, rows.starts, rows.ends)
