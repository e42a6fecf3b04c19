"""Everything is sent to one place: the node of the fastest stream (Zhou et al. 2006, Sect. 4, "Simple")."""

from __future__ import annotations

from watersmeet.cost.traffic import Traffic, load
from watersmeet.optimize.sites.placement import Placement, joined_at_last, leaves


def simple(traffic: Traffic) -> Placement:
    """One join at the fastest stream, of equally fast ones the first; streams that are there stay.

    >>> from watersmeet.cost.traffic import Feed, one_attribute
    >>> plan = simple(one_attribute([Feed(5, 50, node=0), Feed(9, 90, node=1), Feed(2, 20, node=1)], 0.1))
    >>> print(plan.tree, plan.cost)
    (S0 S2 S1)@1 5.0
    """
    parts = leaves(traffic)
    fastest = max(parts, key=lambda part: traffic.joined(part.streams).rate)
    others = [part for part in parts if part is not fastest]
    cost = sum(load(traffic, part.streams) for part in others if part.node != fastest.node)
    return Placement(joined_at_last([*others, fastest]), cost)
