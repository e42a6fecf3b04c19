r"""What a plan sends when some of its operators are split by value (Zhou et al. 2006, Sect. 3.3 and 4.3).

A join on several attributes is planned as a whole. Some operators of the plan are then run as PMJoins, which
have a plan of their own for every group of values of their attribute; the others stay as they are.

           join at node 2
          /              \            The result of the PMJoin comes about at nodes 0 and 1, group by
     PMJoin on x          c @2        group. The join above sends for both parts; had one come about at
    /     |     \                     node 2, it would not have to be sent.
  a @0   b @1   join at node 0
                   /   \              Inputs of a PMJoin are each at one node, here 0, 1 and 0, as
                 d @1   e @0          streams are.

What an operator below gives, value by value, follows from its streams: those with the attribute that share
a value. Attributes are taken to be independent of one another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from watersmeet.cost.communication import load
from watersmeet.cost.traffic import Feed, Flow, Sizes, require_known
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.partition.find_partition import Attributes, Candidate
from watersmeet.optimize.partition.groups import Groups, require_partition
from watersmeet.optimize.partition.pmjoin import Planner
from watersmeet.optimize.placement.plan import Leaf, Tree
from watersmeet.optimize.placement.stream_join_opt import stream_join_opt

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SharedAttribute:
    """An attribute that some streams are joined on, and how often its values occur in each of them.

    Attributes:
        frequencies: Per stream the share of its tuples that have each value.
    """

    frequencies: Mapping[int, Floats]
    _known: dict[frozenset[int], float] = field(default_factory=dict)

    def match_prob(self, streams: frozenset[int]) -> float:
        """Probability that one tuple of each stream have the same value, and that it is one of these."""
        members = streams.intersection(self.frequencies)
        if not members:
            return 1.0
        if members not in self._known:
            self._known[members] = float(self.together(members).sum())
        return self._known[members]

    def together(self, streams: frozenset[int]) -> Floats:
        """The same value by value."""
        rows = [self.frequencies[stream] for stream in sorted(streams.intersection(self.frequencies))]
        return np.asarray(np.prod(rows, axis=0))

    def only(self, values: Sequence[int]) -> SharedAttribute:
        """The substreams of some values."""
        chosen = list(values)
        return SharedAttribute({stream: row[chosen] for stream, row in self.frequencies.items()})


@dataclass(frozen=True, slots=True, eq=False)
class AttributeTraffic:
    """Streams joined on several attributes, each with uneven values.

    Attributes:
        feeds: The streams.
        attributes: What they are joined on, by name.
        sizes: How long a result is.

    >>> feeds = (Feed(8, 16, node=0), Feed(4, 4, node=1))
    >>> x = SharedAttribute({0: np.array([0.75, 0.25]), 1: np.array([0.5, 0.5])})
    >>> two = AttributeTraffic(feeds, {"x": x})
    >>> two.joined(frozenset({0, 1})).rate, two.only("x", [1]).joined(frozenset({0, 1})).rate
    (48.0, 12.0)
    """

    feeds: tuple[Feed, ...]
    attributes: Mapping[str, SharedAttribute]
    sizes: Sizes = "flat"

    def __post_init__(self) -> None:
        """Refuse streams that are not there and values that do not fit."""
        for name, attribute in self.attributes.items():
            require_known(frozenset(attribute.frequencies), len(self.feeds))
            if len({len(row) for row in attribute.frequencies.values()}) != 1:
                raise InvalidQuery(
                    f'streams do not have the same values of attribute "{name}"',
                    hint="give all of them one frequency for each value.",
                )

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of every stream."""
        return tuple(feed.node for feed in self.feeds)

    @property
    def edges(self) -> Attributes:
        """The predicates, for `find_partition`."""
        return {frozenset(attribute.frequencies): name for name, attribute in self.attributes.items()}

    def joined(self, streams: frozenset[int]) -> Flow:
        """Rate and window of the join of some streams."""
        require_known(streams, len(self.feeds))
        rate, window = 0.0, 1.0
        for stream in sorted(streams):
            feed = self.feeds[stream]
            rate, window = rate * feed.window + feed.rate * window, window * feed.window
        match = 1.0
        for attribute in self.attributes.values():
            match *= attribute.match_prob(streams)
        return Flow(match * rate, match * window)

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        """Whether an attribute has streams on both sides."""
        return any(
            not (left.isdisjoint(attribute.frequencies) or right.isdisjoint(attribute.frequencies))
            for attribute in self.attributes.values()
        )

    def only(self, name: str, values: Sequence[int]) -> AttributeTraffic:
        """What is left when one attribute has some of its values; what is known of the others is kept."""
        return AttributeTraffic(
            self.feeds, {**self.attributes, name: self.attributes[name].only(values)}, self.sizes
        )

    def value_rates(self, name: str, parts: Sequence[frozenset[int]]) -> Floats:
        """Rates per value of an attribute: a row for each join of some streams, a column for each value."""
        attribute = self.attributes[name]
        rows = []
        for streams in parts:
            whole = attribute.match_prob(streams)
            share = attribute.together(streams) / whole if whole else attribute.together(streams)
            rows.append(self.joined(streams).rate * share)
        return np.array(rows)


