"""What is measured of a join on several machines, and how."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from watersmeet.kernel.ring.message import Result
from watersmeet.sim.link import SECOND

# The ids of the rows of a result, in the order of the streams.
Combination = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RingReport:
    """What a simulation saw; all but the results from when windows were full until the last row had come.

    Attributes:
        results: All results, of the whole run.
        arrived: Rows that arrived.
        last_rows: Per result when its last row arrived, seconds.
        latencies: Per result how long after that it came, seconds.
        memory: Rows in memory on all nodes, copies too, on average over time.
        peak: The most there were at a time.
        node_memory: Rows in memory per node, by its number, on average.
        work: Seconds of work per second, per node, by its number.
        sent: Messages from machine to machine by kind. All but "end" and "route" are rows or partial results.
        compared: Pairs judged.
        entries: Entries of tables that say what is where, made or changed.
        doubled: Rows that would have been seen a second time, had nobody seen to it.
        pauses: Seconds that arriving rows had to wait for nodes to come or go.
        nodes: How many nodes there were, whenever that changed: pairs of second and number.
    """

    results: tuple[Combination, ...]
    arrived: int
    last_rows: NDArray[np.float64]
    latencies: NDArray[np.float64]
    memory: float
    peak: int
    node_memory: dict[int, float]
    work: dict[int, float]
    sent: Counter[str]
    compared: int
    entries: int
    doubled: int
    pauses: float
    nodes: tuple[tuple[float, int], ...]

    @property
    def latency(self) -> float:
        """Mean seconds from the last row of a result to the result; 0 if there are none."""
        return float(self.latencies.mean()) if len(self.latencies) else 0.0

    @property
    def messages_per_row(self) -> float:
        """Messages for each row that arrived."""
        return self.sent.total() / max(1, self.arrived)

    @property
    def tuples_per_row(self) -> float:
        """Rows and partial results sent for each row that arrived."""
        return sum(count for kind, count in self.sent.items() if kind not in ("end", "route")) / max(
            1, self.arrived
        )

    @property
    def imbalance(self) -> float:
        """How much more the busiest node has to do than the average one: 1 if all do the same."""
        seconds = list(self.work.values())
        return max(seconds) * len(seconds) / sum(seconds) if sum(seconds) > 0 else 1.0


@dataclass(slots=True)
class Meter:
    """Takes note of what happens; times in microseconds.

    Attributes:
        begin: When measuring begins.
        end: When it ends.
    """

    begin: int
    end: int
    arrived: int = 0
    results: list[Combination] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    entries: int = 0
    doubled: int = 0
    pauses: int = 0
    nodes: list[tuple[float, int]] = field(default_factory=list)
    _counted: list[tuple[int, int]] = field(default_factory=list)
    _work: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    _held: dict[int, tuple[int, int]] = field(default_factory=dict)
    _area: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    _all: int = 0
    _peak: int = 0

    def counts(self, now: int) -> bool:
        """Whether something that happens now is measured."""
        return self.begin <= now < self.end

    def take_row(self, now: int) -> None:
        """A row arrives."""
        self.arrived += self.counts(now)

    def take_results(self, results: Iterable[Result], last_row: int, now: int) -> None:
        """Results of one arriving row."""
        for result in results:
            self.results.append(tuple(row.id for row in result))
            if self.counts(last_row):
                self._counted.append((last_row, now))

    def take_work(self, node: int, seconds: float, compared: int, now: int) -> None:
        """A node is busy."""
        if self.counts(now):
            self._work[node] += seconds
            self.compared += compared

    def take_sent(self, kind: str, now: int, count: int = 1) -> None:
        """Messages leave a machine."""
        if self.counts(now):
            self.sent[kind] += count

    def take_table(self, entries: int, now: int) -> None:
        """Somebody writes down what is where."""
        if self.counts(now):
            self.entries += entries

    def hold(self, node: int, rows: int, now: int) -> None:
        """A node has so many rows in memory from now on."""
        before, since = self._held.get(node, (0, now))
        if node not in self._work:
            self._work[node] += 0.0
        self._area[node] += before * max(0, min(now, self.end) - max(since, self.begin))
        self._held[node] = rows, now
        self._all += rows - before
        if self.counts(now):
            self._peak = max(self._peak, self._all)

    def report(self) -> RingReport:
        """All figures, when nothing more can happen."""
        for node, (rows, _) in list(self._held.items()):
            self.hold(node, rows, self.end)
        span = self.end - self.begin
        last_rows, there = np.array(self._counted, np.float64).reshape(-1, 2).T / SECOND
        memory = {node: area / span for node, area in sorted(self._area.items())}
        return RingReport(
            results=tuple(self.results),
            arrived=self.arrived,
            last_rows=last_rows,
            latencies=there - last_rows,
            memory=sum(memory.values()),
            peak=self._peak,
            node_memory=memory,
            work={node: seconds * SECOND / span for node, seconds in sorted(self._work.items())},
            sent=self.sent,
            compared=self.compared,
            entries=self.entries,
            doubled=self.doubled,
            pauses=self.pauses / SECOND,
            nodes=tuple(self.nodes),
        )
