"""A ring that follows rates which change while it runs (Wang & Rundensteiner 2009, Sect. 6).

Now and then somebody looks at what has arrived since:

*   Smoothing: every node but the last holds at most its share of the rows there are, and passes the oldest
    on. Slices end where that says, so a burst does not stay on the first node until it has aged.
*   Moving: nodes join or leave the ring, so that its length is the best for the rates. At once: rows wait
    until the ring is empty, then slices move to neighbours (the paper's aggressive relocation). Or gradually:
    slice ends move in steps, rows follow as they age, and nobody waits (its passive adjustment).

What is best is for `watersmeet.cost.ring` to say, as long as nodes are not busier than they can be.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from watersmeet.cost.ring import Times, ring_work
from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.ring.message import Build, Message, Probe, Row
from watersmeet.kernel.ring.node import Node, Outcome
from watersmeet.kernel.ring.ring import Ends, equal_ends
from watersmeet.optimize.papers.wang_rundensteiner.length import RingJoin, mean_latency
from watersmeet.optimize.papers.wang_rundensteiner.slicing import relocation
from watersmeet.sim.link import SECOND
from watersmeet.sim.ring.clock import micros

if TYPE_CHECKING:
    from watersmeet.sim.ring.host import RingHost

# Rates that differ by less are taken to be the same, in standard deviations: arrivals are random.
_DEVIATIONS = 2.0
# Lengths between are not worth a move: too many nodes do less harm than too few.
_LONGER, _SHORTER = 1.25, 0.6
# Nodes busier than this have no time for bursts.
_BUSY = 0.7


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What is done about rates that change.

    Attributes:
        every: Seconds between two looks.
        most: How many nodes there are to be had.
        smoothing: Whether nodes hold equally many rows instead of equally long slices.
        moving: Whether, and how, nodes join and leave the ring.
        steps: In how many steps slice ends move, one with each look, where they move gradually.
    """

    every: float = 0.5
    most: int = 20
    smoothing: bool = False
    moving: Literal["never", "at once", "gradually"] = "at once"
    steps: int = 4

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        if not 0 < self.every < math.inf or self.most < 1 or self.steps < 1:
            raise InvalidSimulation(
                "a ring cannot adapt like that",
                f"it looks every {self.every} s, has {self.most} nodes and moves in {self.steps} steps.",
            )
        if self.smoothing and self.moving == "gradually":
            raise InvalidSimulation(
                "smoothing leaves no slice ends that could move gradually",
                "how many rows a node holds decides where its slice ends.",
                'move "at once", or do without smoothing.',
            )


def best_length(join: RingJoin, times: Times, most: int) -> int:
    """The length of a ring with the smallest latency, of those that can take all rows; ties to the shorter.

    >>> from watersmeet.plan import ProbePath
    >>> paths = (ProbePath(0, (1,)), ProbePath(1, (0,)))
    >>> times = Times(compare=1e-4, hop=1e-4)
    >>> [best_length(RingJoin((r, r), (1, 1), paths, ((0.1,), (0.1,))), times, most=20) for r in (50, 80)]
    [5, 6]
    """

    def busy(nodes: int) -> float:
        work = (
            rate * ring_work(join.steps(head), times, nodes) / nodes for head, rate in enumerate(join.rates)
        )
        return sum(work)

    able = [nodes for nodes in range(1, most + 1) if busy(nodes) <= _BUSY] or [most]
    return min(able, key=lambda nodes: (mean_latency(join, times, [nodes] * len(join.rates)), nodes))


