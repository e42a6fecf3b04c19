"""A join with windows of rows: nothing is decided before the watermark.

Whether a row is still among the last n when another comes depends on every row in between, so rows wait until
the watermark has passed their time. Then all rows up to there are known, whatever the order in which they
came, and are joined in one go:

    time    ----------- old watermark ============== watermark . . . . . . .
    rows        joined before         joined in this batch       wait

A row u is alive at t when fewer than n rows have a time in (u, t]: rows of its key, which are in the same
bucket, or rows of its whole stream, whose times every bucket is told ("row times").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.around import AroundJoin
from watersmeet.kernel.bucket import Outcome
from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.counted_window import CountedWindow
from watersmeet.kernel.counting import rows_between
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.kinds import KINDS, AnyJoin, inside, unkeyed
from watersmeet.kernel.outer import OuterJoin
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows, Run, concat_rows, keys_of_rows, rows_of
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.layout import OperatorLayout, Ref
from watersmeet.plan.plan import FOREVER_US


@dataclass(frozen=True, slots=True)
class AmongLast:
    """A condition: the row of one stream is among the last `count` when the combination comes about.

    Attributes:
        count: How many rows live at a time.
        part: The input with the stream's rows.
        position: The stored column with their times; None: they are the times of the input.
        log: The window whose rows are counted.
        keyed: Whether only rows of the same key count.
    """

    count: int
    part: int
    position: int | None
    log: StoredWindow
    keyed: bool

    def holds(self, rows: Combinations) -> Any:
        """A mask of the combinations to keep."""
        place = rows.places[self.part]
        if self.position is None:
            own = np.empty(len(rows), np.int64)
            for number, run in enumerate(place.runs):
                mine = place.owners == number
                own[mine] = run.times[place.rows[mine]]
        else:
            own = rows.columns(self.part, [self.position])[0].cast(pa.int64()).to_numpy()
        keys = keys_of_rows(place.runs, place.owners, place.rows) if self.keyed else _no_keys(len(rows))
        return self._later(keys, own, rows.starts) < self.count

    def alive(self, run: Run, now: int) -> Any:
        """Which rows of a run can still be among the last at some time after another."""
        keys = rows_of(run).keys if self.keyed else _no_keys(run.rows)
        own = (
            run.times
            if self.position is None
            else run.columns.column(self.position).cast(pa.int64()).to_numpy()
        )
        return self._later(keys, own, np.full(run.rows, now)) < self.count

    def _later(self, keys: Keys, own: Any, until: Any) -> Any:
        return rows_between([stored.run for stored in self.log.runs], keys, own, until)


@dataclass(slots=True)
class WaitingJoin(AroundJoin):
    """One bucket of an operator some of whose rows live by count.

    Attributes:
        inner: Joins the rows the watermark has passed.
        kind: The same, or what decides which of them come out without partners.
        row_times: The times of the streams that are counted as a whole; as inputs they follow the others.
        waiting: The rows the watermark has not passed, per input, then waiting row times.
        limits: The rows that live by count.
    """

    kind: AnyJoin
    row_times: list[CountedWindow]
    waiting: list[StoredWindow]
    limits: list[AmongLast] = field(default_factory=list)

    @classmethod
    def from_plan(
        cls, plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]
    ) -> WaitingJoin:
        """An empty join for an operator of a plan."""
        kind = KINDS[operator.kind].from_plan(plan, operator, layout, new_id)
        inner = inside(kind)
        row_times = [CountedWindow(FOREVER_US, 1, new_id) for _ in plan.counted_whole(operator)]
        # A length of zero: a run waits no longer than until its last row.
        waiting = [
            StoredWindow(0, plan.time_slices, new_id) for _ in range(len(inner.windows) + len(row_times))
        ]
        join = cls(inner, kind, row_times, waiting)
        for stream in plan.counted(operator):
            join._limit(plan, operator, layout, stream)
        return join

    def _limit(self, plan: Plan, operator: Operator, layout: OperatorLayout, stream: int) -> None:
        """Let the rows of a stream live by count."""
        rows = plan.query.streams[stream].window
        assert rows.most_rows is not None
        part = next(i for i, spec in enumerate(operator.inputs) if stream in spec.streams)
        direct = isinstance(operator.inputs[part], Source)
        time = Ref(stream, plan.query.streams[stream].time)
        position = None if direct else layout.inputs[part].stored.index(time)
        plain = self.inner.windows[part]
        if not isinstance(plain, CountedWindow):
            self.inner.windows[part] = CountedWindow(
                plain.length, plain.time_slices, plain.new_id, lingers=plain.lingers
            )
        log = (
            self.inner.windows[part]
            if rows.counts_per_key
            else self.row_times[plan.counted_whole(operator).index(stream)]
        )
        limit = AmongLast(rows.most_rows, part, position, log, rows.counts_per_key)
        self.limits.append(limit)
        # Rows are judged by count when a combination is complete: only then its time is known.
        self.inner.routes.at_the_end.setdefault(part, []).append(limit)
        mine = [one for one in self.limits if one.part == part]
        self._keep(self.inner.windows[part], mine)
        if not rows.counts_per_key:
            log.lingers = plain.lingers
            self._keep(log, [AmongLast(rows.most_rows, part, None, log, keyed=False)])

    def _keep(self, window: StoredWindow, limits: list[AmongLast]) -> None:
        assert isinstance(window, CountedWindow)
        # What closes later looks for partners of an earlier time.
        window.alive = lambda run: np.all(
            [limit.alive(run, self.watermark - window.lingers) for limit in limits], axis=0
        )

    @property
    def windows(self) -> list[StoredWindow]:
        """All that is stored."""
        return [*self.inner.windows, *self.row_times, *self.waiting, *unkeyed(self.kind).values()]

    @property
    def stored(self) -> list[int | None]:
        """Per window the input whose rows it holds; None for times alone."""
        one: list[int | None] = [*range(len(self.inner.windows)), *[None] * len(self.row_times)]
        return [*one, *one, *unkeyed(self.kind)]

    def late(self, number: int, rows: Rows) -> Any:
        """A mask of the rows of a stream at or before the watermark, with a key or without."""
        if number < len(self.waiting):
            return self.inner.late(number, rows)
        return self.kind.late(number - len(self.row_times), rows)

    def on_rows(self, number: int, new: Rows) -> Iterator[Results]:
        """Take new rows of an input, or new row times; they wait. Rows without a key have nothing to meet."""
        if number >= len(self.waiting):
            return self._without_key(number - len(self.row_times), new)
        if number < len(self.inner.windows):
            new = self.inner.in_time(number, new)
        else:
            new = new.take(np.flatnonzero(new.times > self.watermark))
        self.waiting[number].insert(new)
        return iter(())

    def _without_key(self, number: int, new: Rows) -> Iterator[Results]:
        assert isinstance(self.kind, OuterJoin)
        return self.kind.on_rows(number, new)

    def on_batch(self, until: int) -> Outcome:
        """All rows of a batch have come: join those that need not wait any longer.

        Args:
            until: Up to which time all rows are known: the watermark, or the end of time.
        """
        ready = [_passed(window, until) for window in self.waiting]
        inputs = len(self.inner.windows)
        for counted, times in zip(self.row_times, ready[inputs:], strict=True):
            if times is not None:
                counted.insert(times)
        before: list[list[StoredRun]] = [list(window.runs) for window in self.inner.windows]
        # All of them are there before any is joined: each counts for all others.
        fresh: list[tuple[list[StoredRun], list[StoredRun]]] = [
            ([], []) if rows is None else self.inner.store(part, rows)
            for part, rows in enumerate(ready[:inputs])
        ]
        for part, (heads, _) in enumerate(fresh):
            if heads and self.kind.leaves_complete:
                visible: list[Sequence[StoredRun]] = [
                    before[other] + (fresh[other][1] if other < part else []) for other in range(inputs)
                ]
                visible[part] = heads
                yield from self.inner.results(part, visible)
        yield from self.kind.on_batch(until)

    def on_watermark(self, watermark: int) -> None:
        """Drop what no row to come can meet, and tidy up."""
        self.kind.on_watermark(watermark)
        for window in [*self.row_times, *self.waiting]:
            window.compact()

    def next_expiry(self) -> int | None:
        """The watermark at which a row need not wait any longer, may close, or can be dropped."""
        waiting = [stored.earliest for window in self.waiting for stored in window.runs]
        next_ = self.kind.next_expiry()
        ends = [next_] if next_ is not None and next_ < FOREVER_US // 2 else []
        return min([*waiting, *ends], default=None)

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs."""
        return self.kind.save()

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        self.kind.load(kept)


def _passed(window: StoredWindow, until: int) -> Rows | None:
    """Take out the rows up to a time."""
    ready, rest = [], []
    for stored in window.take_until(until):
        rows = rows_of(stored.run)
        passed = rows.times <= until
        ready.append(rows.take(np.flatnonzero(passed)))
        if not passed.all():
            rest.append(rows.take(np.flatnonzero(~passed)))
    if rest:
        window.insert(concat_rows(rest))
    return concat_rows(ready) if ready else None


def _no_keys(rows: int) -> Keys:
    return Keys(np.zeros(rows, np.uint64), None)
