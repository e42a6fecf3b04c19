"""Heads meet the rows of a window alive at their time (Tran & Lee 2010, Sect. 3.2, "T-limit join")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.evaluate import where_true
from watersmeet.kernel.grid import around, cell_hashes, cells
from watersmeet.kernel.judge import judge_of, quickest_first
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.sites.packet import ENDS, TIME, ends, keys_of, times
from watersmeet.kernel.sites.store import Store
from watersmeet.plan.sites.step import JoinStep, column_name
from watersmeet.query.expression import Expression, Field, FunctionCall
from watersmeet.query.number_band import NumberBand

# Whether rows that came at the first times and end at the second are alive at the third.
Alive = Callable[[Any, Any, Any], Any]

# Without a key all heads meet all rows: so many pairs are looked at together.
_MOST_PAIRS = 1 << 21


def limit_join(
    step: JoinStep, heads: pa.RecordBatch, store: Store, alive: Alive, keys: Keys | None = None
) -> list[pa.RecordBatch]:
    """The results of heads with rows of a window, each at the time of its head.

    Args:
        step: What must be equal, and what is kept.
        heads: Rows that are later than all they meet.
        store: The rows they may meet.
        alive: Which of these are alive at a time.
        keys: The keys of the heads, where they are known.
    """
    known = keys_of(heads, step.head_key) if keys is None else keys
    results = []
    for pairs in _pairs(step, heads, store, known):
        at, came = times(heads)[pairs.meeting], times(pairs.rows)[pairs.numbers]
        living = came <= at if step.ties else came < at
        living &= alive(came, ends(pairs.rows, store.reach)[pairs.numbers], at)
        found = _fulfilling(step, pairs.kept(living))
        if len(found):
            results.append(_joined(step, found, store.reach))
    return results


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Heads and rows that may belong together: head `meeting[i]` and row `numbers[i]`."""

    heads: pa.RecordBatch
    meeting: Any
    rows: pa.RecordBatch
    numbers: Any

    def __len__(self) -> int:
        return len(self.meeting)

    def kept(self, mask: Any) -> _Pairs:
        if mask.all():
            return self
        return _Pairs(self.heads, self.meeting[mask], self.rows, self.numbers[mask])

    def column(self, name: str, block: slice = slice(None)) -> pa.Array:
        """A column of one of the two, for some pairs."""
        side, chosen = (
            (self.heads, self.meeting) if name in self.heads.schema.names else (self.rows, self.numbers)
        )
        return side.column(name).take(pa.array(chosen[block]))


def _pairs(step: JoinStep, heads: pa.RecordBatch, store: Store, keys: Keys) -> Iterator[_Pairs]:
    """Pairs of equal keys or of near numbers, chunk by chunk of the window."""
    asking = np.arange(heads.num_rows)
    by: tuple[str, ...] | NumberBand = step.window_key
    if step.band is not None:
        by = step.band
        values = heads.column(column_name(by.left.stream, by.left.column))
        wanted, asking = around(cells(by, values, left=True))
        keys = Keys(cell_hashes(wanted), None)
    largest = max((chunk.rows.num_rows for chunk in store.chunks), default=0)
    size = len(asking) if step.window_key else max(1, _MOST_PAIRS // max(1, largest))
    for first in range(0, len(asking), size or 1):
        block = slice(first, first + size)
        some = Keys(keys.hashes[block], None) if keys.encoded is None else keys
        for chunk, asked, rows in store.matches(some, by):
            yield _Pairs(heads, asking[block][asked], chunk.rows, rows)


def _fulfilling(step: JoinStep, pairs: _Pairs) -> _Pairs:
    """The pairs that fulfil all conditions; functions are asked last, the quickest to reject first."""
    calls = [one for one in step.conditions if isinstance(one, FunctionCall)]
    for condition in (one for one in step.conditions if not isinstance(one, FunctionCall)):
        if len(pairs):
            pairs = pairs.kept(_true(condition, pairs))
    for call in quickest_first(calls):
        if len(pairs):
            pairs = pairs.kept(_judged(call, pairs))
    return pairs


def _true(condition: Expression, pairs: _Pairs) -> Any:
    def column(field: Field) -> pa.Array:
        return pairs.column(column_name(field.stream, field.column))

    return where_true(condition, column, len(pairs))


def _judged(call: FunctionCall, pairs: _Pairs) -> Any:
    names = [column_name(argument.stream, argument.column) for argument in call.arguments]
    sides = [pairs.heads if name in pairs.heads.schema.names else pairs.rows for name in names]
    pair_bytes = sum(
        side.column(name).nbytes // max(1, side.num_rows) for name, side in zip(names, sides, strict=True)
    )
    fetch = partial(_columns, pairs, names)
    return judge_of(call.function).mask(len(pairs), pair_bytes, fetch)


def _columns(pairs: _Pairs, names: list[str], block: slice) -> list[pa.Array]:
    return [pairs.column(name, block) for name in names]


def _joined(step: JoinStep, pairs: _Pairs, reach: int) -> pa.RecordBatch:
    names, columns = [TIME], [pairs.column(TIME)]
    if step.ends:
        # A result lives until one of its rows ends.
        names.append(ENDS)
        first = ends(pairs.heads, step.head_reach)[pairs.meeting]
        columns.append(pa.array(np.minimum(first, ends(pairs.rows, reach)[pairs.numbers])))
    return pa.record_batch([*columns, *map(pairs.column, step.columns)], [*names, *step.columns])