class Adapter:
    """Watches a ring and changes it."""

    def __init__(self, host: RingHost, adaptation: Adaptation) -> None:
        """Begin with what is known before anything has arrived."""
        self.host, self.ring, self.wish = host, host.ring, adaptation
        self._planned = tuple(stream.rate for stream in host.scenario.streams)
        self._seen = self._planned
        self._rows: Counter[int] = Counter()
        # By stream that arrived and rows bound.
        self._compared: Counter[tuple[int, int]] = Counter()
        self._matched: Counter[tuple[int, int]] = Counter()
        self._wanted: int | None = None
        self._paused_at = 0

    def start(self) -> None:
        """Look for the first time."""
        if self.wish.smoothing:
            for node in self.ring.nodes:
                node.ends = [window.length for window in self.ring.join.windows]
        self.host.clock.at(micros(self.wish.every), self._look)

    def saw_row(self, row: Row) -> None:
        """A row has arrived."""
        self._rows[row.stream] += 1

    def saw_work(self, message: Message, outcome: Outcome) -> None:
        """A node has compared something."""
        if outcome.compared:
            assert not isinstance(message, Build)
            rows = (message.row,) if isinstance(message, Probe) else message.rows
            step = rows[0].stream, len(rows)
            self._compared[step] += outcome.compared
            self._matched[step] += len(outcome.results) + sum(bool(inter.rows) for inter in outcome.found)

    def _look(self) -> None:
        clock, every = self.host.clock, micros(self.wish.every)
        seen = tuple(self._rows[stream] / self.wish.every for stream in range(self.ring.join.streams))
        self._rows.clear()
        # Rates rise as soon as they are seen to, and fall when they have been low for two looks.
        rates = max(
            seen, tuple((now + before) / 2 for now, before in zip(seen, self._seen, strict=True)), key=sum
        )
        self._seen = seen
        if self.wish.smoothing:
            self._limit()
        if self.wish.moving != "never" and self._wanted is None and self._changed(rates):
            wanted = best_length(self._described(rates), self.host.times, self.wish.most)
            if not _SHORTER < wanted / len(self.ring.nodes) < _LONGER:
                self._planned = rates
                self._change(wanted)
        if clock.now + every <= micros(self.host.scenario.duration):
            clock.at(clock.now + every, self._look)

    def _changed(self, rates: Sequence[float]) -> bool:
        now, planned = sum(rates), sum(self._planned)
        return abs(now - planned) > _DEVIATIONS * math.sqrt(planned / self.wish.every)

    def _described(self, rates: Sequence[float]) -> RingJoin:
        """The join as it is now: rates as seen, match probabilities as measured."""
        join = self.ring.join
        # A stream that is silent for a moment still has a window.
        seen = [max(rate, 0.5 / self.wish.every) for rate in rates]
        windows = tuple(
            window.length / rate if window.rows else window.length / SECOND
            for window, rate in zip(join.windows, seen, strict=True)
        )
        probs = tuple(
            tuple(
                self._matched[head, step] / max(1, self._compared[head, step])
                for step in range(1, join.streams)
            )
            for head in range(join.streams)
        )
        return RingJoin(tuple(seen), windows, join.paths, probs)

    def _limit(self) -> None:
        """Every node but the last holds its share of the rows there are."""
        nodes = self.ring.nodes
        for stream in range(self.ring.join.streams):
            share = math.ceil(sum(len(node.slices[stream]) for node in nodes) / len(nodes))
            for node in nodes:
                node.limits[stream] = share

    def _change(self, wanted: int) -> None:
        self._wanted = wanted
        if self.wish.moving == "gradually":
            self._move_gradually(wanted)
        else:
            self._pause()

    def _pause(self) -> None:
        """Let nobody in until all are out."""
        self.ring.paused = True
        self._paused_at = self.host.clock.now
        if self.ring.idle:
            self.ring_is_idle()

    def ring_is_idle(self) -> None:
        """Nobody is on the ring: if that was waited for, nodes come and go now."""
        if self._wanted is None or not self.ring.paused:
            return
        nodes = self.ring.nodes
        if self._wanted > len(nodes):
            self._put_in(self._wanted)
            kept = self.ring.nodes
        else:
            kept = _kept(nodes, self._wanted)
        self._wanted = None
        self._arrange(nodes, kept)

    def _put_in(self, wanted: int) -> None:
        nodes, join = len(self.ring.nodes), self.ring.join
        for count, after in enumerate(relocation(nodes, wanted - nodes).after):
            # Empty, until slice ends say otherwise.
            before = self.ring.nodes[after + count - 1]
            ends = [w.length for w in join.windows] if before.tail else before.ends
            self.ring.insert(after + count, ends)

    def _arrange(self, before: Sequence[Node], kept: Sequence[Node]) -> None:
        """Move rows at once; as long as the one with most to send is sending, everybody waits."""
        clock, meter, times = self.host.clock, self.host.meter, self.host.times
        moves = self.ring.arrange(kept, equal_ends(self.ring.join, len(kept)))
        sending: Counter[int] = Counter()
        for (sender, _), rows in moves.items():
            sending[sender] += rows
            meter.take_sent("moved", clock.now, rows)
            meter.take_work(sender, rows * times.send, 0, clock.now)
        for node in {*before, *kept}:
            meter.hold(node.number, node.held if node in kept else 0, clock.now)
        self._note_length()
        if self.wish.smoothing:
            for node in kept:
                node.ends = [window.length for window in self.ring.join.windows]
            self._limit()
        longest = max(sending.values(), default=0) * times.send + times.hop
        clock.at(clock.now + micros(longest), self._resume)

    def _note_length(self) -> None:
        """As many rows for each node as before may be on the ring; one alone stays alone."""
        before, now = self.host.meter.nodes[-1][1], len(self.ring.nodes)
        if self.ring.in_flight > 1:
            self.ring.in_flight = max(2, round(self.ring.in_flight * now / before))
        self.host.meter.nodes.append((self.host.clock.now / SECOND, now))

    def _resume(self) -> None:
        self.ring.paused = False
        self.host.meter.pauses += self.host.clock.now - self._paused_at
        self.host.enter()

    def _move_gradually(self, wanted: int) -> None:
        """Towards equal slices step by step; nodes that are to leave end up empty."""
        join = self.ring.join
        if wanted > len(self.ring.nodes):
            self._put_in(wanted)
            kept = self.ring.nodes
            self._note_length()
        else:
            kept = _kept(self.ring.nodes, wanted)
        equal = iter(equal_ends(join, wanted))
        last = [0] * join.streams
        target = [last := next(equal) if node in kept else last for node in self.ring.nodes]
        start = [list(node.ends) for node in self.ring.nodes]
        # Before the last node there may be others that reach as far: it gave its slice to them.
        start[-1] = [window.length for window in join.windows]
        for step in range(1, self.wish.steps + 1):
            at = self.host.clock.now + micros(step * self.wish.every)
            self.host.clock.at(at, self._step, start, target, step)

    def _step(self, start: Ends, target: Ends, step: int) -> None:
        share = step / self.wish.steps
        self.ring.reslice(
            [
                [round(old + share * (new - old)) for old, new in zip(olds, news, strict=True)]
                for olds, news in zip(start, target, strict=True)
            ]
        )
        if step == self.wish.steps:
            if self._wanted == len(self.ring.nodes):
                self._wanted = None
            else:
                self._pause()


def _kept(nodes: Sequence[Node], wanted: int) -> list[Node]:
    """Those that stay when a ring becomes shorter: what a longer one has put in leaves."""
    after = relocation(wanted, len(nodes) - wanted).after
    leaving = {place + count for count, place in enumerate(after)}
    return [node for place, node in enumerate(nodes) if place not in leaving]
