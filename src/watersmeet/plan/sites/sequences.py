"""Rows of every stream take their own way through the windows of the others (Tran & Lee 2010, Sect. 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from watersmeet.errors import InvalidPlanning
from watersmeet.plan.plan import FOREVER_US
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.columns import final_columns, step_between
from watersmeet.plan.sites.step import JoinStep
from watersmeet.plan.sites.wiring import (
    RESULTS,
    HeadSideSpec,
    ProbeSpec,
    TimeOrderSpec,
    WindowSideSpec,
    WindowSpec,
    Wiring,
    WiringBuilder,
)
from watersmeet.query import JoinQuery


def refuse_row_windows(query: JoinQuery, what: str) -> None:
    """Raise InvalidPlanning if a number of rows limits a window: only sequences can count them.

    Args:
        query: What is joined.
        what: What cannot be done, for people.
    """
    for stream in query.streams:
        if stream.window.counts_rows:
            raise InvalidPlanning(
                f"{what} for a window of rows",
                f'stream "{stream.name}" has one, and its rows are counted where they arrive.',
                "join it by sequences, which keep no intermediate results.",
            )


@dataclass(frozen=True, slots=True)
class Hop:
    """The next stream, and how it is joined."""

    stream: int
    algorithm: Algorithm


@dataclass(frozen=True, slots=True)
class Sequences:
    """Per stream, as head, the hops its rows take."""

    hops: tuple[tuple[Hop, ...], ...]

    def wiring(self, query: JoinQuery, sites: Sequence[str]) -> Wiring:
        """The parts that compute it, for streams at these sites."""
        building = Building(query, sites)
        for head, hops in enumerate(self.hops):
            source, site = building.sources[head], sites[head]
            done: tuple[int, ...] = (head,)
            for number, hop in enumerate(hops):
                # A combination is found by its last row; of equal times the later stream's row is the last.
                step = step_between(query, done, (hop.stream,), ties=hop.stream < head, ends=False)
                source, site = building.join(
                    f"{query.names[head]}.{number + 1}", source, site, hop.algorithm, step, hop.stream
                )
                done = (*done, hop.stream)
            building.wires.connect(source, "out", RESULTS, "")
        return building.wires.finish(final_columns(query))


@dataclass(slots=True)
class Building:
    """A wiring of one-way joins in the making.

    Attributes:
        query: What is joined.
        sites: Where streams arrive.
        wires: The parts and edges so far.
        sources: The parts that send the rows of each stream, in order.
    """

    query: JoinQuery
    sites: Sequence[str]
    wires: WiringBuilder = field(default_factory=WiringBuilder)
    sources: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Add sources and windows."""
        for stream, site in enumerate(self.sites):
            ends = self.query.own_ends(stream)
            source = self.wires.add(
                TimeOrderSpec(f"source {self.query.names[stream]}", site, stream, ends=ends)
            )
            self.sources.append(source)
            self.window(f"window {self.query.names[stream]}", site, source, stream)

    def limits(self, stream: int) -> tuple[int, int | None]:
        """How long rows of a stream live, and how many of them at a time."""
        reach = self.query.reaches[stream]
        return FOREVER_US if reach is None else reach, self.query.streams[stream].window.most_rows

    def window(self, name: str, site: str, source: str, stream: int) -> str:
        """Add a window of a stream at a site."""
        self.wires.add(WindowSpec(name, site, *self.limits(stream)))
        self.wires.connect(source, "out", name, "in")
        return name

    def join(
        self, name: str, heads: str, site: str, algorithm: Algorithm, step: JoinStep, stream: int
    ) -> tuple[str, str]:
        """Add a one-way join of heads at a site with a stream; who sends the results, and where that is."""
        home, window = self.sites[stream], f"window {self.query.names[stream]}"
        source = self.sources[stream]
        return self.one_way(
            name, heads, site, algorithm, step, Remote(home, window, source, *self.limits(stream))
        )

    def one_way(
        self, name: str, heads: str, site: str, algorithm: Algorithm, step: JoinStep, remote: Remote
    ) -> tuple[str, str]:
        """Add a one-way join of heads at a site with any window."""
        wires = self.wires
        if algorithm in (Algorithm.SP_S, Algorithm.SP_D):
            window, place = remote.window, remote.site
            if algorithm is Algorithm.SP_S and site != remote.site:
                place = site
                window = wires.add(WindowSpec(f"copy for {name}", site, remote.reach, remote.count))
                wires.connect(remote.source, "out", window, "in")
            wires.add(ProbeSpec(name, place, step, window))
            wires.connect(heads, "out", name, "heads")
            wires.connect(window, "out", name, "window")
            return name, place
        head_side, window_side = f"{name} head side", f"{name} window side"
        wires.add(
            HeadSideSpec(
                name=head_side,
                site=site,
                step=step,
                algorithm=algorithm,
                reach=remote.reach,
                count=remote.count,
            )
        )
        wires.add(WindowSideSpec(window_side, remote.site, step, algorithm, remote.window))
        wires.connect(heads, "out", head_side, "heads")
        wires.connect(remote.window, "out", window_side, "window")
        # One way back for everything, so that an answer never overtakes a change.
        wires.connect(window_side, "answer", head_side, "answer")
        if algorithm in (Algorithm.SM_D1, Algorithm.SM_D1_BLOOM):
            wires.connect(head_side, "rows", window_side, "rows")
        else:
            wires.connect(head_side, "ask", window_side, "ask")
            if not algorithm.at_source:
                wires.connect(head_side, "rows", window_side, "rows")
        return (head_side, site) if algorithm.at_source else (window_side, remote.site)


@dataclass(frozen=True, slots=True)
class Remote:
    """A window that heads look into: where it is, who feeds it, and how long its rows live."""

    site: str
    window: str
    source: str
    reach: int
    count: int | None = None
