"""How many tuples a placed join sends between nodes (Zhou et al. 2006, Sect. 3.2).

Streams arrive at nodes of a network and only what is sent from one node to another counts. What has to be
known is how fast the result of joining any set of streams comes. Two inputs whose tuples match with
probability f join to (eq. 2 and 3)

    rate = f (rate_1 window_2 + rate_2 window_1)        window = f window_1 window_2

with windows in tuples. Applied again and again this does not depend on the order: for a set S

    rate(S) = F(S) sum_i rate_i prod_{j != i} window_j        window(S) = F(S) prod_i window_i

What differs is F, the probability that one tuple of each stream match:

* predicates on different attributes: the product of the edges inside S;
* one attribute with values used evenly: f^(|S| - 1). The predicates follow from one another, so one f per
  edge would count some of them twice;
* one attribute with values used unevenly: no F at all. The formulas hold value by value with f = 1, and the
  results are added up. A product of pairwise probabilities would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from watersmeet.errors import InvalidQuery

# Every tuple costs the same (the paper's experiments), or a result is as long as its inputs together
# (Example 1 of the paper).
Sizes = Literal["flat", "grow"]


@dataclass(frozen=True, slots=True)
class Feed:
    """A stream as the network sees it.

    Attributes:
        rate: Tuples per time unit.
        window: Tuples in its window, on average.
        node: Where it arrives.
    """

    rate: float
    window: float
    node: int

    def __post_init__(self) -> None:
        """Refuse what cannot be counted."""
        _require_amounts("rate", (self.rate,))
        _require_amounts("window", (self.window,))
        _require_nodes((self.node,))

    @classmethod
    def timed(cls, rate: float, span: float, node: int) -> Feed:
        """A stream with a window of time.

        >>> Feed.timed(rate=10, span=5, node=0)
        Feed(rate=10, window=50, node=0)
        """
        return cls(rate, rate * span, node)


@dataclass(frozen=True, slots=True)
class Flow:
    """Rate and window of a stream or of a join result, in tuples."""

    rate: float
    window: float


class Traffic(Protocol):
    """What planning a placement needs to know. Streams are numbered from 0."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of every stream."""

    @property
    def sizes(self) -> Sizes:
        """How long a result is."""

    def joined(self, streams: frozenset[int]) -> Flow:
        """Rate and window of the join of some streams."""

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        """Whether a predicate connects two sets of streams."""


def load(traffic: Traffic, streams: frozenset[int]) -> float:
    """What sending the join of some streams to another node costs."""
    return traffic.joined(streams).rate * (len(streams) if traffic.sizes == "grow" else 1)


