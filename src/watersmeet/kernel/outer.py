"""Joins in which rows come out without partners: outer, full and anti.

Combinations without nulls leave as in any join, when their last row comes. What lacks a partner leaves when
nothing can be added any more: when the watermark passes the end of its required rows.

    time      ---- watermark before ============ watermark . . . . .
    required     |======================|                    closes in this batch: look for partners once more
    optional         |====|                                  kept until now for that

Nothing is stored in between. What closes is found by its required rows, and every optional input is asked in
turn: all partners of a combination are added to it, one by one, and where there are none it goes on without.

    order, [start, end]  -- payments? -->  order, payment    -- parcels? -->  ... , parcel     left long ago
                                      |                                  +->  ... , nothing
                                      +->  order, nothing    -- parcels? -->  ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from watersmeet.kernel.around import AroundJoin
from watersmeet.kernel.closing import closing_times, closings, lacking
from watersmeet.kernel.combinations import Combinations, Places
from watersmeet.kernel.conditions import Condition
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.partners import Partners
from watersmeet.kernel.results import Results, fetch
from watersmeet.kernel.run import Rows, Run
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan import Operator, Plan
from watersmeet.plan.layout import OperatorLayout
from watersmeet.query.kind import ANTI, FULL, OUTER

# Before every time.
_NEVER = -(1 << 62)


@dataclass(frozen=True, slots=True)
class Side:
    """Rows that may come out without partners: those of required inputs, and whose partners they look for.

    If `together`, one row of each of the others makes a partner; else each of them is asked in turn.
    """

    required: tuple[int, ...]
    others: tuple[int, ...]
    together: bool = False


@dataclass(frozen=True, slots=True)
class _StaysOpen:
    """A condition: the row of an input does not close yet. It is found by another one that does."""

    join: OuterJoin
    part: int
    until: int

    def holds(self, rows: Combinations) -> Any:
        """A mask of the combinations to keep."""
        return self.join.closes_of(self.part, rows.places[self.part]) > self.until


@dataclass(slots=True)
class OuterJoin(AroundJoin):
    """One bucket of an operator of kind outer, full or anti.

    Attributes:
        partners: Who looks for partners.
        sides: Whose rows come out without partners.
        closing_columns: The inputs whose rows bring their closings along, and in which column.
        last: Whether results go to the user, and not to another operator.
        unkeyed: Rows of preserved inputs that have no key, by input: nothing can be their partner.
        closed: Everything up to this time has closed.
    """

    partners: Partners
    sides: tuple[Side, ...]
    closing_columns: dict[int, int] = field(default_factory=dict)
    last: bool = True
    unkeyed: dict[int, StoredWindow] = field(default_factory=dict)
    closed: int = _NEVER

    @classmethod
    def from_plan(
        cls, plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]
    ) -> OuterJoin:
        """An empty join for an operator of a plan."""
        inner = MultiwayJoin.from_plan(plan, operator, layout, new_id)
        below = [i for i, part in enumerate(operator.inputs) if isinstance(part, Operator)]
        unkeyed = {
            part: StoredWindow(
                inner.windows[part].length,
                plan.time_slices,
                new_id,
                cut_by_end=inner.windows[part].cut_by_end,
                lingers=inner.windows[part].lingers,
            )
            for part in (operator.preserved if operator.key else ())
        }
        join = cls(
            inner,
            Partners(inner),
            _sides(operator),
            closing_columns={
                i: len(layout.inputs[i].stored) for i in below if _kind(operator.inputs[i]) == OUTER
            },
            last=operator == plan.root,
            unkeyed=unkeyed,
        )
        inner.leave = join.complete
        return join

    @property
    def windows(self) -> list[StoredWindow]:
        """All that is stored."""
        return [*self.inner.windows, *self.unkeyed.values()]

    @property
    def stored(self) -> list[int | None]:
        """Per window the input whose rows it holds."""
        return [*range(len(self.inner.windows)), *self.unkeyed]

    def late(self, number: int, rows: Rows) -> Any:
        """A mask of the rows of a stream at or before the watermark, with a key or without."""
        return self.inner.late(self._input(number), rows)

    def _input(self, number: int) -> int:
        """The input that rows belong to, which without a key come as one of their own."""
        inputs = len(self.inner.windows)
        return number if number < inputs else list(self.unkeyed)[number - inputs]

    def on_rows(self, number: int, new: Rows) -> Iterator[Results]:
        """Take new rows of an input, or rows of it without a key; yields the results without nulls."""
        part = self._input(number)
        if part != number:
            self._store_unkeyed(part, self.inner.in_time(part, new))
            return iter(())
        return self.met(number, self.inner.in_time(number, new))

    def on_hot(self, part: int, dealt: int, new: Rows) -> Iterator[Results]:
        """Rows of hot keys look for partners as in any join, if they do so when they come."""
        return self.inner.on_hot(part, dealt, new) if self.leaves_complete else self.on_rows(part, new)

    def met(self, part: int, new: Rows) -> Iterator[Results]:
        """Store new rows of an input and yield the results without nulls, whatever the watermark."""
        if self.leaves_complete:
            return self.inner.met(part, new)
        self.inner.store(part, new)
        return iter(())

    @property
    def leaves_complete(self) -> bool:
        """Whether combinations without nulls leave: they do not where rows come out alone."""
        return not all(side.together for side in self.sides)

    def _store_unkeyed(self, part: int, new: Rows) -> None:
        new = self.inner.with_ends(part, new)
        if len(new):
            self.unkeyed[part].insert(new)

    def on_batch(self, until: int) -> Iterator[Results]:
        """All rows up to a time are here: what has closed since the last time leaves, if it lacks rows."""
        after, self.closed = self.closed, max(self.closed, until)
        if until <= after:
            return
        for side in self.sides:
            for rows in self._closing(side, after, until):
                yield from self._without_partners(side, rows)
            for part in self.unkeyed.keys() & side.required:
                for rows in self._closing_rows(part, self.unkeyed[part], after, until):
                    yield from self._lacking(self.partners.without(rows, side.others))

    def on_watermark(self, watermark: int) -> None:
        """Drop what is not needed any more, and tidy up."""
        self.inner.on_watermark(watermark)
        for window in self.unkeyed.values():
            window.expire(self.watermark)
            window.compact()

    def next_expiry(self) -> int | None:
        """The watermark at which something can be dropped, or may close."""
        times = [time for window in self.windows if (time := window.next_expiry()) is not None]
        for side in self.sides:
            for part in side.required:
                kept = [self.inner.windows[part], *([self.unkeyed[part]] if part in self.unkeyed else [])]
                times += [
                    self._may_close(part, stored, self.closed)
                    for window in kept
                    for stored in window.runs
                    if stored.end + window.lingers > self.closed
                ]
        return min((time for time in times if time > self.closed), default=None)

    def _may_close(self, part: int, stored: StoredRun, after: int) -> int:
        """The first time after another at which a row of a run could close; maybe none does."""
        own_ends = part in self.inner.own_ends or self.inner.slots is not None
        alike = part in self.inner.streams and not own_ends
        first = stored.earliest + (self.inner.windows[part].length if alike else 0)
        return max(first, after + 1)

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs."""
        return self.inner.save() | {"closed": self.closed}

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        self.inner.load(kept)
        self.closed = kept.get("closed", _NEVER)

    # Combinations without nulls.

    def complete(self, rows: Combinations) -> Iterator[Results]:
        """Results of combinations in which every input has a row."""
        part, position = next(iter(self.closing_columns.items()), (None, None))
        if part is not None and position is not None:
            # Rows that lack some already have closed: these leave with them.
            numbers = rows.columns(part, [position])[0].to_numpy()
            if self.last:
                rows = replace(rows, starts=np.where(lacking(numbers), closing_times(numbers), rows.starts))
            yield from fetch(replace(rows, carried=(numbers,)), self.inner.leaving)
            return
        if not self.last:
            ends = [self.closes_of(part, rows.places[part]) for part in self.sides[0].required]
            rows = replace(rows, carried=(closings(np.min(ends, axis=0), lacks=False),))
        yield from fetch(rows, self.inner.leaving)

    # Combinations that close.

    def closes_of(self, part: int, place: Places) -> Any:
        """When some rows of an input close, seen for themselves."""
        found = np.empty(len(place.rows), np.int64)
        for number, run in enumerate(place.runs):
            mine = np.flatnonzero(place.owners == number)
            if len(mine):
                found[mine] = self._run_closes(part, run)[place.rows[mine]]
        return found

    def _run_closes(self, part: int, run: Run) -> Any:
        if part in self.closing_columns:
            return closing_times(run.columns.column(self.closing_columns[part]).to_numpy())
        return self.partners.ends(part, run)

    def _closing(self, side: Side, after: int, until: int) -> Iterator[Combinations]:
        """The combinations of required rows that close: each is found by the first of its rows that does."""
        first, *others = side.required
        if not others:
            for rows in self._closing_rows(first, self.inner.windows[first], after, until):
                yield rows
            return
        for number, part in enumerate(side.required):
            rest = [other for other in side.required if other != part]
            earlier: tuple[Condition, ...] = tuple(
                _StaysOpen(self, other, until) for other in side.required[:number]
            )
            for heads in self._closing_rows(part, self.inner.windows[part], after, until):
                for _, rows in self.partners.of(heads, rest):
                    kept = rows.ends > after
                    for condition in earlier:
                        kept &= condition.holds(rows)
                    found = rows.take(kept)
                    if len(found):
                        yield replace(found, carried=(found.ends,))

    def _closing_rows(
        self, part: int, window: StoredWindow, after: int, until: int
    ) -> Iterator[Combinations]:
        """The rows of an input that close, in blocks; `carried` has the times."""
        stored = [
            one
            for one in window.runs
            if one.end + window.lingers > after and self._may_close(part, one, after) <= until
        ]
        return self.partners.rows(part, stored, lambda run: self._run_closes(part, run), after, until)

    def _without_partners(self, side: Side, rows: Combinations) -> Iterator[Results]:
        """The results with nulls among what closes."""
        if side.together:
            found = np.zeros(len(rows), np.bool_)
            for numbers, _ in self.partners.of(rows, side.others):
                found[numbers] = True
            yield from self._lacking(self.partners.without(rows.take(~found), side.others))
        else:
            yield from self._added(rows, side.others, lacks=False)

    def _added(self, rows: Combinations, others: Sequence[int], *, lacks: bool) -> Iterator[Results]:
        """Combinations with partners from some inputs, one after the other; those without go on as well."""
        if not len(rows):
            return
        if not others:
            if lacks:
                yield from self._lacking(rows)
            return
        part, *rest = others
        found = np.zeros(len(rows), np.bool_)
        for numbers, extended in self.partners.of(rows, [part]):
            found[numbers] = True
            # What lacks nothing has left before: at the last input only those without a partner matter.
            if rest or lacks:
                yield from self._added(extended, rest, lacks=lacks)
        yield from self._added(self.partners.without(rows.take(~found), [part]), rest, lacks=True)

    def _lacking(self, rows: Combinations) -> Iterator[Results]:
        """Results of combinations that lack rows: they come about when they close."""
        if not len(rows):
            return
        closes = rows.carried[0]
        self.inner.counts.results += len(rows)
        if self.last:
            rows = replace(rows, starts=closes)
        yield from fetch(replace(rows, carried=(closings(closes, lacks=True),)), self.inner.leaving)


def _sides(operator: Operator) -> tuple[Side, ...]:
    if operator.kind == FULL:
        return Side((0,), (1,)), Side((1,), (0,))
    if operator.kind == ANTI:
        return (Side((0,), tuple(range(1, len(operator.inputs))), together=True),)
    return (Side(operator.required, operator.optional),)


def _kind(part: object) -> str | None:
    return part.kind if isinstance(part, Operator) else None
