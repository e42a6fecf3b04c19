"""Coordinated tuple routing (Gu, Yu and Wang 2007, as Wang & Rundensteiner 2009 describe it in Sect. 7).

All streams are cut into segments of time, and every segment is stored on some nodes, its copies. A new
segment visits the streams in the order of its path, one hop for each. For a hop somebody must find nodes that
have all segments still alive between them, few and idle ones; a minimum-weight set cover, found greedily.
Each segment is then looked at on one of them only, or results would come twice. The paper has no more than a
sketch of it, so the details are ours:

    time   |  interval  |  interval  |
                        ^ segments of all streams are stored, then each is processed, one after the other
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import simpy

from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.ring.message import Row
from watersmeet.sim.ring.aligned import refuse_unless_timed
from watersmeet.sim.ring.clock import Clock, micros
from watersmeet.sim.ring.report import Meter, RingReport
from watersmeet.sim.ring.scenario import RingScenario


def simulate_coordinated(scenario: RingScenario, nodes: int, *, copies: int, segment: float) -> RingReport:
    """Share a join out by segments of all streams, each on several nodes ("CTR").

    Args:
        scenario: The join; windows of time.
        nodes: How many nodes there are, beside the one that finds the ways.
        copies: On how many nodes each segment is stored.
        segment: Seconds of a segment.
    """
    refuse_unless_timed(scenario, nodes, segment)
    if not 1 <= copies <= nodes:
        raise InvalidSimulation(
            "copies of a segment are on different nodes", f"{copies} copies are to be on {nodes} nodes."
        )
    return _Coordinated(scenario, nodes, copies, micros(segment)).run()


def cover(
    wanted: Sequence[int], stored: Mapping[int, Sequence[int]], weights: Sequence[float]
) -> dict[int, list[int]]:
    """Nodes that have all wanted segments between them, and which of them each is to look at.

    The greedy set cover: again and again the node that costs least for each segment it adds.

    Args:
        wanted: The segments.
        stored: Per segment the nodes that have it.
        weights: Per node what it costs to use it, above 0.

    >>> cover([1, 2, 3], {1: [0, 2], 2: [0, 1], 3: [1, 2]}, weights=[1, 1, 1.5])
    {0: [1, 2], 1: [3]}
    """
    left, chosen = list(wanted), {}
    while left:
        offers: dict[int, list[int]] = defaultdict(list)
        for segment in left:
            for node in stored[segment]:
                offers[node].append(segment)
        best = min(offers, key=lambda node: (weights[node] / len(offers[node]), node))
        chosen[best] = offers[best]
        left = [segment for segment in left if segment not in set(offers[best])]
    return chosen


Steps = Generator[simpy.Event, None, None]


@dataclass(slots=True)
class _Segment:
    """Rows of one stream and interval, and where they are stored."""

    number: int
    rows: list[Row]
    nodes: list[int] = field(default_factory=list)


class _Coordinated:
    def __init__(self, scenario: RingScenario, nodes: int, copies: int, segment: int) -> None:
        self.scenario, self.times, self.join = scenario, scenario.times, scenario.join
        self.copies, self.segment = copies, segment
        self.clock = Clock()
        self.meter = Meter(micros(scenario.begin), micros(scenario.duration))
        self.loads = [0.0] * nodes
        self.held = [0] * nodes
        # Per stream what is stored, by interval.
        self.stored: list[dict[int, _Segment]] = [{} for _ in self.join.windows]

    def run(self) -> RingReport:
        for node in range(len(self.loads)):
            self.meter.hold(node, 0, 0)
        self.meter.nodes.append((0.0, len(self.loads)))
        self.clock.environment.process(self._process())
        self.clock.run()
        return self.meter.report()

    def _process(self) -> Steps:
        """One interval after the other, as soon as it is over and those before it are done."""
        rows = []
        for id_, arrival in enumerate(self.scenario.arrivals()):
            self.meter.take_row(arrival.time)
            rows.append(Row(arrival.stream, id_, arrival.time, arrival.value))
        for number, members in groupby(rows, key=lambda row: row.place // self.segment):
            over = (number + 1) * self.segment
            if over > self.clock.now:
                yield self.clock.environment.timeout(over - self.clock.now)
            fresh: dict[int, _Segment] = {}
            for row in members:
                fresh.setdefault(row.stream, _Segment(number, [])).rows.append(row)
            self._let_go(number)
            yield self._wait(self._store(fresh))
            for stream in sorted(fresh):
                yield from self._join(stream, fresh[stream])

    def _wait(self, seconds: float) -> simpy.Event:
        return self.clock.environment.timeout(micros(seconds))

    def _let_go(self, number: int) -> None:
        """Forget segments that no row of this interval or a later one can meet."""
        now = self.clock.now
        for stream, segments in enumerate(self.stored):
            for old in list(segments):
                if (old + 1) * self.segment + self.join.windows[stream].length <= number * self.segment:
                    gone = segments.pop(old)
                    for node in gone.nodes:
                        self._hold(node, -len(gone.rows))
                        self._spend(node, self.times.purge * len(gone.rows))
                    self.meter.take_table(len(gone.nodes), now)

    def _store(self, fresh: Mapping[int, _Segment]) -> float:
        """Store segments on the nodes that have worked least; returns how long that takes."""
        taken: dict[int, float] = defaultdict(float)
        for stream, segment in sorted(fresh.items()):
            numbers = sorted(range(len(self.loads)), key=lambda node: (self.loads[node], node))
            segment.nodes = numbers[: self.copies]
            self.stored[stream][segment.number] = segment
            for node in segment.nodes:
                self._hold(node, len(segment.rows))
                seconds = (self.times.send + self.times.insert) * len(segment.rows)
                taken[node] += seconds
                self._spend(node, seconds)
                self.meter.take_sent("row", self.clock.now, len(segment.rows))
            self.meter.take_table(len(segment.nodes), self.clock.now)
        return self.times.hop + max(taken.values(), default=0.0)

    def _hold(self, node: int, rows: int) -> None:
        self.held[node] += rows
        self.meter.hold(node, self.held[node], self.clock.now)

    def _spend(self, node: int, seconds: float, compared: int = 0) -> None:
        self.loads[node] += seconds
        self.meter.take_work(node, seconds, compared, self.clock.now)

    def _join(self, stream: int, segment: _Segment) -> Steps:
        """All hops of a segment."""
        partial: list[tuple[Row, ...]] = [(row,) for row in segment.rows]
        for other in self.join.paths[stream].order:
            if not partial:
                return
            alive = self._alive(other, partial)
            found: list[tuple[Row, ...]] = []
            longest = 0.0
            for node, numbers in self._way(other, alive).items():
                rows = [row for number in sorted(numbers) for row in self.stored[other][number].rows]
                seconds, more = self._compare(node, partial, other, rows)
                longest = max(longest, seconds)
                found += more
            # The next hop begins when all nodes have said that they are done with this one.
            yield self._wait(self.times.hop + longest)
            partial = found

    def _alive(self, stream: int, partial: Sequence[tuple[Row, ...]]) -> list[int]:
        """The segments of a stream in which some arriving row of a segment may have partners."""
        times = [rows[0].place for rows in partial]
        oldest, newest = min(times) - self.join.windows[stream].length, max(times)
        return [
            number
            for number in self.stored[stream]
            if oldest < (number + 1) * self.segment and number * self.segment <= newest
        ]

    def _way(self, stream: int, alive: Sequence[int]) -> dict[int, list[int]]:
        """Which nodes look at which segments."""
        nodes = {number: self.stored[stream][number].nodes for number in alive}
        mean = sum(self.loads) / len(self.loads)
        # Even an idle node costs something: fewer of them are to be asked.
        chosen = cover(alive, nodes, [1 + (load / mean if mean > 0 else 0) for load in self.loads])
        now = self.clock.now
        self.meter.take_table(len(alive), now)
        self.meter.take_sent("route", now, len(chosen))
        for number, holders in nodes.items():
            if self.meter.counts(now):
                elsewhere = sum(node in chosen for node in holders) - 1
                self.meter.doubled += elsewhere * len(self.stored[stream][number].rows)
        return chosen

    def _compare(
        self, node: int, partial: Sequence[tuple[Row, ...]], stream: int, rows: Sequence[Row]
    ) -> tuple[float, list[tuple[Row, ...]]]:
        """Partial results meet the rows that a node looks at; returns how long that takes, and what fits."""
        ids = np.array([row.id for row in rows], np.int64)
        places = np.array([row.place for row in rows], np.int64)
        values = np.array([row.value for row in rows], object)
        compared = 0
        longer: list[tuple[Row, ...]] = []
        for bound in partial:
            begin = int(np.searchsorted(places, bound[0].place - self.join.windows[stream].length, "right"))
            # Of rows of the same time those count that came before.
            end = int(np.searchsorted(ids, bound[0].id))
            if begin < end:
                compared += end - begin
                mask = self.join.predicate(bound, stream, ids[begin:end], values[begin:end])
                longer += [(*bound, rows[begin + place]) for place in np.flatnonzero(mask).tolist()]
        seconds = self.times.send * len(partial) + self.times.compare * compared
        self.meter.take_sent("row" if len(partial[0]) == 1 else "inter", self.clock.now, len(partial))
        self._spend(node, seconds, compared)
        if longer and len(longer[0]) == self.join.streams:
            there = self.clock.now + micros(self.times.hop + seconds)
            for result in longer:
                self.meter.take_results([tuple(sorted(result))], result[0].place, there)
        return seconds, longer
