"""The heuristic placement of Zhou et al. 2006 (Sect. 3.2, Algorithm 1), with about n^2 estimates.

1. At every node, joins that give less than either input are evaluated at once: less has to be sent away.
2. The slowest stream starts a set of pending ones. Another stream s is added, the one that costs least:
   * either the pending ones are sent to s and joined there, and the result may have to be sent on;
   * or s is sent away with them, to a place found later.
   After the first, the result is a stream like any other, and the next round starts.

The printed algorithm needs a few repairs. In step 1 a pair must share a predicate, and a result takes its
place in the order of rates before the next pair is looked for. In step 2 the stream that was chosen, not the
last one looked at, decides the place and leaves the set. When one stream is left there is no third place, so
the pending ones go there, even where waiting would look cheaper. And the cost of a plan counts only what is
sent: the result that "may have to be sent on" guides the choice and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from watersmeet.cost.traffic import Traffic, load
from watersmeet.optimize.sites.placement import MJoin, Placement, Tree, leaves

Load = Callable[[frozenset[int]], float]

# Streams of equal rates make ties, and the last digits of a rate differ between processors.
_DIGITS = 12


class Option(NamedTuple):
    """A stream that could be added to the pending ones; the least is the best.

    Attributes:
        cost: What it may cost to send (eq. 4).
        first: Its smallest stream number, so that ties have one answer.
        waits: Whether the place is left open (case 2) or is the stream's node (case 1).
        part: The stream.
    """

    cost: float
    first: int
    waits: bool
    part: Tree


def stream_join_opt(traffic: Traffic) -> Placement:
    """A good placement, found quickly.

    >>> from watersmeet.cost.traffic import Feed, GraphTraffic
    >>> feeds = (Feed(1, 10, node=0), Feed(5, 50, node=1), Feed(9, 90, node=2))
    >>> chain = GraphTraffic(feeds, {frozenset({0, 1}): 0.001, frozenset({1, 2}): 0.001})
    >>> plan = stream_join_opt(chain)
    >>> print(plan.tree, round(plan.cost, 6))
    ((S0 S1)@1 S2)@2 1.1
    """
    return place_rest(traffic, reducing_joins(traffic))


def _weights(traffic: Traffic) -> Load:
    """What it costs to send a join of streams, in so many digits that ties are ties everywhere."""
    return cache(lambda streams: float(f"{load(traffic, streams):.{_DIGITS}g}"))


def reducing_joins(traffic: Traffic) -> list[Tree]:
    """Step 1: the streams, with joins in one place that give less than either input."""
    weight = _weights(traffic)

    def order(part: Tree) -> tuple[float, int]:
        return weight(part.streams), min(part.streams)

    def first_pair(parts: Sequence[Tree]) -> tuple[Tree, Tree] | None:
        for left, right in combinations(parts, 2):
            together = left.node == right.node and traffic.linked(left.streams, right.streams)
            # The left one is the slower of the two.
            if together and weight(left.streams | right.streams) < weight(left.streams):
                return left, right
        return None

    parts = sorted(leaves(traffic), key=order)
    while pair := first_pair(parts):
        parts = sorted([*(part for part in parts if part not in pair), MJoin(pair)], key=order)
    return parts


def place_rest(traffic: Traffic, parts: Sequence[Tree]) -> Placement:
    """Step 2: one plan of parts that are placed already."""
    weight = _weights(traffic)
    rest = list(parts)
    cost = 0.0
    while len(rest) > 1:
        pending = [min(rest, key=lambda part: (weight(part.streams), min(part.streams)))]
        rest.remove(pending[0])
        waits = True
        while waits:
            _, _, waits, chosen = min(options(traffic, pending, rest, weight))
            pending.append(chosen)
            rest.remove(chosen)
        cost += sum(weight(part.streams) for part in pending if part.node != pending[-1].node)
        rest.append(MJoin(tuple(pending)))
    return Placement(rest[0], cost)


def options(
    traffic: Traffic, pending: Sequence[Tree], rest: Sequence[Tree], weight: Load | None = None
) -> list[Option]:
    """What adding each stream to the pending ones may cost (eq. 4)."""
    weight = weight or _weights(traffic)
    gathered = frozenset[int]().union(*(part.streams for part in pending))
    found = []
    for part in rest:
        if not traffic.linked(gathered, part.streams):
            continue
        sent = sum(weight(other.streams) for other in pending if other.node != part.node)
        here = sent + weight(gathered | part.streams)
        away = sum(weight(other.streams) for other in pending) + weight(part.streams)
        waits = away < here and len(rest) > 1
        found.append(Option(away if waits else here, min(part.streams), waits, part))
    return found
