"""The placement that sends least, by trying them all (Zhou et al. 2006, Sect. 4, "Optimal").

The paper does not say which plans are tried. Here: any set of linked streams may be joined at any node, from
two parts that are made there or sent there. Dynamic programming over (set, node):

    best(S, n)  = min over S = A + B of  have(A, n) + have(B, n)
    have(A, n)  = min(best(A, n), min over m of best(A, m) + load(A))

Sets are bit masks, and all splits of a set are tried at once for all nodes. A node without a stream is never
better than the node of some input, so only nodes of streams are tried. Several joins of one place become one
operator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from watersmeet.cost.traffic import Traffic, load
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.sites.placement import Leaf, MJoin, Placement, Tree

Floats = NDArray[np.float64]

# Splits times nodes. Fourteen streams with a node each, the most the paper tried, are below it: seconds.
DEFAULT_SEARCH_STEPS = 100_000_000


def states(traffic: Traffic) -> int:
    """How much there is to try: each stream is in one part, in the other or in neither, for every node."""
    return int(3 ** len(traffic.nodes)) * len(set(traffic.nodes))


def optimal(traffic: Traffic, *, search_steps: int = DEFAULT_SEARCH_STEPS) -> Placement:
    """The cheapest placement; of equal ones always the same.

    Args:
        traffic: Streams and how they join.
        search_steps: Refuse when there are more states to try. Ask `states` beforehand to fall back on a
            heuristic.

    >>> from watersmeet.cost.traffic import Feed, one_attribute
    >>> plan = optimal(one_attribute([Feed(5, 50, node=0), Feed(9, 90, node=1), Feed(2, 20, node=2)], 0.001))
    >>> print(plan.tree, round(plan.cost, 6))
    ((S2 S0)@0 S1)@1 2.2
    """
    if states(traffic) > search_steps:
        raise InvalidQuery(
            f"{len(traffic.nodes)} streams are too many to try every placement",
            f"there are {states(traffic)} states, and {search_steps} are allowed.",
            "use stream_join_opt, or raise search_steps.",
        )
    table = _Table(traffic)
    everything = len(table.loads) - 1
    node = int(np.argmin(table.best[everything]))
    return Placement(table.tree(everything, node), float(table.best[everything, node]))


class _Table:
    """The best cost of every set at every node, and how it comes about."""

    def __init__(self, traffic: Traffic) -> None:
        self.streams = traffic.nodes
        self.nodes = sorted(set(traffic.nodes))
        count = 1 << len(traffic.nodes)
        # Sets that no predicates hold together are never made.
        self.best: Floats = np.full((count, len(self.nodes)), np.inf)
        self.have: Floats = np.full((count, len(self.nodes)), np.inf)
        self.loads: Floats = np.full(count, np.inf)
        for stream, node in enumerate(traffic.nodes):
            self.best[1 << stream, self.nodes.index(node)] = 0.0
        for mask in range(1, count):
            members = _members(mask)
            if len(members) > 1:
                if not self._connected(traffic, mask, members):
                    continue
                self.best[mask] = self._costs(mask)[1].min(axis=0)
            self.loads[mask] = load(traffic, frozenset(members))
            self.have[mask] = np.minimum(self.best[mask], self.best[mask].min() + self.loads[mask])

    def _connected(self, traffic: Traffic, mask: int, members: list[int]) -> bool:
        """Some stream can be taken from every connected set so that the rest stays connected."""
        return any(
            np.isfinite(self.loads[mask ^ 1 << stream])
            and traffic.linked(frozenset(members) - {stream}, frozenset({stream}))
            for stream in members
        )

    def _costs(self, mask: int) -> tuple[NDArray[np.int64], Floats]:
        """All splits of a set by the part with its first stream, and their cost per node."""
        first, *others = _members(mask)
        parts = np.array([1 << first], dtype=np.int64)
        for stream in others:
            parts = np.concatenate([parts, parts | 1 << stream])
        parts = parts[:-1]
        return parts, self.have[parts] + self.have[mask ^ parts]

    def tree(self, mask: int, node: int) -> Tree:
        """The plan that makes a set at a node."""
        if mask & (mask - 1) == 0:
            stream = mask.bit_length() - 1
            return Leaf(stream, self.streams[stream])
        here, sent = self._inputs(mask, node)
        # Input that costs nothing to send may all come from elsewhere: then the heaviest need not be sent.
        last = max(here or sent, key=lambda part: self.loads[_mask(part)])
        return MJoin((*(part for part in [*sent, *here] if part is not last), last))

    def _inputs(self, mask: int, node: int) -> tuple[list[Tree], list[Tree]]:
        """What a join takes: what is at its node, and what is sent there."""
        parts, costs = self._costs(mask)
        part = int(parts[np.argmin(costs[:, node])])
        here: list[Tree] = []
        sent: list[Tree] = []
        for piece in (part, mask ^ part):
            if self.best[piece, node] > self.have[piece, node]:
                sent.append(self.tree(piece, int(np.argmin(self.best[piece]))))
            elif piece & (piece - 1) == 0:
                here.append(self.tree(piece, node))
            else:
                more_here, more_sent = self._inputs(piece, node)
                here += more_here
                sent += more_sent
        return here, sent


def _members(mask: int) -> list[int]:
    return [stream for stream in range(mask.bit_length()) if mask >> stream & 1]


def _mask(part: Tree) -> int:
    return sum(1 << stream for stream in part.streams)