@dataclass(frozen=True, slots=True)
class GraphTraffic:
    """Streams and a join graph.

    Attributes:
        feeds: The streams.
        matches: The probability that a pair matches, per edge. An edge of more than two streams is one
            attribute they all share.
        sizes: How long a result is.

    >>> feeds = (Feed(10, 100, node=0), Feed(35, 350, node=0), Feed(15, 150, node=1))
    >>> chain = GraphTraffic(feeds, {frozenset({0, 1}): 0.01, frozenset({1, 2}): 0.01})
    >>> chain.joined(frozenset({0, 1}))
    Flow(rate=70.0, window=350.0)
    >>> chain.linked(frozenset({0}), frozenset({2}))
    False
    """

    feeds: tuple[Feed, ...]
    matches: Mapping[frozenset[int], float]
    sizes: Sizes = "flat"

    def __post_init__(self) -> None:
        """Refuse a graph that is not one join."""
        _require_nodes(self.nodes)
        everything = frozenset(range(len(self.feeds)))
        for edge, match_prob in self.matches.items():
            if len(edge) < 2 or not edge <= everything:
                raise InvalidQuery(
                    f"edge {sorted(edge)} does not connect streams",
                    f"streams are numbered 0 to {len(self.feeds) - 1}.",
                    "name two streams or more.",
                )
            if not 0 <= match_prob <= 1:
                raise InvalidQuery(
                    f"match probability of edge {sorted(edge)} is not between 0 and 1", f"it is {match_prob}."
                )
        reached = frozenset({0})
        while grown := [edge for edge in self.matches if edge & reached and not edge <= reached]:
            reached = reached.union(*grown)
        if reached != everything:
            raise InvalidQuery(
                "the join graph is not connected",
                f"no edge leads from streams {sorted(reached)} to {sorted(everything - reached)}.",
                "place the parts one by one.",
            )

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of every stream."""
        return tuple(feed.node for feed in self.feeds)

    def joined(self, streams: frozenset[int]) -> Flow:
        """Rate and window of the join of some streams."""
        require_known(streams, len(self.feeds))
        rate, window = 0.0, 1.0
        for stream in sorted(streams):
            feed = self.feeds[stream]
            rate, window = rate * feed.window + feed.rate * window, window * feed.window
        match = prod(f ** (len(e & streams) - 1) for e, f in self.matches.items() if len(e & streams) > 1)
        return Flow(match * rate, match * window)

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        """Whether an edge has streams on both sides."""
        return any(edge & left and edge & right for edge in self.matches)


def one_attribute(feeds: Sequence[Feed], match_prob: float, sizes: Sizes = "flat") -> GraphTraffic:
    """Streams that all share one attribute whose values are used evenly.

    >>> three = one_attribute([Feed(1, 10, node) for node in range(3)], match_prob=0.1)
    >>> round(three.joined(frozenset({0, 1, 2})).window, 9)
    10.0
    """
    edges = {frozenset(range(len(feeds))): match_prob} if len(feeds) > 1 else {}
    return GraphTraffic(tuple(feeds), edges, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class ValueTraffic:
    """Streams that all share one attribute, with rates per value.

    Attributes:
        nodes: The node of every stream.
        rates: Tuples per time unit, one row per stream, one column per value.
        windows: Tuples in the window, likewise.
        sizes: How long a result is.

    >>> rates = np.array([[0.1, 100.0], [0.03, 0.04]])
    >>> routers = ValueTraffic((1, 2), rates, windows=0.5 * rates)
    >>> round(routers.joined(frozenset({0, 1})).rate, 9)
    4.003
    """

    nodes: tuple[int, ...]
    rates: NDArray[np.float64]
    windows: NDArray[np.float64]
    sizes: Sizes = "flat"

    def __post_init__(self) -> None:
        """Refuse tables that do not fit together."""
        _require_nodes(self.nodes)
        for name, table in (("rate", self.rates), ("window", self.windows)):
            if table.ndim != 2 or table.shape != self.rates.shape or len(table) != len(self.nodes):
                raise InvalidQuery(
                    f"the table of {name}s has the wrong shape",
                    f"it is {table.shape} for {len(self.nodes)} streams.",
                    "give it one row per stream and one column per value.",
                )
            usable = np.isfinite(table) & (table >= 0)
            _require_amounts(name, table[~usable].tolist())

    @classmethod
    def spread(
        cls, feeds: Sequence[Feed], frequencies: NDArray[np.float64], sizes: Sizes = "flat"
    ) -> ValueTraffic:
        """Streams and how often each value occurs in them, one row per stream.

        >>> two = ValueTraffic.spread([Feed(8, 16, 0), Feed(4, 4, 1)], np.array([[0.75, 0.25], [0.5, 0.5]]))
        >>> two.rates.tolist()
        [[6.0, 2.0], [2.0, 2.0]]
        """
        rates = np.array([feed.rate for feed in feeds])[:, None] * frequencies
        windows = np.array([feed.window for feed in feeds])[:, None] * frequencies
        return cls(tuple(feed.node for feed in feeds), rates, windows, sizes)

    def only(self, values: Sequence[int]) -> ValueTraffic:
        """The substreams of some values, by their column numbers."""
        chosen = list(values)
        return ValueTraffic(self.nodes, self.rates[:, chosen], self.windows[:, chosen], self.sizes)

    def joined(self, streams: frozenset[int]) -> Flow:
        """Rate and window of the join of some streams, added up over the values."""
        require_known(streams, len(self.nodes))
        rate, window = np.zeros(self.rates.shape[1]), np.ones(self.rates.shape[1])
        for stream in sorted(streams):
            rate = rate * self.windows[stream] + self.rates[stream] * window
            window = window * self.windows[stream]
        return Flow(float(rate.sum()), float(window.sum()))

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        """Any two streams share the attribute."""
        return bool(left and right)


def _require_amounts(name: str, amounts: Iterable[float]) -> None:
    for amount in amounts:
        if not (isfinite(amount) and amount >= 0):
            raise InvalidQuery(f"{name} of a stream is not a number of tuples", f"it is {amount}.")


def _require_nodes(nodes: Sequence[int]) -> None:
    if not nodes:
        raise InvalidQuery("there is no stream to place")
    if min(nodes) < 0:
        raise InvalidQuery(f"there is no node {min(nodes)}", "", "number the nodes from 0.")


def require_known(streams: frozenset[int], count: int) -> None:
    """Refuse streams that are not there."""
    if not streams or min(streams) < 0 or max(streams) >= count:
        raise InvalidQuery(
            f"streams {sorted(streams)} cannot be joined", f"streams are numbered 0 to {count - 1}."
        )
