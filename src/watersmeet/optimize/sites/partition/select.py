"""Which of the possible PMJoins are used (Zhou et al. 2006, Sect. 3.3).

An input of a PMJoin must be at one node, and the result of a PMJoin is not: where one feeds another only one
of them can be used. The paper takes the one with the fastest inputs, which has most to gain, and turns the
one above it back into ordinary joins. The ones below have to go too: otherwise they would stay when the one
above was taken first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from watersmeet.cost.traffic import Traffic
from watersmeet.optimize.sites.partition.find_partition import Candidate


def select(candidates: Sequence[Candidate], traffic: Traffic) -> tuple[Candidate, ...]:
    """Those with the fastest inputs; equally fast ones as they were found.

    >>> from watersmeet.cost.traffic import Feed, one_attribute
    >>> from watersmeet.optimize.sites.partition.find_partition import find_partition
    >>> from watersmeet.optimize.sites.placement import Leaf, MJoin
    >>> plan = MJoin((MJoin((Leaf(0, node=0), Leaf(1, node=1))), Leaf(2, node=2)))
    >>> candidates = find_partition(plan, {frozenset({0, 1}): "x", frozenset({1, 2}): "y"})
    >>> rates = one_attribute([Feed(9, 1, node=0), Feed(5, 1, node=1), Feed(1, 1, node=2)], match_prob=0.1)
    >>> [candidate.attribute for candidate in select(candidates, rates)]
    ['x']
    """
    return compatible(sorted(candidates, key=lambda candidate: -input_rate(candidate, traffic)))


def input_rate(candidate: Candidate, traffic: Traffic) -> float:
    """How many tuples arrive at a candidate per time unit, from all its inputs."""
    return sum(traffic.joined(part.streams).rate for part in candidate.inputs)


def compatible(ordered: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Each in turn, unless it feeds one that was taken before or is fed by it."""
    taken: list[Candidate] = []
    for candidate in ordered:
        if not any(_feeds(candidate, other) or _feeds(other, candidate) for other in taken):
            taken.append(candidate)
    return tuple(taken)


def _feeds(lower: Candidate, upper: Candidate) -> bool:
    return any(part.streams == lower.streams for part in upper.inputs)
