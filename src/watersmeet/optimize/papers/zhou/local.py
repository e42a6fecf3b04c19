"""The heuristic without its first thought: what can be joined in one place is (Zhou et al. 2006, Sect. 4.1).

A baseline that shows what step 1 of Algorithm 1 is worth: here joins that give more than they take are
evaluated early too, and more has to be sent.
"""

from __future__ import annotations

from watersmeet.cost.traffic import Traffic
from watersmeet.optimize.sites.placement import Placement, Tree, joined_at_last, leaves
from watersmeet.optimize.sites.stream_join_opt import place_rest


def local(traffic: Traffic) -> Placement:
    """One join per node and group of linked streams there, the rest as the heuristic does it.

    >>> from watersmeet.cost.traffic import Feed, one_attribute
    >>> plan = local(one_attribute([Feed(5, 50, node=0), Feed(9, 90, node=0), Feed(2, 20, node=1)], 0.5))
    >>> print(plan.tree, plan.cost)
    (S2 (S0 S1)@0)@0 2.0
    """
    return place_rest(traffic, local_joins(traffic))


def local_joins(traffic: Traffic) -> list[Tree]:
    """The streams, with all joins that can be evaluated in one place."""
    groups: list[list[Tree]] = []
    for leaf in leaves(traffic):
        # A stream may link groups that had nothing in common so far.
        touching = [group for group in groups if any(_together(traffic, leaf, part) for part in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([*(part for group in touching for part in group), leaf])
    return [joined_at_last(sorted(group, key=lambda part: min(part.streams))) for group in groups]


def _together(traffic: Traffic, one: Tree, other: Tree) -> bool:
    return one.node == other.node and traffic.linked(one.streams, other.streams)
