"""The parts of a join between sites, and the ways packets take between them: plain data.

Every method of joining becomes such a wiring. A host builds the parts of a site from it
(`kernel.sites.node`), and delivers what goes to another site; it needs to know nothing of the method.

    s0 @ oslo --out--> w0 @ oslo --out--> 1.1 @ oslo           SP-D: heads of stream 1 travel to the window
    s1 @ bonn --out-----------heads------> 1.1 @ oslo --out--> results
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from watersmeet.plan.plan import Operator, Plan
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.step import JoinStep
from watersmeet.query.window_kind import OwnEnds

# Where an edge ends whose packets are results of the join.
RESULTS = ""


@dataclass(frozen=True, slots=True)
class TimeOrderSpec:
    """Rows are put in the order of time (`kernel.sites.time_order`).

    Attributes:
        name: Its name.
        site: Where it is.
        stream: The stream whose rows begin their way here; None for results.
        ordered: Whether rows wait until nothing before them can come.
        ends: How the rows get their ends, where their reach does not say it.
    """

    name: str
    site: str
    stream: int | None = None
    ordered: bool = True
    ends: OwnEnds | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """One slice of a window, of so many."""

    slice: int
    slices: int


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window (`kernel.sites.window`).

    Attributes:
        name: Its name.
        site: Where it is.
        reach: How long a row lives, microseconds.
        count: How many rows are alive at a time, where their number limits it.
        share: Which part of the rows that come is stored; None stores all.
    """

    name: str
    site: str
    reach: int
    count: int | None = None
    share: Share | None = None


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """Heads meet a window at their site: SP-S, SP-D."""

    name: str
    site: str
    step: JoinStep
    window: str


@dataclass(frozen=True, slots=True)
class HeadSideSpec:
    """The side of a semijoin that has the heads."""

    name: str
    site: str
    step: JoinStep
    algorithm: Algorithm
    reach: int
    count: int | None = None


@dataclass(frozen=True, slots=True)
class WindowSideSpec:
    """The side of a semijoin that has the window."""

    name: str
    site: str
    step: JoinStep
    algorithm: Algorithm
    window: str


@dataclass(frozen=True, slots=True)
class MJoinSpec:
    """A multi-way join of whole inputs (Zhou et al. 2006): port `i` is input i of the operator."""

    name: str
    site: str
    plan: Plan
    operator: Operator
    ends: bool


@dataclass(frozen=True, slots=True)
class SplitSpec:
    """Rows go different ways by their key (Zhou et al. 2006, Sect. 3.3).

    Attributes:
        name: Its name.
        site: Where it is.
        key: The columns of the key.
        ways: How many ways there are, called ``way 0``, ``way 1``, ...
        values: Values of the key's only column, and the way of each.
        other: The way of all other keys.
    """

    name: str
    site: str
    key: tuple[str, ...]
    ways: int
    values: tuple[tuple[Any, ...], tuple[int, ...]]
    other: int


PartSpec = TimeOrderSpec | WindowSpec | ProbeSpec | HeadSideSpec | WindowSideSpec | MJoinSpec | SplitSpec


@dataclass(frozen=True, slots=True)
class Edge:
    """What leaves a part by some way comes to a port of another, or is a result."""

    sender: str
    way: str
    receiver: str
    port: str


@dataclass(frozen=True, slots=True)
class Wiring:
    """All parts and edges.

    Attributes:
        parts: The parts, windows before those that read them.
        edges: The edges; packets between sites are addressed by the number of theirs.
        columns: The columns of results, in order.
    """

    parts: tuple[PartSpec, ...]
    edges: tuple[Edge, ...]
    columns: tuple[str, ...]

    @property
    def sites(self) -> tuple[str, ...]:
        """Every site that has a part, in order."""
        return tuple(sorted({part.site for part in self.parts}))

    @property
    def sliced(self) -> bool:
        """Whether windows lie in slices: then all sites have to get the same rows in the same batches."""
        return any(isinstance(part, WindowSpec) and part.share is not None for part in self.parts)

    def site_of(self, name: str) -> str:
        """Where a part is."""
        return next(part.site for part in self.parts if part.name == name)

    def streams_at(self, site: str) -> tuple[int, ...]:
        """The streams that arrive at a site."""
        arriving = [part for part in self.parts if isinstance(part, TimeOrderSpec) and part.site == site]
        return tuple(sorted(part.stream for part in arriving if part.stream is not None))

    def links(self) -> list[tuple[str, str]]:
        """The pairs of sites between which packets travel, by direction."""
        found = {
            (self.site_of(edge.sender), self.site_of(edge.receiver))
            for edge in self.edges
            if edge.receiver != RESULTS
        }
        return sorted((one, other) for one, other in found if one != other)


@dataclass(slots=True)
class WiringBuilder:
    """Parts and edges as they are added."""

    parts: list[PartSpec] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, part: PartSpec) -> str:
        """Add a part; its name."""
        self.parts.append(part)
        return part.name

    def connect(self, sender: str, way: str, receiver: str, port: str) -> None:
        """Add an edge."""
        self.edges.append(Edge(sender, way, receiver, port))

    def finish(self, columns: Iterable[str]) -> Wiring:
        """The wiring, without windows that nobody reads and edges to them."""
        read = {part.window for part in self.parts if isinstance(part, ProbeSpec | WindowSideSpec)}
        parts = [part for part in self.parts if not isinstance(part, WindowSpec) or part.name in read]
        names = {part.name for part in parts} | {RESULTS}
        # Windows first: those that read a window are given it when they are built.
        parts.sort(key=lambda part: not isinstance(part, WindowSpec))
        edges = [edge for edge in self.edges if edge.sender in names and edge.receiver in names]
        return Wiring(tuple(parts), tuple(edges), tuple(columns))
