"""When loops run and when rows expire (Golab & Özsu 2003, Sect. 1 and 3.3).

    EagerJoin    at every arrival; rows expire at every arrival as well, or every so often
    LazyJoin     every so often, for all rows that came since; rows expire right after that, never in between

An eager join may keep rows as long as it likes, since every loop tests ages. A lazy one has rows waiting that
are older than the present, so it must not let go of what they can still meet. Between two runs its windows
grow by the time between them, which is what the cost model takes their size to be.

Every row is new in exactly one run. The paper takes those from one tick to the next with both ends, and
processes a row that comes at a tick twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from watersmeet_lab.loops.arrival import Arrival, Combination
from watersmeet_lab.loops.compute import Counts, compute_join
from watersmeet_lab.loops.conditions import EQUAL, Conditions
from watersmeet_lab.loops.window import Window

# For every origin the streams in the order of its loops.
Orders = Sequence[Sequence[int]]


class Join(Protocol):
    """A join that takes one row after the other, in the order of arrival."""

    windows: Sequence[Window]
    counts: Counts

    def arrive(self, row: Arrival) -> list[Combination]:
        """Take a row, and return the results that are known by now."""

    def finish(self) -> list[Combination]:
        """Results that were still to come."""


class Ticks:
    """Times at equal distances, from time 0 on.

    >>> ticks = Ticks(5)
    >>> list(ticks.before(11)), list(ticks.before(11)), ticks.next
    ([0, 5, 10], [], 15)
    """

    def __init__(self, interval: float) -> None:
        assert interval > 0, "time has to pass between two ticks"
        self._interval = interval
        self._passed = 0

    @property
    def next(self) -> float:
        """The first tick that has not passed."""
        # Multiplied rather than added up, so that fractions stay where they are.
        return self._passed * self._interval

    def before(self, ts: float) -> Iterator[float]:
        """Ticks that have passed when a row of this time comes; a row that comes at a tick belongs to it."""
        while self.next < ts:
            yield self.next
            self._passed += 1


class EagerJoin:
    """Every row is joined when it arrives."""

    def __init__(
        self,
        windows: Sequence[Window],
        orders: Orders,
        *,
        conditions: Conditions = EQUAL,
        expire_every: float | None = None,
    ) -> None:
        """Start with empty windows.

        Args:
            windows: One for each stream.
            orders: For every origin the order of the loops.
            conditions: What belongs together.
            expire_every: The time between two looks for expired rows; None looks at every arrival.
        """
        self.windows, self.counts = windows, Counts()
        self._orders, self._conditions = orders, conditions
        self._ticks = None if expire_every is None else Ticks(expire_every)

    def arrive(self, row: Arrival) -> list[Combination]:
        """The results whose last row this is."""
        for now in [row.ts] if self._ticks is None else self._ticks.before(row.ts):
            self.counts.visits += sum(window.expire(now) for window in self.windows)
        self.windows[row.stream].insert(row)
        order = self._orders[row.stream]
        found = list(compute_join(self.windows, order, row.stream, self._conditions, self.counts))
        self.windows[row.stream].see()
        return found

    def finish(self) -> list[Combination]:
        """Nothing is left."""
        return []


class LazyJoin:
    """Rows are joined together with all others that came since the last run."""

    def __init__(
        self,
        windows: Sequence[Window],
        orders: Orders,
        interval: float,
        *,
        conditions: Conditions = EQUAL,
        expire_after: int = 1,
        timed: bool = True,
    ) -> None:
        """Start with empty windows.

        Args:
            windows: One for each stream.
            orders: For every origin the order of the loops.
            interval: The time between two runs.
            conditions: What belongs together.
            expire_after: Rows expire after every so many runs.
            timed: Whether loops test ages. Without, results are wrong, as the paper shows (Table 3).
        """
        self.windows, self.counts = windows, Counts()
        self._orders, self._conditions, self._timed = orders, conditions, timed
        self._ticks = Ticks(interval)
        self._expire_after, self._runs = expire_after, 0

    def arrive(self, row: Arrival) -> list[Combination]:
        """The results of the runs that were due before this row; it waits for the next."""
        found = []
        for now in self._ticks.before(row.ts):
            found += self._run()
            self._expire(now)
        self.windows[row.stream].insert(row)
        return found

    def finish(self) -> list[Combination]:
        """One more run, for the rows that wait."""
        found = self._run()
        self._expire(self._ticks.next)
        return found

    def _run(self) -> list[Combination]:
        found: list[Combination] = []
        for origin, order in enumerate(self._orders):
            found += compute_join(
                self.windows, order, origin, self._conditions, self.counts, timed=self._timed
            )
        for window in self.windows:
            window.see()
        return found

    def _expire(self, now: float) -> None:
        self._runs += 1
        if self._runs % self._expire_after == 0:
            self.counts.visits += sum(window.expire(now) for window in self.windows)


def results(join: Join, rows: Iterable[Arrival]) -> list[Combination]:
    """All results of some rows."""
    return [*(found for row in rows for found in join.arrive(row)), *join.finish()]
