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
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from watersmeet.cost.attribute_traffic import AttributeTraffic
from watersmeet.cost.traffic import Flow, Sizes, load
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.papers.zhou.pmjoin import Planner
from watersmeet.optimize.sites.partition.find_partition import Candidate
from watersmeet.optimize.sites.partition.groups import Groups, require_partition
from watersmeet.optimize.sites.placement import Leaf, Tree
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt


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

    >>> import numpy as np
    >>> from watersmeet.cost.attribute_traffic import SharedAttribute
    >>> from watersmeet.cost.traffic import Feed
    >>> x = SharedAttribute({0: np.array([0.75, 0.25]), 1: np.array([0.25, 0.75])})
    >>> traffic = AttributeTraffic((Feed(10, 1, node=0), Feed(10, 1, node=1)), {"x": x})
    >>> from watersmeet.optimize.sites.partition.find_partition import find_partition
    >>> from watersmeet.optimize.sites.placement import MJoin
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
