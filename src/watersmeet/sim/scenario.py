"""What is to be simulated, as plain data: sites, links, streams, the join and the method.

`watersmeet simulate` reads it from a file; programs make it themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from watersmeet.errors import InvalidSimulation, choices
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.query import Column, JoinQuery, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import WindowLike, window_of
from watersmeet.sim.fixed_delay import FixedDelay
from watersmeet.sim.link import SECOND, LinkModel
from watersmeet.sim.replay import Profile, Replayed, profile
from watersmeet.sim.simulation import Outage
from watersmeet.sim.workload import GENERATED_TIME, PAYLOAD, Generated, Source

# Who plans, by the kind of method.
PLANNERS: Mapping[str, tuple[str, ...]] = {
    "sequences": ("greedy", "exhaustive", "fixed"),
    "tree": ("exhaustive",),
    "placed": ("stream_join_opt", "local", "simple", "optimal"),
}
PARTITIONS = ("hash", "range", "rate")
# How the bytes of a message are counted: as they are sent, or the values alone.
BYTES = ("encoded", "values")


@dataclass(frozen=True, slots=True)
class SimStream:
    """A stream: where it arrives, how long its rows live, and where they come from."""

    name: str
    site: str
    window: WindowLike
    feed: Generated | Replayed

    def stream(self) -> Stream:
        """As queries know it."""
        window, lateness = window_of(self.window), timedelta(seconds=self.feed.lateness)
        if isinstance(self.feed, Replayed):
            return Stream(self.name, self.feed.columns(), self.feed.time, window, lateness)
        columns = [Column(GENERATED_TIME, "timestamp")]
        columns += [Column(name, "bigint") for name in self.feed.columns]
        columns += [Column(PAYLOAD, "binary")] if self.feed.payload else []
        return Stream(self.name, tuple(columns), GENERATED_TIME, window, lateness)


@dataclass(frozen=True, slots=True)
class Method:
    """How streams are joined.

    Attributes:
        kind: Sequences of one-way joins, a tree of two-way joins, or whole joins placed at sites.
        planner: Who plans.
        hops: For fixed sequences: per stream the others, in order, and by which algorithm.
        bloom: Whether sequences and trees may use Bloom filters.
        partition: For placed joins: how values are put into groups that have a plan of their own.
        groups: How many groups at most.
    """

    kind: str = "sequences"
    planner: str = "greedy"
    hops: Mapping[str, Sequence[tuple[str, Algorithm]]] = field(default_factory=dict)
    bloom: bool = False
    partition: str | None = None
    groups: int = 1

    def __post_init__(self) -> None:
        """Refuse names that do not exist."""
        _known("method", self.kind, tuple(PLANNERS))
        _known(f'planner of method "{self.kind}"', self.planner, PLANNERS[self.kind])
        if self.partition is not None:
            _known("partition", self.partition, PARTITIONS)
            if self.kind != "placed":
                raise InvalidSimulation(
                    f'method "{self.kind}" cannot be partitioned', hint='valid is only "placed".'
                )
        if self.groups < 1:
            raise InvalidSimulation("there must be a group for every value", f"there are {self.groups}.")


@dataclass(frozen=True)
class Scenario:
    """A simulation.

    Attributes:
        streams: What arrives.
        on: The shared key, or conditions.
        links: The links between pairs of sites.
        link: The link between all other pairs; None if there is none.
        method: How streams are joined.
        duration: How long rows arrive, seconds; None until all files are read.
        tick: How often rows come to their sites, seconds.
        seed: For all that is random.
        outages: When sites stop.
        delay: The fixed delays of Tran & Lee, instead of promises.
        bytes: How bytes are counted.
        name: What it is called.
    """

    streams: tuple[SimStream, ...]
    on: str | Sequence[str]
    links: Mapping[tuple[str, str], LinkModel] = field(default_factory=dict)
    link: LinkModel | None = None
    method: Method = field(default_factory=Method)
    duration: float | None = None
    tick: float = 0.1
    seed: int = 0
    outages: tuple[Outage, ...] = ()
    delay: FixedDelay | None = None
    bytes: str = "encoded"
    name: str = "simulation"

    def __post_init__(self) -> None:
        """Refuse what never ends, or never begins."""
        _known("way to count bytes", self.bytes, BYTES)
        if not self.tick > 0:
            raise InvalidSimulation("a tick must last longer than 0 s", f"it is {self.tick} s.")
        if self.duration is None and any(isinstance(one.feed, Generated) for one in self.streams):
            raise InvalidSimulation(
                "the simulation would never end",
                "rows are generated, and no duration is given.",
                "say how long.",
            )
        if self.duration is not None and not self.duration > 0:
            raise InvalidSimulation("the simulation must last longer than 0 s", f"it is {self.duration} s.")

    @property
    def sites(self) -> tuple[str, ...]:
        """Where each stream arrives."""
        return tuple(stream.site for stream in self.streams)

    @cached_property
    def query(self) -> JoinQuery:
        """What is joined; every column of every stream is in the results."""
        streams = [one.stream() for one in self.streams]
        query = join_query(streams, self.on, None, "inner", _Columns())
        for text in [*(one.text for one in query.filters), *(one.text for one in query.afterwards)]:
            raise InvalidSimulation(
                f'condition "{text}" is not simulated',
                "Spark would judge it, before the join or after it.",
                "leave it out: it changes nothing about who sends what to whom.",
            )
        for attribute in query.attributes:
            if any(member is not None and member.column is None for member in attribute.members):
                raise InvalidSimulation(
                    f"{attribute.text} compares columns of different types",
                    "a simulation does not convert them.",
                    "give them one type; generated values are of type bigint.",
                )
        for stream in streams:
            if stream.window.counts_per_key:
                raise InvalidSimulation(
                    f'window of stream "{stream.name}" counts the rows of each key',
                    "between sites only the rows of a whole stream are counted.",
                    "leave out per_key, or give it a window of time.",
                )
            if stream.window.common:
                raise InvalidSimulation(
                    f"{stream.window.keyword} windows are not simulated",
                    "between sites nothing joins them.",
                    "give every stream a window of time.",
                )
        return query

    @cached_property
    def profiles(self) -> Mapping[int, Profile]:
        """What is known about the streams that come from files, by number."""
        found = {}
        for number, stream in enumerate(self.streams):
            if isinstance(stream.feed, Replayed):
                members = [attribute.members[number] for attribute in self.query.attributes]
                keys = [member.column for member in members if member is not None and member.column]
                found[number] = profile(stream.feed, keys)
        return found

    @property
    def epoch(self) -> int:
        """When the simulated clock starts: with the first row of the files, microseconds since 1970."""
        return min((known.first for known in self.profiles.values()), default=0)

    @property
    def end(self) -> int:
        """When the last row has its time, microseconds."""
        if self.duration is not None:
            return round(self.duration * SECOND)
        return max(known.last for known in self.profiles.values()) - self.epoch + 1

    def sources(self) -> list[Source]:
        """The rows of every stream, from the beginning."""
        found: list[Source] = []
        for number, stream in enumerate(self.streams):
            if isinstance(stream.feed, Replayed):
                found.append(stream.feed.source(self.epoch, self.end))
            else:
                found.append(stream.feed.source(self.seed, number, self.end, self.epoch))
        return found

    def between(self, one: str, other: str) -> LinkModel | None:
        """The link of two sites, the same in both directions; None if there is none."""
        return self.links.get((one, other), self.links.get((other, one), self.link))


class _Columns(ColumnsOnly):
    """There is no Spark to ask for the type of an expression."""

    def of_key(self, stream: Stream, text: str) -> Column:
        raise InvalidSimulation(
            f'"{text}" is more than a column',
            "a simulation compares columns only.",
            f'the columns of stream "{stream.name}" are {choices(stream.column_names)}.',
        )


def _known(what: str, name: str, valid: Sequence[str]) -> None:
    if name not in valid:
        raise InvalidSimulation(f'unknown {what} "{name}"', hint=f"valid are {choices(valid)}.")
