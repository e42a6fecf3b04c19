"""A progressive join in virtual time.

    rows      |  | | ||      |           ||||| |
    silence                      ~~~~~~~~               no row for longer than `WAIT`
    disk           [flush]              [task......]    rows that come meanwhile queue, and are handled
    handled   |  |        ||||                      ||  when it is done

Rows take no time; flushes and tasks take what the disk takes. A task runs to its end: the paper does not say
that one could be left off, though its rows are never more than 5 ms away when one begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from watersmeet.cost.progressive import recent_volume
from watersmeet.kernel.progressive.join import ProgressiveJoin
from watersmeet.optimize.progressive.policies import policy
from watersmeet.optimize.progressive.tasks import FastestOutput
from watersmeet.plan.progressive import ScanTask
from watersmeet.sim.progressive.arrivals import Arrivals, Workload
from watersmeet.sim.progressive.store import Found, KeyRows, SimulatedStore

# Seconds without a row after which tasks begin (Sect. 6), and the unit in which recent volumes are counted.
WAIT = 0.025
UNIT = 1.0
# What the paper leaves open. How much of memory RPJ flushes at a time: the less, the shorter its runs; with a
# twentieth they have a page or two, and scans do little but move the disk's arm. And how many runs of a side
# are merged at a time: of 1000 pages, 100,000 rows leave 19, for each side eight to read and one to write.
# With two, merging as many runs as RPJ has takes so long that XJoin overtakes it.
FLUSHED = 0.1
FAN_IN = 8
# Rows are handled in at least as many blocks, so there are as many moments at which results are counted.
BLOCKS = 400
# By how much a difference of times may be off.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run: `results[n]` were known at `times[n]`.

    Attributes:
        sent: When each row arrived.
        times: Seconds.
        results: How many results there were.
        disk: How many seconds the disk had worked.
        handled: When all rows had been handled, which may be later than they arrived.
        before_cleanup: How many results there were then.
        total: How many there are in all.
        tasks: How many scans and merges were run in silence.
    """

    sent: Any
    times: Any
    results: Any
    disk: Any
    handled: float
    before_cleanup: int
    total: int
    tasks: Counter[str]

    def results_at(self, seconds: Any) -> Any:
        """How many results were known at a moment, or at several."""
        return self.results[self._moment(seconds)]

    def disk_at(self, seconds: Any) -> Any:
        """How long the disk had worked by then."""
        return self.disk[self._moment(seconds)]

    def _moment(self, seconds: Any) -> Any:
        return np.searchsorted(self.times, seconds, side="right") - 1


def simulate(
    workload: Workload,
    algorithm: str,
    *,
    seed: int = 0,
    flushed: float = FLUSHED,
    fan_in: int = FAN_IN,
    cleanup: bool = True,
) -> Outcome:
    """Run a progressive join.

    Args:
        workload: What arrives.
        algorithm: A name of `optimize.progressive.policies`.
        seed: For the rows.
        flushed: The share of memory that is made room in at a time; XJoin and HMJ have rules of their own.
        fan_in: How many runs of a side are merged at a time.
        cleanup: Whether to go on when all rows have been handled.
    """
    arrivals = workload.draw(np.random.default_rng(seed))
    store = SimulatedStore(
        workload.partitions, workload.keys, workload.page_rows, workload.times, counting=True
    )
    join = ProgressiveJoin(
        store,
        policy(algorithm, FastestOutput(workload.times, workload.page_rows, fan_in)),
        workload.partitions,
        workload.memory,
        flush_size=max(1, round(flushed * workload.memory)),
        fan_in=fan_in,
    )
    run = _Run(join, store)
    run.play(arrivals)
    handled, (_, before_cleanup, _) = run.clock, run.moments[-1]
    if cleanup:
        run.note(join.finish())
    times, results, disk = (np.asarray(column) for column in zip(*run.moments, strict=True))
    total = arrivals.results()
    return Outcome(
        sent=arrivals.times,
        times=times,
        results=results,
        disk=disk,
        handled=handled,
        before_cleanup=before_cleanup,
        total=total,
        tasks=run.tasks,
    )


@dataclass(slots=True)
class _Run:
    """The clock of a run, and the moments at which something was found."""

    join: ProgressiveJoin
    store: SimulatedStore
    clock: float = 0.0
    moments: list[tuple[float, int, float]] = field(default_factory=lambda: [(0.0, 0, 0.0)])
    tasks: Counter[str] = field(default_factory=Counter)

    def play(self, arrivals: Arrivals) -> None:
        """Handle all rows, and use all silences."""
        times, rows = arrivals.times, len(arrivals.times)
        # As numbers of rows: those before a silence, before a unit of time ends, and before a block has to.
        silent = np.diff(times, prepend=0.0) > WAIT + _ROUNDING
        silences = np.flatnonzero(silent)
        ends = times[silences]
        units = np.searchsorted(times, np.arange(UNIT, times[-1], UNIT))
        blocks = np.linspace(0, rows, BLOCKS + 1).astype(int)
        cuts = np.unique(np.concatenate((units, blocks)))
        first = ended = 0
        while first < rows:
            self._wait_until(times[first])
            last = min(first + self._make_room(), cuts[np.searchsorted(cuts, first, side="right")])
            # A silence that ended behind other work went unnoticed.
            noticed = np.searchsorted(ends, self.clock, side="right")
            if noticed < len(ends):
                last = min(last, silences[noticed])
            self._wait_until(times[last - 1])
            self._handle(arrivals, first, last)
            first = last
            while ended < len(units) and units[ended] <= first:
                self.join.books.end_unit(recent_volume)
                ended += 1
            if first < rows and silent[first]:
                self._use_silence(times[first - 1] + WAIT, times[first])

    def note(self, found: Iterable[Found]) -> None:
        """Results come when they are found, and what the disk does takes time."""
        for some in found:
            self._moment(some.count)
        self._moment(0)

    def _make_room(self) -> int:
        """Flush if memory is full; returns how many rows it can take."""
        if self.join.in_memory >= self.join.capacity:
            self.join.flush(self.join.flush_size)
            self.note(())
        return self.join.capacity - self.join.in_memory

    def _handle(self, arrivals: Arrivals, first: int, last: int) -> None:
        """Rows that have arrived, one side after the other: which pairs are found does not depend on it."""
        sides, keys = arrivals.sides[first:last], arrivals.keys[first:last]
        for side in (0, 1):
            mine = np.flatnonzero(sides == side)
            self.note(self.join.arrive(side, KeyRows(keys[mine], first + mine)))

    def _use_silence(self, begin: float, end: float) -> None:
        """Run tasks until a row comes, or nothing is worth doing."""
        if self.clock >= end:
            return
        self._wait_until(begin)
        while self.clock < end and (task := self.join.next_task()):
            self.tasks["scan" if isinstance(task, ScanTask) else "merge"] += 1
            self.note(self.join.run(task))

    def _wait_until(self, time: float) -> None:
        self.clock = max(self.clock, float(time))

    def _moment(self, found: int) -> None:
        time, results, disk = self.moments[-1]
        self.clock += self.store.spent - disk
        moment = (self.clock, results + found, self.store.spent)
        if self.clock > time:
            self.moments.append(moment)
        else:
            self.moments[-1] = moment
