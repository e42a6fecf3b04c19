"""Where whole joins run, so that least is sent (Zhou et al. 2006, Sect. 3.2), for links that differ.

Algorithm 1 of the paper takes all links to be alike. Here its plan is one candidate. The other, where there
are few enough inputs, is the cheapest of all: dynamic programming over sets of inputs and sites,

    best(S, n)  = min over S = A + B of  have(A, n) + have(B, n)
    have(A, n)  = min over m of best(A, m) + what sending A from m to n costs
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from watersmeet.cost.site_bytes import Sent
from watersmeet.cost.traffic import Flow, Sizes
from watersmeet.optimize.sites.key_groups import Streams
from watersmeet.optimize.sites.placement import Leaf
from watersmeet.optimize.sites.placement import Tree as Placed
from watersmeet.optimize.sites.problem import SiteProblem
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt
from watersmeet.plan.sites.placed import At, Input, JoinAt, Tree

# Pairs of a split and a site that are looked at; eight inputs at eight sites.
_MOST_SPLITS = 60_000

# What a join of some inputs, by their numbers, sends on.
Loads = Callable[[frozenset[int]], Sent]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is joined: streams or results of joins, each at one site.

    Attributes:
        problem: The streams and sites they belong to.
        streams: Per input the streams below.
        sites: Per input where it is.
        leaves: Per input how it appears in a plan.
        load: What a join of some of them sends on.
    """

    problem: SiteProblem
    streams: tuple[Streams, ...]
    sites: tuple[str, ...]
    leaves: tuple[Tree | Input, ...]
    load: Loads

    @property
    def nodes(self) -> tuple[int, ...]:
        """Sites by number, for Algorithm 1."""
        return tuple(self.problem.places.index(site) for site in self.sites)

    @property
    def sizes(self) -> Sizes:
        """Loads are in bytes already."""
        return "flat"

    def joined(self, streams: frozenset[int]) -> Flow:
        """What a join sends on, in the place of its rate."""
        return Flow(self.load(streams).bytes, 0.0)

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        """Whether something links two sets of inputs."""
        return self.problem.linked(self.below(left), self.below(right))

    def below(self, numbers: frozenset[int]) -> Streams:
        """The streams below some inputs."""
        return frozenset[int]().union(*(self.streams[number] for number in numbers))


def streams_as_inputs(problem: SiteProblem) -> Inputs:
    """All streams where they arrive."""
    count = range(len(problem.query.streams))
    known: dict[frozenset[int], Sent] = {}

    def load(numbers: frozenset[int]) -> Sent:
        if numbers not in known:
            known[numbers] = problem.shipped(numbers)
        return known[numbers]

    return Inputs(
        problem, tuple(frozenset({s}) for s in count), problem.sites, tuple(At(s) for s in count), load
    )


def place(inputs: Inputs, *, exact: bool = True) -> tuple[JoinAt, float] | None:
    """A good plan of joins and what it costs; None if links are missing.

    Args:
        inputs: What is joined.
        exact: Whether to look for the cheapest of all, if that is not too much.
    """
    found = []
    if not exact or not _few(inputs):
        tree = _from_paper(inputs, stream_join_opt(inputs if is_connected(inputs) else _Crossed(inputs)).tree)
        found.append((tree, placed_cost(inputs, tree)))
    if exact and _few(inputs):
        found.append(_cheapest(inputs))
    best = min(found, key=lambda plan: plan[1])
    return None if best[1] == math.inf else best


def placed_cost(inputs: Inputs, tree: JoinAt) -> float:
    """What a plan of joins sends between sites."""
    cost = 0.0

    def visit(part: JoinAt | Tree | Input) -> tuple[frozenset[int], str]:
        nonlocal cost
        if part in inputs.leaves:
            number = inputs.leaves.index(part)
            return frozenset({number}), inputs.sites[number]
        assert isinstance(part, JoinAt), "a plan has joins above its inputs"
        below = [visit(child) for child in part.inputs]
        cost += sum(inputs.problem.moving(inputs.load(numbers), site, part.site) for numbers, site in below)
        return frozenset[int]().union(*(numbers for numbers, _ in below)), part.site

    visit(tree)
    return cost


