"""Streams at nodes, which of them are joined, and plans for it: plain data.

A plan has one sequence per stream. When a row of that stream, the head, arrives, it visits the windows
of the others in this order, by the algorithm of each step; the results of a step are the arrivals of the next
(Tran & Lee 2010, Definition 1). A tree plan has one order for all streams instead (Sect. 4.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from watersmeet.cost.semijoin import FORMULAS, OneWayJoin, output
from watersmeet.cost.site import DEFAULT, HERE, Link, Setting, SiteStream, Work
from watersmeet.errors import InvalidQuery
from watersmeet.plan.sites.algorithm import PUBLISHED, Algorithm


@dataclass(frozen=True, slots=True)
class Network:
    """The links between nodes: one for all, but for pairs that have their own. Within a node there is none.

    >>> slow = Link(latency=0.1, bandwidth=32_000)
    >>> network = Network(Link(latency=0.025, bandwidth=128_000), {(0, 2): slow})
    >>> network.between(2, 0) == slow, network.between(1, 1).time(1000)
    (True, 0.0)
    """

    link: Link
    exceptions: Mapping[tuple[int, int], Link] = field(default_factory=dict)

    def between(self, one: int, other: int) -> Link:
        """The link of two nodes, the same in both directions."""
        if one == other:
            return HERE
        return self.exceptions.get((one, other), self.exceptions.get((other, one), self.link))


@dataclass(frozen=True, slots=True)
class Step:
    """One one-way join of a plan.

    Attributes:
        stream: The stream that is joined.
        algorithm: How.
        node: Where the results come out.
        work: What it costs.
    """

    stream: int
    algorithm: Algorithm
    node: int
    work: Work


@dataclass(frozen=True, slots=True)
class SitesPlan:
    """Per stream, as head, the steps its rows take.

    Attributes:
        sequences: One per stream, in the order of the query.
        skipped: What was not searched, in words; empty if nothing.
    """

    sequences: tuple[tuple[Step, ...], ...]
    skipped: str = ""

    @property
    def work(self) -> Work:
        """The sum over all heads and steps (Tran & Lee 2010, eq. 1)."""
        return sum((step.work for sequence in self.sequences for step in sequence), Work())


@dataclass(frozen=True, slots=True)
class TwoWay:
    """A stream joined with the results so far, in both directions.

    Attributes:
        results: Results so far look back into the window of the stream.
        arrivals: Rows of the stream look back into the kept results.
        node: Where the joined results are kept for the next join; none after the last one.
        gathering: What it costs to bring those there that come out elsewhere.
    """

    results: Step
    arrivals: Step
    node: int | None
    gathering: Work

    @property
    def stream(self) -> int:
        """The stream that is joined."""
        return self.results.stream

    @property
    def work(self) -> Work:
        """Both directions and the gathering."""
        return self.results.work + self.arrivals.work + self.gathering


@dataclass(frozen=True, slots=True)
class TreePlan:
    """One order for all streams: the first, then the others, each joined with all before it.

    Attributes:
        first: The stream at the bottom.
        joins: One per other stream.
        skipped: What was not searched, in words; empty if nothing.
    """

    first: int
    joins: tuple[TwoWay, ...]
    skipped: str = ""

    @property
    def work(self) -> Work:
        """The sum over all joins."""
        return sum((join.work for join in self.joins), Work())


@dataclass(frozen=True, slots=True)
class SitesQuery:
    """Streams at nodes and the join graph between them.

    Streams that share one attribute are all joined with one another; list every pair.

    Attributes:
        streams: The streams, each where it arrives.
        joins: Pairs of stream numbers.
        network: What lies between the nodes.
        setting: How streams are processed.
        algorithms: Those to choose from.
    """

    streams: tuple[SiteStream, ...]
    joins: frozenset[tuple[int, int]]
    network: Network
    setting: Setting = DEFAULT
    algorithms: tuple[Algorithm, ...] = PUBLISHED

    def __post_init__(self) -> None:
        """Refuse pairs of no streams, and streams that no chain of joins links to the others."""
        count = len(self.streams)
        if count < 2:
            raise InvalidQuery("a join needs two streams or more", f"there are {count}.")
        for one, other in sorted(self.joins):
            if one == other or not (0 <= one < count and 0 <= other < count):
                raise InvalidQuery(
                    f"streams {one} and {other} cannot be joined",
                    f"there are streams 0 to {count - 1}.",
                    "name two different ones.",
                )
        reached = {0}
        while more := self.adjacent(reached):
            reached.update(more)
        if apart := sorted(set(range(count)) - reached):
            names = ", ".join(map(str, apart))
            raise InvalidQuery(
                "the join graph falls apart",
                f"nothing links stream 0 with {names}.",
                "add a join, or plan the parts on their own.",
            )

    def neighbours(self, stream: int) -> set[int]:
        """The streams it is joined with."""
        return {one + other - stream for one, other in self.joins if stream in (one, other)}

    def adjacent(self, done: Iterable[int]) -> list[int]:
        """The streams that can be joined next, in order."""
        near = {stream for member in done for stream in self.neighbours(member)}
        return sorted(near - set(done))

    def towards(self, current: SiteStream, done: frozenset[int], stream: int) -> SiteStream:
        """The results so far, with the keys by which this stream is looked up.

        They are those of the member it is joined with. With several such members the keys must be in all.
        """
        keys = min(self.streams[member].distinct for member in done & self.neighbours(stream))
        return replace(current, distinct=keys)

    def steps(self, current: SiteStream, done: frozenset[int], stream: int) -> list[Step]:
        """The ways to join this stream with the results so far."""
        first, second = self.towards(current, done, stream), self.streams[stream]
        join = OneWayJoin(first, second, self.network.between(first.node, second.node), self.setting)
        return [
            Step(stream, how, first.node if how.at_source else second.node, FORMULAS[how](join))
            for how in self.algorithms
        ]

    def after(self, current: SiteStream, done: frozenset[int], step: Step) -> SiteStream:
        """The results of a step."""
        return output(self.towards(current, done, step.stream), self.streams[step.stream], step.node)
