"""Aligned tuple routing (Gu, Yu and Wang 2007, as Wang & Rundensteiner 2009 describe it in Sect. 7).

One stream is the master. Its time is cut into segments, each of which belongs to one node. Rows of the other
streams go to every node whose segment they may still meet:

    master       |----- segment, T -----|
    others   |W_s|                      |W_m|     copies: (T + W_s + W_m) / T of each row

A result has one row of the master, so exactly one node finds it. Nodes know nothing of each other: all work
for a row is done in one place, and nothing but rows is sent. A node lets go of rows when others arrive; one
that is given none keeps what it has.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.ring.local import LocalJoin
from watersmeet.kernel.ring.message import Probe, Row
from watersmeet.sim.ring.clock import Clock, micros
from watersmeet.sim.ring.report import Meter, RingReport
from watersmeet.sim.ring.scenario import Arrival, RingScenario


def simulate_aligned(
    scenario: RingScenario,
    nodes: int,
    *,
    segment: float,
    master: int = 0,
    assign: Literal["in turn", "least loaded"] = "in turn",
) -> RingReport:
    """Share a join out by segments of one stream ("ATR").

    Args:
        scenario: The join; windows of time.
        nodes: How many nodes there are, beside the one that sends rows out.
        segment: Seconds of a segment.
        master: The stream that is cut into segments.
        assign: Which node gets the next segment.
    """
    refuse_unless_timed(scenario, nodes, segment)
    return _Aligned(scenario, nodes, micros(segment), master, assign).run()


def refuse_unless_timed(scenario: RingScenario, nodes: int, segment: float) -> None:
    """Segments are of time, so windows must be."""
    if any(window.rows for window in scenario.join.windows):
        raise InvalidSimulation(
            "segments of time need windows of time",
            "a stream has a window of rows.",
            "use a ring, which can count either.",
        )
    if nodes < 1 or not micros(segment) >= 1:
        raise InvalidSimulation(
            "there must be a node, and segments of a microsecond or more",
            f"there are {nodes} nodes and segments of {segment} s.",
        )


class _Aligned:
    def __init__(self, scenario: RingScenario, nodes: int, segment: int, master: int, assign: str) -> None:
        self.scenario, self.times = scenario, scenario.times
        self.segment, self.master, self.assign = segment, master, assign
        self.windows = [window.length for window in scenario.join.windows]
        self.clock = Clock()
        self.meter = Meter(micros(scenario.begin), micros(scenario.duration))
        self.nodes = [LocalJoin(scenario.join) for _ in range(nodes)]
        self.inboxes: list[deque[tuple[Probe, int]]] = [deque() for _ in range(nodes)]
        self.busy = [False] * nodes
        self.loads = [0.0] * nodes
        self.owners: dict[int, int] = {}
        self.arrived = 0

    def run(self) -> RingReport:
        for node in range(len(self.nodes)):
            self.meter.hold(node, 0, 0)
        self.meter.nodes.append((0.0, len(self.nodes)))
        for arrival in self.scenario.arrivals():
            self.clock.at(arrival.time, self._arrive, arrival)
        self.clock.run()
        return self.meter.report()

    def _arrive(self, arrival: Arrival) -> None:
        self.meter.take_row(arrival.time)
        row = Row(arrival.stream, self.arrived, arrival.time, arrival.value)
        self.arrived += 1
        probe = Probe(row, (arrival.time,) * len(self.windows))
        # A node with two segments that a row may meet gets it once.
        for node in sorted({self._owner(number) for number in self._segments(row)}):
            self.meter.take_sent("row", arrival.time)
            there = arrival.time + micros(self.times.hop)
            self.clock.at(there, self._give, node, probe, arrival.time)

    def _segments(self, row: Row) -> range:
        """The segments whose results a row may be part of."""
        if row.stream == self.master:
            return range(row.place // self.segment, row.place // self.segment + 1)
        first = max(0, (row.place - self.windows[self.master]) // self.segment)
        return range(first, (row.place + self.windows[row.stream] - 1) // self.segment + 1)

    def _owner(self, segment: int) -> int:
        if segment not in self.owners:
            if self.assign == "in turn":
                node = segment % len(self.nodes)
            else:
                node = min(range(len(self.nodes)), key=lambda number: (self.loads[number], number))
            self.owners[segment] = node
            self.meter.take_table(1, self.clock.now)
        return self.owners[segment]

    def _give(self, node: int, probe: Probe, arrived: int) -> None:
        self.inboxes[node].append((probe, arrived))
        if not self.busy[node]:
            self._work(node)

    def _work(self, node: int) -> None:
        if not self.inboxes[node]:
            return
        probe, arrived = self.inboxes[node].popleft()
        outcome = self.nodes[node].take(probe)
        times, now = self.times, self.clock.now
        seconds = (
            times.send
            + times.insert * outcome.inserted
            + times.purge * outcome.purged
            + times.compare * outcome.compared
        )
        self.loads[node] += seconds
        self.meter.take_work(node, seconds, outcome.compared, now)
        self.meter.hold(node, self.nodes[node].node.held, now)
        done = now + micros(seconds)
        self.meter.take_results(outcome.results, arrived, done)
        self.busy[node] = True
        self.clock.at(done, self._done, node)

    def _done(self, node: int) -> None:
        self.busy[node] = False
        self._work(node)
