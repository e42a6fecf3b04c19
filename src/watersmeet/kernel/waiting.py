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

from watersmeet.kernel.bucket import Bucket, Counts, Metrics
from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.counted_window import CountedWindow
from watersmeet.kernel.counting import rows_between
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows, Run, concat_rows, keys_of_rows, rows_of
from watersmeet.kernel.sampling import PathPlanner
from watersmeet.kernel.slicing import Slicing
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
        """Which rows of a run can still be among the last at some time after now."""
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
class WaitingJoin(Bucket):
    """One bucket of an operator some of whose rows live by count.

    Attributes:
        inner: Joins the rows the watermark has passed.
        row_times: The times of the streams that are counted as a whole; as inputs they follow the others.
        waiting: The rows the watermark has not passed, per input, then waiting row times.
        limits: The rows that live by count.
    """

    inner: MultiwayJoin
    row_times: list[CountedWindow]
    waiting: list[StoredWindow]
    limits: list[AmongLast] = field(default_factory=list)

    @classmethod
    def from_plan(
        cls, plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]
    ) -> WaitingJoin:
        """An empty join for an operator of a plan."""
        inner = MultiwayJoin.from_plan(plan, operator, layout, new_id)
        row_times = [CountedWindow(FOREVER_US, 1, new_id) for _ in plan.counted_whole(operator)]
        # A length of zero: a run waits no longer than until its last row.
        waiting = [
            StoredWindow(0, plan.time_slices, new_id) for _ in range(len(inner.windows) + len(row_times))
        ]
        join = cls(inner, row_times, waiting)
        for stream in plan.counted(operator):
            join._limit(plan, operator, layout, stream)
        # Rows are judged by count when a combination is complete: only then its time is known.
        inner.routes.at_the_end = tuple(join.limits)
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
            self.inner.windows[part] = CountedWindow(plain.length, plain.time_slices, plain.new_id)
        log = (
            self.inner.windows[part]
            if rows.counts_per_key
            else self.row_times[plan.counted_whole(operator).index(stream)]
        )
        limit = AmongLast(rows.most_rows, part, position, log, rows.counts_per_key)
        self.limits.append(limit)
        mine = [one for one in self.limits if one.part == part]
        self._keep(self.inner.windows[part], mine)
        if not rows.counts_per_key:
            self._keep(log, [AmongLast(rows.most_rows, part, None, log, keyed=False)])

    def _keep(self, window: StoredWindow, limits: list[AmongLast]) -> None:
        assert isinstance(window, CountedWindow)
        window.alive = lambda run: np.all([limit.alive(run, self.watermark) for limit in limits], axis=0)

    @property
    def planner(self) -> PathPlanner | None:
        """Who chooses the paths."""
        return self.inner.planner

    @planner.setter
    def planner(self, value: PathPlanner | None) -> None:
        self.inner.planner = value

    @property
    def slicing(self) -> Slicing | None:
        """Who says which rows are stored here."""
        return self.inner.slicing

    @slicing.setter
    def slicing(self, value: Slicing | None) -> None:
        self.inner.slicing = value

    @property
    def windows(self) -> list[StoredWindow]:
        """All that is stored."""
        return [*self.inner.windows, *self.row_times, *self.waiting]

    @property
    def stored(self) -> list[int | None]:
        """Per window the input whose rows it holds; None for times alone."""
        one: list[int | None] = [*range(len(self.inner.windows)), *[None] * len(self.row_times)]
        return one + one

    @property
    def streams(self) -> frozenset[int]:
        """The inputs that are streams."""
        return self.inner.streams

    @property
    def watermark(self) -> int:
        """Every row still to come has a later time."""
        return self.inner.watermark

    @watermark.setter
    def watermark(self, value: int) -> None:
        self.inner.watermark = value

    def on_start(self, watermark: int) -> None:
        """A batch begins; rows of streams up to the watermark are late."""
        self.inner.on_start(watermark)

    def late(self, part: int, rows: Rows) -> Any:
        """A mask of the rows of a stream at or before the watermark."""
        return self.inner.late(part, rows)

    def on_rows(self, number: int, new: Rows) -> Iterator[Results]:
        """Take new rows of an input, or new row times; they wait."""
        if number < len(self.inner.windows):
            new = self.inner.in_time(number, new)
        else:
            new = new.take(np.flatnonzero(new.times > self.watermark))
        self.waiting[number].insert(new)
        return iter(())

    def on_batch(self, until: int) -> Iterator[Results]:
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
            if heads:
                visible: list[Sequence[StoredRun]] = [
                    before[other] + (fresh[other][1] if other < part else []) for other in range(inputs)
                ]
                visible[part] = heads
                yield from self.inner.results(part, visible)

    def on_watermark(self, watermark: int) -> None:
        """Drop what no row to come can meet, and tidy up."""
        self.inner.on_watermark(watermark)
        for window in [*self.row_times, *self.waiting]:
            window.compact()

    def next_expiry(self) -> int | None:
        """The watermark at which a row need not wait any longer, or something can be dropped."""
        waiting = [stored.earliest for window in self.waiting for stored in window.runs]
        ends = [
            stored.end
            for window in self.inner.windows
            for stored in window.runs
            if stored.end < FOREVER_US // 2
        ]
        return min([*waiting, *ends], default=None)

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs."""
        return self.inner.save()

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        self.inner.load(kept)

    def take_counts(self) -> Counts:
        """The counts, starting anew."""
        return self.inner.take_counts()

    def take_metrics(self) -> Metrics:
        """What it did, which ways it went, and which keys it holds."""
        return self.inner.take_metrics()


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
