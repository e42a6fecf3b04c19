"""A join of sessions: rows of a key, of all inputs together, each at most a gap after the one before.

A row may come that makes a session longer, or two sessions one, so rows wait until theirs has ended: until
the watermark has passed its last row by the gap. Then they meet, all at that instant:

    a           x     x              .                     a, a, b, b wait; at the end of the session they
    b             x        x         .       x             take its time, so that just the rows of one
    sessions    |==========|- - - - -^                     session have the same key and the same time
                           |-- gap --| result time
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.around import AroundJoin
from watersmeet.kernel.bucket import Metrics, Outcome
from watersmeet.kernel.hot_keys import key_metrics
from watersmeet.kernel.kinds import KINDS, AnyJoin, inside, unkeyed
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows, build_run, concat_rows, rows_of
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan import Operator, Plan
from watersmeet.plan.layout import OperatorLayout


@dataclass(slots=True)
class SessionJoin(AroundJoin):
    """One bucket of a join of sessions.

    Attributes:
        inner: Joins the rows of sessions that have ended; its windows are empty between batches.
        kind: The same, or what decides which of them come out without partners.
        gap: How far apart neighbouring rows of a session are at most.
        waiting: The rows of sessions that have not ended, by input.
        next_end: No session ends before this time; None where there are no rows.
    """

    kind: AnyJoin
    gap: int
    waiting: list[StoredWindow] = field()
    next_end: int | None = None

    @classmethod
    def from_plan(
        cls, plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]
    ) -> SessionJoin:
        """An empty join for the only operator of a plan."""
        gap = plan.query.gap_us
        assert gap is not None
        kind = KINDS[operator.kind].from_plan(plan, operator, layout, new_id)
        inner = inside(kind)
        # Rows of a session that has ended meet at one instant.
        inner.windows = [StoredWindow(0, 1, new_id) for _ in operator.inputs]
        waiting = [StoredWindow(gap, plan.time_slices, new_id) for _ in operator.inputs]
        return cls(inner, kind, gap, waiting)

    @property
    def unkeyed(self) -> dict[int, StoredWindow]:
        """Rows without a key, by input: each is a session of its own."""
        return unkeyed(self.kind)

    @property
    def windows(self) -> list[StoredWindow]:
        """All that is stored between batches."""
        return [*self.waiting, *self.unkeyed.values()]

    @property
    def stored(self) -> list[int | None]:
        """Per window the input whose rows it holds."""
        return [*range(len(self.waiting)), *self.unkeyed]

    def late(self, number: int, rows: Rows) -> Any:
        """A mask of the rows at or before the watermark."""
        return self.kind.late(number, rows)

    def on_rows(self, number: int, new: Rows) -> Iterator[Results]:
        """Take new rows of an input, or rows of it without a key; they wait."""
        part = number if number < len(self.waiting) else list(self.unkeyed)[number - len(self.waiting)]
        kept = self.inner.in_time(part, new)
        if len(kept) and part != number:
            self.unkeyed[part].insert(replace(kept, ends=kept.times + self.gap))
        elif len(kept):
            self.waiting[part].insert(kept)
        if len(kept):
            self._ends_by(int(kept.times.min()) + self.gap)
        return iter(())

    def on_batch(self, until: int) -> Outcome:
        """All rows up to a time are here: join the rows of the sessions that have ended."""
        if self.next_end is None or self.next_end > until:
            return
        for part, rows in enumerate(self._take_ended(until)):
            if rows is not None:
                yield from self.kind.met(part, rows)
        yield from self.kind.on_batch(until)

    def on_watermark(self, watermark: int) -> None:
        """Forget the rows that have met, and tidy up."""
        self.kind.on_watermark(watermark)
        for window in self.waiting:
            window.compact()

    def next_expiry(self) -> int | None:
        """The watermark at which a session may end."""
        return self.next_end

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs."""
        return self.kind.save() | {"next_end": self.next_end}

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        self.kind.load(kept)
        self.next_end = kept.get("next_end")

    def take_metrics(self) -> Metrics:
        """What it did, and which keys wait."""
        return self.inner.take_metrics() | key_metrics(self.waiting, self.inner.key_types)

    def _ends_by(self, time: int) -> None:
        self.next_end = time if self.next_end is None else min(self.next_end, time)

    def _take_ended(self, until: int) -> list[Rows | None]:
        """Per input the rows of sessions that have ended, at the time at which they did; they are let go."""
        # Whether a session has ended up to a time is told by the rows up to it.
        looked = [[stored for stored in window.runs if stored.earliest <= until] for window in self.waiting]
        later = [one.earliest for window in self.windows for one in window.runs if one.earliest > until]
        self.next_end = min(later) + self.gap if later else None
        for window in self.unkeyed.values():
            # Which of their rows have ended is seen to where they are stored.
            for one in window.runs:
                if one.earliest <= until < one.end:
                    self._ends_by(until + 1)
        ends = iter(session_ends([rows_of(stored.run) for some in looked for stored in some], self.gap))
        return [
            self._taken(window, some, ends, until) for window, some in zip(self.waiting, looked, strict=True)
        ]

    def _taken(
        self, window: StoredWindow, looked: Sequence[StoredRun], ends: Iterator[Any], until: int
    ) -> Rows | None:
        """The rows of some runs whose sessions have ended; the others stay."""
        ended = []
        for stored in looked:
            end = next(ends)
            over = end <= until
            if not over.all():
                self._ends_by(int(end[~over].min()))
            if over.any():
                rows, mine = rows_of(stored.run), np.flatnonzero(over)
                ended.append(replace(rows.take(mine), times=end[mine]))
                window.take_out([stored])
                window.insert(rows.take(np.flatnonzero(~over)))
        return concat_rows(ended) if ended else None


def session_ends(parts: Sequence[Rows], gap: int) -> list[Any]:
    """Row by row, when its session ends: at the time of the last row of the session, and the gap.

    Args:
        parts: Rows of any inputs; those of a key make its sessions together.
        gap: How far apart neighbouring rows of a session are at most.
    """
    if not parts:
        return []
    bounds = np.cumsum([0, *map(len, parts)])
    numbered = [
        Rows(part.keys, part.times, pa.record_batch([pa.array(np.arange(first, first + len(part)))], ["row"]))
        for part, first in zip(parts, bounds, strict=False)
    ]
    # Sorted by key and time, sessions lie one after the other.
    run = build_run(concat_rows(numbered))
    begins = np.zeros(run.rows, np.bool_)
    begins[run.key_rows[:-1]] = True
    begins[1:] |= np.diff(run.times) > gap
    first = np.flatnonzero(begins)
    after = np.append(first[1:], run.rows)
    ends = np.empty(run.rows, np.int64)
    ends[run.columns.column(0).to_numpy()] = np.repeat(run.times[after - 1] + gap, after - first)
    return np.split(ends, bounds[1:-1])
