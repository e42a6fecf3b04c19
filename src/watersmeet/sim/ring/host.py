"""The ring at work: nodes as machines that take their time, links that take theirs.

A machine does one message after the other. What it passes on leaves before it compares anything, so the next
one works at the same time:

    node 1   | purge | send | compare ........ | send what was found |
    node 2            hop    | purge | send | compare .....
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.ring.message import Build, Inter, Message, Probe
from watersmeet.kernel.ring.node import Node, Outcome
from watersmeet.kernel.ring.ring import Ends, Ring
from watersmeet.optimize.papers.wang_rundensteiner.slicing import node_shares, slice_ends
from watersmeet.sim.link import Link
from watersmeet.sim.ring.adaptation import Adaptation, Adapter
from watersmeet.sim.ring.clock import Clock, micros
from watersmeet.sim.ring.report import Meter, RingReport
from watersmeet.sim.ring.scenario import Arrival, RingScenario


def simulate_ring(
    scenario: RingScenario,
    nodes: int | Sequence[int],
    *,
    in_flight: int | None = None,
    early: bool = False,
    adaptation: Adaptation | None = None,
) -> RingReport:
    """Share the windows of a join out over a ring by age (Wang & Rundensteiner 2009, "PSP").

    Args:
        scenario: The join.
        nodes: How many nodes there are; or how many share the window of each stream, counted from the head.
        in_flight: How many arriving rows may be on the ring; 1 is the paper's basic PSP. Not said, two for
            each node, which keeps all of them busy.
        early: Whether a row makes room a round earlier.
        adaptation: How the ring follows rates that change; None if it does not.
    """
    lengths = [nodes] * len(scenario.streams) if isinstance(nodes, int) else list(nodes)
    if len(lengths) != len(scenario.streams) or min(lengths) < 1:
        raise InvalidSimulation(
            "a ring needs a node or more for the window of each stream",
            f"{len(scenario.streams)} streams were given {lengths}.",
        )
    limit = 2 * max(lengths) if in_flight is None else in_flight
    ring = Ring(scenario.join, balanced_ends(scenario, lengths), in_flight=limit, early=early)
    return RingHost(scenario, ring, adaptation).run()


def balanced_ends(scenario: RingScenario, lengths: Sequence[int]) -> Ends:
    """Slices with which nodes hold equally many rows, as far as ring lengths allow."""
    join = scenario.join
    rows = [
        window.length if window.rows else stream.rate * window.length
        for stream, window in zip(scenario.streams, join.windows, strict=True)
    ]
    ends = []
    for window, shares, length in zip(join.windows, node_shares(rows, lengths), lengths, strict=True):
        # A stream that has no rows yet can be cut anywhere.
        used = shares if sum(shares) > 0 else [1.0] * length + [0.0] * (len(shares) - length)
        ends.append([round(end) for end in slice_ends(window.length, used)])
    return list(zip(*ends, strict=True))


class RingHost:
    """Carries messages, and takes the time that things take."""

    def __init__(self, scenario: RingScenario, ring: Ring, adaptation: Adaptation | None = None) -> None:
        """Nothing has arrived."""
        self.scenario = scenario
        self.ring = ring
        self.clock = Clock()
        self.meter = Meter(micros(scenario.begin), micros(scenario.duration))
        self.times = scenario.times
        self._inbox: dict[int, deque[Message]] = {}
        self._busy: set[int] = set()
        # One link leaves each node, whoever is next: what is on it comes before what is sent later.
        self._links: dict[int, Link] = {}
        self._arrived: list[int] = []
        self._adapter = Adapter(self, adaptation) if adaptation else None
        for node in ring.nodes:
            self.meter.hold(node.number, 0, 0)
        self.meter.nodes.append((0.0, len(ring.nodes)))

    def run(self) -> RingReport:
        """Let everything happen."""
        for arrival in self.scenario.arrivals():
            self.clock.at(arrival.time, self._arrive, arrival)
        if self._adapter:
            self._adapter.start()
        self.clock.run()
        assert self.ring.idle, "rows are left on the ring"
        assert not self.ring.waiting, "rows were never let onto the ring"
        return self.meter.report()

    def _arrive(self, arrival: Arrival) -> None:
        self.meter.take_row(arrival.time)
        row = self.ring.arrive(arrival.stream, arrival.time, arrival.value)
        self._arrived.append(arrival.time)
        if self._adapter:
            self._adapter.saw_row(row)
        self.enter()

    def enter(self) -> None:
        """Let rows onto the ring that may enter."""
        for message in self.ring.admit():
            self._give(self.ring.nodes[0], message)

    def _deliver(self, sender: Node, message: Message) -> None:
        # Whoever is next now: a node may have been put in between since it was sent.
        self._give(self.ring.next(sender), message)

    def _give(self, node: Node, message: Message) -> None:
        inbox = self._inbox.setdefault(node.number, deque())
        inbox.append(message)
        if node.number not in self._busy:
            self._work(node)

    def _work(self, node: Node) -> None:
        """Begin with the next message; the node is busy until none is left."""
        self._busy.add(node.number)
        inbox = self._inbox[node.number]
        while inbox:
            message = inbox.popleft()
            outcome = node.handle(message)
            if self._adapter:
                self._adapter.saw_work(message, outcome)
            now, done = self.clock.now, self._carry_out(node, message, outcome)
            # Partial results come and go without a row being taken or let go of, but for the last END.
            if not isinstance(message, Inter) or message.end:
                self.meter.hold(node.number, node.held, now)
            if done > now:
                self.clock.at(done, self._done, node, outcome)
                return
            # Most ENDs take no time.
            self._settle(outcome)
        self._busy.discard(node.number)

    def _done(self, node: Node, outcome: Outcome) -> None:
        self._settle(outcome)
        self._work(node)

    def _settle(self, outcome: Outcome) -> None:
        if outcome.finished is not None or outcome.released is not None:
            self.ring.settle(outcome)
            if self.ring.idle and self._adapter:
                self._adapter.ring_is_idle()
            self.enter()

    def _carry_out(self, node: Node, message: Message, outcome: Outcome) -> int:
        """Send what a message has led to; returns when the node is done with it."""
        times, begin = self.times, self.clock.now
        seconds = times.insert * outcome.inserted + times.purge * outcome.purged
        for forwarded in outcome.forwarded:
            seconds += self._send(node, forwarded, seconds)
        seconds += times.compare * outcome.compared
        if outcome.results:
            assert not isinstance(message, Build)
            input_ = message.row.id if isinstance(message, Probe) else message.input
            self.meter.take_results(outcome.results, self._arrived[input_], begin + micros(seconds))
        for found in outcome.found:
            seconds += self._send(node, found, seconds)
        self.meter.take_work(node.number, seconds, outcome.compared, begin)
        return begin + micros(seconds)

    def _send(self, node: Node, message: Message, after: float) -> float:
        """Send a message so many seconds from now, to whoever is next when it arrives; what that takes."""
        now = self.clock.now
        if len(self.ring.nodes) == 1:
            # To itself: nothing is sent. It waits behind what is there.
            self._inbox[node.number].append(message)
            return 0.0
        taken = 0.0 if _is_bare(message) else self.times.send
        link = self._links.get(node.number)
        if link is None:
            random = Random(f"{self.scenario.seed} {node.number}")  # noqa: S311
            link = self._links[node.number] = Link(self.scenario.link, random)
        there = link.arrival(now + micros(after + taken), 0)
        self.clock.at(there, self._deliver, node, message)
        self.meter.take_sent(_kind(message), now)
        return taken


def _is_bare(message: Message) -> bool:
    """Whether it is only an END: it is not worth its sending."""
    return isinstance(message, Inter) and not message.rows


def _kind(message: Message) -> str:
    match message:
        case Build():
            return "build"
        case Probe():
            return "probe"
        case Inter():
            return "inter" if message.rows else "end"
