"""From row numbers to rows: fetching the kept columns of every combination found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.run import Run

_ROW_BITS = 32
_ROW_MASK = (1 << _ROW_BITS) - 1


@dataclass(frozen=True, slots=True)
class Results:
    """A block of results: per stream its kept columns, and the time of each result (int64 microseconds)."""

    streams: tuple[pa.RecordBatch, ...]
    times: Any

    def __len__(self) -> int:
        """How many results the block holds."""
        return len(self.times)


def collect(stream: int, order: Sequence[int], head: Run, runs: Sequence[Run], found: Any) -> Results:
    """Fetch the rows of the combinations `probe` found."""
    fetched: list[Any] = [None] * (len(order) + 1)
    fetched[stream] = head.columns.take(pa.array(found[:, 0]))
    for level, other in enumerate(order):
        fetched[other] = _fetch(runs, found[:, level + 1])
    return Results(tuple(fetched), found[:, -1].copy())


def _fetch(runs: Sequence[Run], places: Any) -> pa.RecordBatch:
    """Rows from several runs, in the order of `places` (run * 2**32 + row).

    Fetched run by run and then put in order: the cost follows the number of results, where joining the
    runs into one table first would follow the window.
    """
    owner = places >> _ROW_BITS
    rows = places & _ROW_MASK
    used = np.unique(owner)
    if len(used) == 1:
        return runs[used[0]].columns.take(pa.array(rows))
    by_owner = np.argsort(owner.astype(np.int16) if len(runs) < 1 << 15 else owner, kind="stable")
    sorted_rows = rows[by_owner]
    bounds = np.searchsorted(owner[by_owner], np.append(used, used[-1] + 1))
    parts = [
        runs[run].columns.take(pa.array(sorted_rows[first:last]))
        for run, first, last in zip(used, bounds[:-1], bounds[1:], strict=True)
    ]
    place_of = np.empty(len(places), np.int64)
    place_of[by_owner] = np.arange(len(places))
    return pa.concat_batches(parts).take(pa.array(place_of))