@dataclass(frozen=True, slots=True)
class Mixed:
    """What a plan of joins and PMJoins sends.

    Attributes:
        cost: Tuples sent between nodes per time unit, or as many bytes as `sizes` makes of them.
        results: Where the result comes about: as much of it, likewise, at each node.
    """

    cost: float
    results: Mapping[int, float]


def mixed(
    tree: Tree,
    pmjoins: Mapping[Candidate, Groups],
    traffic: AttributeTraffic,
    planner: Planner = stream_join_opt,
) -> Mixed:
    """Cost of a plan some of whose operators are PMJoins.

    Args:
        tree: The plan before anything was split.
        pmjoins: Which of the candidates found in it are split, and by which groups of values.
        traffic: Streams and how they join.
        planner: Plans each group.

    >>> x = SharedAttribute({0: np.array([0.75, 0.25]), 1: np.array([0.25, 0.75])})
    >>> traffic = AttributeTraffic((Feed(10, 1, node=0), Feed(10, 1, node=1)), {"x": x})
    >>> from watersmeet.optimize.partition.find_partition import find_partition
    >>> from watersmeet.optimize.placement.plan import MJoin
    >>> plan = MJoin((Leaf(0, node=0), Leaf(1, node=1)))
    >>> (candidate,) = find_partition(plan, traffic.edges)
    >>> mixed(plan, {}, traffic)
    Mixed(cost=10.0, results={1: 7.5})
    >>> mixed(plan, {candidate: ((0,), (1,))}, traffic)
    Mixed(cost=5.0, results={0: 3.75, 1: 3.75})
    """
    split = {candidate.streams: candidate for candidate in pmjoins}
    for candidate, groups in pmjoins.items():
        values = next(iter(traffic.attributes[candidate.attribute].frequencies.values()))
        require_partition(groups, len(values))

    def evaluated(part: Tree) -> Mixed:
        if isinstance(part, Leaf):
            return Mixed(0.0, {part.node: load(traffic, part.streams)})
        if part.streams in split:
            return split_by_value(split[part.streams])
        if part.inputs[-1].streams in split:
            raise InvalidQuery(
                "a PMJoin is the right-most input of a join",
                f"its result, of streams {sorted(part.inputs[-1].streams)}, is at several nodes.",
                "take candidates that find_partition found in this plan.",
            )
        below = [evaluated(child) for child in part.inputs]
        # The join is at one node; of every input it has to be sent what is elsewhere.
        sent = sum(amount for given in below for node, amount in given.results.items() if node != part.node)
        cost = sent + sum(given.cost for given in below)
        return Mixed(cost, {part.node: load(traffic, part.streams)})

    def split_by_value(candidate: Candidate) -> Mixed:
        fed = [child.streams for child in candidate.inputs if child.streams in split]
        if fed:
            raise InvalidQuery(
                "a PMJoin feeds another",
                f"the one of streams {sorted(fed[0])} has its result at several nodes.",
                "use one of the functions in select.",
            )
        cost = sum(evaluated(child).cost for child in candidate.inputs)
        results: dict[int, float] = defaultdict(float)
        for values in pmjoins[candidate]:
            group = _Inputs(traffic.only(candidate.attribute, values), candidate.inputs)
            placement = planner(group)
            cost += placement.cost
            results[placement.tree.node] += load(group.traffic, candidate.streams)
        return Mixed(cost, dict(results))

    return evaluated(tree)


@dataclass(frozen=True, slots=True, eq=False)
class _Inputs:
    """The inputs of a PMJoin in the place of streams, numbered as they come."""

    traffic: AttributeTraffic
    inputs: tuple[Tree, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(part.node for part in self.inputs)

    @property
    def sizes(self) -> Sizes:
        # A result is as long as its streams, not as its inputs: `joined` has counted them.
        return "flat"

    def joined(self, streams: frozenset[int]) -> Flow:
        below = self._below(streams)
        size = len(below) if self.traffic.sizes == "grow" else 1
        flow = self.traffic.joined(below)
        return Flow(size * flow.rate, flow.window)

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        return self.traffic.linked(self._below(left), self._below(right))

    def _below(self, numbers: frozenset[int]) -> frozenset[int]:
        return frozenset[int]().union(*(self.inputs[number].streams for number in numbers))
