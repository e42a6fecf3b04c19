"""From combinations of rows to results: fetching the columns that leave the operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.gather import TooManyBytes
from watersmeet.kernel.grouping import in_groups


@dataclass(frozen=True, slots=True)
class Results:
    """A block of results.

    Attributes:
        columns: Per input the columns that leave.
        times: When each result came about (int64 microseconds).
        ends: Until when its rows are all alive.
        closings: Where results can be without some rows: when they close, and whether they are
            (`kernel.closing`); None elsewhere.
    """

    columns: tuple[list[pa.Array], ...]
    times: Any
    ends: Any
    closings: Any | None = None

    def __len__(self) -> int:
        """How many results the block holds."""
        return len(self.times)

    @property
    def nbytes(self) -> int:
        """About what they take."""
        return int(self.times.nbytes + sum(column.nbytes for part in self.columns for column in part))


def gathered(blocks: Iterable[Results], most_bytes: int) -> Iterator[Results]:
    """The same results in fewer blocks: whoever takes them has a price for each, however small.

    Args:
        blocks: Blocks of results.
        most_bytes: Blocks are put together up to this size.
    """
    for group in in_groups(blocks, (lambda block: block.nbytes, most_bytes)):
        yield _together(group)


def _together(blocks: list[Results]) -> Results:
    if len(blocks) == 1:
        return blocks[0]
    columns = tuple(
        [pa.concat_arrays(pieces) for pieces in zip(*parts, strict=True)]
        for parts in zip(*(block.columns for block in blocks), strict=True)
    )
    times, ends = (
        np.concatenate(pieces)
        for pieces in ([block.times for block in blocks], [block.ends for block in blocks])
    )
    closings = [block.closings for block in blocks if block.closings is not None]
    return Results(columns, times, ends, np.concatenate(closings) if closings else None)


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
        yield Results(columns, rows.starts, rows.ends, rows.carried[0] if rows.carried else None)
