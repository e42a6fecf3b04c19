"""From row numbers to rows: fetching the kept columns of every combination found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from watersmeet.kernel.gather import TooManyBytes, gather
from watersmeet.kernel.probe import ROW_BITS
from watersmeet.kernel.reach import Reach
from watersmeet.kernel.run import Run

_ROW_MASK = (1 << ROW_BITS) - 1

# Results leave in blocks of about this many bytes per stream and at most this many rows: large enough to be
# cheap per row, small enough to stay in the cache.
_BLOCK_BYTES = 1 << 26
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Results:
    """A block of results: per stream its kept columns, and the time of each result (int64 microseconds)."""

    streams: tuple[pa.RecordBatch, ...]
    times: Any

    def __len__(self) -> int:
        """How many results the block holds."""
        return len(self.times)


def block_rows(runs: Sequence[Run]) -> int:
    """How many results of these runs make a block."""
    widest = max(run.row_bytes for run in runs)
    return int(min(_BLOCK_ROWS, max(1, _BLOCK_BYTES // max(1, widest))))


def collect(stream: int, order: Sequence[int], reach: Reach, found: Any) -> Iterator[Results]:
    """Fetch the rows of the combinations `probe` found, in as many blocks as their size asks for.

    Args:
        stream: The heads' stream.
        order: The streams probed, in probe order.
        reach: The heads and the runs that were probed.
        found: What `probe` wrote.
    """
    try:
        yield _fetch(stream, order, reach, found)
    except TooManyBytes:
        half = len(found) // 2
        yield from collect(stream, order, reach, found[:half])
        yield from collect(stream, order, reach, found[half:])


def _fetch(stream: int, order: Sequence[int], reach: Reach, found: Any) -> Results:
    fetched: list[Any] = [None] * (len(order) + 1)
    fetched[stream] = gather(reach.heads, found[:, 0] >> ROW_BITS, found[:, 0] & _ROW_MASK)
    for level, other in enumerate(order):
        places = found[:, level + 1]
        first, last = reach.first_run[level], reach.first_run[level + 1]
        fetched[other] = gather(reach.runs[first:last], (places >> ROW_BITS) - first, places & _ROW_MASK)
    # A copy, because the next combinations are written over these.
    return Results(tuple(fetched), found[:, -1].copy())
