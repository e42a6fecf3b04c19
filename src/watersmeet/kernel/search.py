"""Looking for the partners of new rows: window after window, and conditions as soon as they can be judged.

    head  --probe-->  b, c  --conditions on a, b, c-->  d  --conditions on all-->  combinations
          |--------- stage --------------------|  |------------ stage ----------|

A stage visits one or more windows in one go (`kernel.probe`). Its combinations, less those that fail a
condition, are the heads of the next stage. Everything moves in blocks, so memory does not follow the
number of combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from watersmeet.kernel.combinations import Combinations, Places
from watersmeet.kernel.conditions import Condition
from watersmeet.kernel.cursor import EXAMINED, LOOKUPS, OF_KEY, OF_VALUES, new_cursor
from watersmeet.kernel.gather import TooManyBytes
from watersmeet.kernel.narrow import Narrowing, narrowed
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.kernel.probe import ROW_BITS, probe
from watersmeet.kernel.reach import Reach, reach_of
from watersmeet.kernel.run import Run
from watersmeet.kernel.window import StoredRun

_ROW_MASK = (1 << ROW_BITS) - 1

# Combinations are found in blocks of about this many bytes per input and at most this many rows: large enough
# to be cheap per row, small enough to stay in the cache.
BLOCK_BYTES = 1 << 26
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Stage:
    """Windows visited in one go, and the conditions that can be judged after them.

    `narrowing` says by what the last of them is looked up beside the key.
    """

    inputs: tuple[int, ...]
    conditions: tuple[Condition, ...]
    narrowing: Narrowing | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """How combinations with new rows of one input are found.

    Attributes:
        head: The input with the new rows.
        lead: The input whose rows are gone through one by one. It is the head itself, unless the path goes
            through the rows of another input first: those then look for the new ones.
        stages: What is visited, in order.
        scanned: The inputs that have no part in the key of the lead.
    """

    head: int
    lead: int
    stages: tuple[Stage, ...]
    scanned: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Heads:
    """Runs that look for partners, and what their rows stand for: `bound` of the one run, if it is set."""

    runs: Sequence[StoredRun | _Bound]
    bound: Combinations | None = None


@dataclass(frozen=True, slots=True)
class _Bound:
    """Combinations of an earlier stage as a run."""

    run: Run

    @property
    def earliest(self) -> int:
        return int(self.run.times.min())

    @property
    def end(self) -> int:
        assert self.run.ends is not None
        return int(self.run.ends.max())


@dataclass(slots=True)
class Search:
    """One search for the partners of new rows.

    Attributes:
        route: How to go about it.
        visible: Per input the runs that may be looked into.
        lengths: Per input the longest life of a row.
        block_bytes: What a block of combinations may take per input.
        open_limit: What may be open at a time; None sets no limit.
        examined: How many candidates were looked at so far.
        lookups: How many times a key, or a value among its rows, was looked for in a run so far.
        agreed: By attributes of narrowed look-ups, how many rows their keys had and how many were left.
    """

    route: Route
    visible: Sequence[Sequence[StoredRun]]
    lengths: Sequence[int]
    block_bytes: int = BLOCK_BYTES
    open_limit: OpenLimit | None = None
    examined: int = 0
    lookups: int = 0
    agreed: dict[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)
    _crowded: bool = False

    def __post_init__(self) -> None:
        """Where not all windows may be open together, they are visited one by one."""
        others = [runs for part, runs in enumerate(self.visible) if part != self.route.head]
        if self.open_limit is not None and not self.open_limit.holds(others):
            self._crowded = True
            self.route = replace(self.route, stages=tuple(_one_by_one(self.route.stages)))

    def combinations(self) -> Iterator[Combinations]:
        """Every combination, in blocks."""
        for runs in self._groups(self.route.lead):
            yield from self._after(0, _Heads(runs))

    def partners(self, rows: Combinations) -> Iterator[Combinations]:
        """Every combination with some that are known already, in blocks."""
        run, bound = rows.as_head(self.route.lead)
        yield from self._after(0, _Heads([_Bound(run)], bound))

    def _after(self, number: int, heads: _Heads) -> Iterator[Combinations]:
        """What the stages from this one on make of the heads."""
        stage = self.route.stages[number]
        last = number == len(self.route.stages) - 1
        for block in self._visited(stage, heads):
            kept = block
            for condition in stage.conditions:
                kept = kept.take(_mask(condition, kept))
            if not len(kept):
                continue
            if last:
                yield kept
            else:
                run, bound = kept.as_head(self.route.lead)
                yield from self._after(number + 1, _Heads([_Bound(run)], bound))

    def _groups(self, part: int) -> Iterable[Sequence[StoredRun]]:
        """The visible runs of an input, as far as they may be open together; new rows are in any case."""
        if self.open_limit is None or not self._crowded or part == self.route.head:
            return [self.visible[part]]
        return self.open_limit.groups(self.visible[part], len(self.visible) - 1)

    def _visited(self, stage: Stage, heads: _Heads) -> Iterator[Combinations]:
        """The heads with all their partners in some windows."""
        if len(stage.inputs) > 1:
            yield from self._met(stage, heads, [self.visible[part] for part in stage.inputs])
            return
        for runs in self._groups(stage.inputs[0]):
            yield from self._met(stage, heads, [runs])

    def _met(
        self, stage: Stage, heads: _Heads, windows: Sequence[Sequence[StoredRun]]
    ) -> Iterator[Combinations]:
        """The heads with all their partners in these runs."""
        inputs = stage.inputs
        reach = reach_of(heads.runs, windows)
        if not reach.heads:
            return
        leading = [heads.runs[head].run for head in reach.heads]
        by = None
        # An index lives as long as its run is open: where runs are closed after use it would be made again.
        if stage.narrowing is not None and self.open_limit is None:
            by = narrowed(stage.narrowing, inputs, leading, heads.bound, reach)
        lead_table = np.stack([run.addresses for run in leading])
        run_table = np.stack([run.addresses for run in reach.runs]) if by is None else by.runs
        scanned = np.array([part in self.route.scanned for part in inputs], np.int64)
        lengths = np.array([self.lengths[part] for part in inputs], np.int64)
        # Filled over all heads, since a block has its price however few combinations it holds.
        found = np.empty((block_rows([*leading, *reach.runs], self.block_bytes), len(inputs) + 3), np.int64)
        filled = 0
        for head, (chosen, bounds) in enumerate(zip(reach.chosen, reach.bounds, strict=True)):
            cursor = new_cursor(len(inputs))
            while True:
                filled = probe(
                    lead_table,
                    head,
                    run_table,
                    chosen,
                    bounds,
                    scanned,
                    lengths,
                    self.lengths[self.route.lead],
                    cursor,
                    found,
                    filled,
                    None if by is None else by.table,
                    None if by is None else by.head_values[head],
                    -1 if by is None else by.source,
                )
                if filled < len(found):
                    break
                yield self._combinations(inputs, leading, heads.bound, reach, found)
                filled = 0
            self.examined += int(cursor[EXAMINED])
            self.lookups += int(cursor[LOOKUPS])
            if stage.narrowing is not None and cursor[OF_KEY]:
                rows, left = self.agreed.get(stage.narrowing.attributes, (0, 0))
                rows, left = rows + int(cursor[OF_KEY]), left + int(cursor[OF_VALUES])
                self.agreed[stage.narrowing.attributes] = rows, left
        if filled:
            yield self._combinations(inputs, leading, heads.bound, reach, found[:filled])

    def _combinations(
        self,
        inputs: Sequence[int],
        leading: Sequence[Run],
        bound: Combinations | None,
        reach: Reach,
        found: Any,
    ) -> Combinations:
        """What `probe` has written, with the rows that were bound before."""
        owners, rows = found[:, 0] >> ROW_BITS, found[:, 0] & _ROW_MASK
        carried: tuple[Any, ...] = ()
        if bound is None:
            places = {self.route.lead: Places(leading, owners, rows)}
        else:
            known = bound.take(rows)
            places, carried = known.places, known.carried
        for level, part in enumerate(inputs):
            first, last = reach.first_run[level], reach.first_run[level + 1]
            place = found[:, level + 1]
            owners = (place >> ROW_BITS) - first
            names = reach.names[first:last]
            places[part] = Places(reach.runs[first:last], owners, place & _ROW_MASK, names)
            if self.open_limit is not None:
                self.open_limit.count(names, owners)
        # Copies, because the next combinations are written over these.
        return Combinations(places, found[:, -2].copy(), found[:, -1].copy(), carried)


def _one_by_one(stages: Sequence[Stage]) -> Iterator[Stage]:
    """The same with one window at a time; what is judged after several is judged after the last."""
    for stage in stages:
        *first, last = stage.inputs
        yield from (Stage((part,), ()) for part in first)
        yield Stage((last,), stage.conditions)


def _mask(condition: Condition, rows: Combinations) -> Any:
    """For which combinations a condition holds; judged in halves where the columns are too large."""
    try:
        return condition.holds(rows)
    except TooManyBytes:
        half = len(rows) // 2
        halves = (rows.take(slice(None, half)), rows.take(slice(half, None)))
        return np.concatenate([_mask(condition, part) for part in halves])


def block_rows(runs: Sequence[Run], most_bytes: int) -> int:
    """How many combinations of these runs make a block."""
    widest = max(run.row_bytes for run in runs)
    return int(min(_BLOCK_ROWS, max(1, most_bytes // max(1, widest))))