def everything_at(problem: SiteProblem, site: str) -> JoinAt:
    """All streams joined at one site."""
    return JoinAt(tuple(At(stream) for stream in range(len(problem.query.streams))), site)


def _few(inputs: Inputs) -> bool:
    return int(3 ** len(inputs.sites)) * len(set(inputs.sites)) <= _MOST_SPLITS


def _cheapest(inputs: Inputs) -> tuple[JoinAt, float]:
    """Dynamic programming over sets and sites."""
    problem, count = inputs.problem, len(inputs.sites)
    sites = list(dict.fromkeys(inputs.sites))
    whole = (1 << count) - 1
    best: dict[int, dict[str, tuple[float, JoinAt | Tree | Input]]] = {}
    have: dict[int, dict[str, tuple[float, JoinAt | Tree | Input]]] = {}
    for mask in range(1, whole + 1):
        numbers = frozenset(n for n in range(count) if mask >> n & 1)
        if len(numbers) == 1:
            (only,) = numbers
            best[mask] = {inputs.sites[only]: (0.0, inputs.leaves[only])}
        else:
            best[mask] = {site: plan for site in sites if (plan := _joined(mask, site, have)) is not None}
        if mask == whole:
            break
        sent = inputs.load(numbers)
        have[mask] = {}
        for site in sites:
            ways = [
                (cost + problem.moving(sent, made, site), made != site, n, tree)
                for n, (made, (cost, tree)) in enumerate(best[mask].items())
            ]
            if ways:
                cost, _, _, tree = min(ways, key=lambda way: way[:3])
                have[mask][site] = (cost, tree)
    ends = [(cost, n, tree) for n, (cost, tree) in enumerate(best[whole].values())]
    cost, _, tree = min(ends, key=lambda end: end[:2])
    assert isinstance(tree, JoinAt), "there is more than one input"
    return tree, cost


def _joined(
    mask: int, site: str, have: dict[int, dict[str, tuple[float, JoinAt | Tree | Input]]]
) -> tuple[float, JoinAt] | None:
    """The cheapest way to make a set at a site."""
    found: tuple[float, int] | None = None
    for part in _parts(mask):
        if site in have.get(part, {}) and site in have.get(mask ^ part, {}):
            cost = have[part][site][0] + have[mask ^ part][site][0]
            if found is None or cost < found[0]:
                found = cost, part
    if found is None:
        return None
    pieces = [have[part][site][1] for part in (found[1], mask ^ found[1])]
    return found[0], _together(pieces, site)


def _parts(mask: int) -> Iterator[int]:
    """Every part of a set that has its first member, but for the set itself."""
    rest = mask & (mask - 1)
    part = rest
    while part:
        part = (part - 1) & rest
        yield part | (mask & -mask)


def _together(pieces: Sequence[JoinAt | Tree | Input], site: str) -> JoinAt:
    """A join at a site; joins of the same site below it become part of it."""
    inputs: list[Tree | Input] = []
    for piece in pieces:
        inputs += piece.inputs if isinstance(piece, JoinAt) and piece.site == site else [piece]
    return JoinAt(tuple(inputs), site)


def _from_paper(inputs: Inputs, tree: Placed) -> JoinAt:
    """A plan of the paper's algorithm, whose nodes are numbers."""
    assert not isinstance(tree, Leaf), "there is more than one input"
    pieces = [inputs.leaves[p.stream] if isinstance(p, Leaf) else _from_paper(inputs, p) for p in tree.inputs]
    return _together(pieces, inputs.problem.places[tree.node])


@dataclass(frozen=True, slots=True)
class _Crossed:
    """Inputs of which some are linked by nothing: any two may meet."""

    inputs: Inputs

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.inputs.nodes

    @property
    def sizes(self) -> Sizes:
        return "flat"

    def joined(self, streams: frozenset[int]) -> Flow:
        return self.inputs.joined(streams)

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        return bool(left and right)


def is_connected(inputs: Inputs) -> bool:
    """Whether a chain of conditions links all inputs."""
    reached, count = frozenset({0}), len(inputs.sites)
    while more := [n for n in range(count) if n not in reached and inputs.linked(reached, frozenset({n}))]:
        reached |= frozenset(more)
    return len(reached) == count
