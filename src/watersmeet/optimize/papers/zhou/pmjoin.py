"""One plan per group of values (Zhou et al. 2006, Sect. 3.3, "PMJoin").

Every node sends a tuple along the plan of its value's group. Values never meet across groups, so the results
of the groups together are the result of the join; they come about at different nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from watersmeet.cost.traffic import Traffic, ValueTraffic
from watersmeet.optimize.sites.partition.groups import Groups, require_partition
from watersmeet.optimize.sites.placement import Placement
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt

Planner = Callable[[Traffic], Placement]


@dataclass(frozen=True, slots=True)
class GroupedPlacement:
    """A placement for each group of values."""

    groups: Groups
    placements: tuple[Placement, ...]

    @property
    def cost(self) -> float:
        """What all groups send between nodes per time unit."""
        return sum(placement.cost for placement in self.placements)


def pmjoin(traffic: ValueTraffic, groups: Groups, planner: Planner = stream_join_opt) -> GroupedPlacement:
    """Plan each group on its own.

    >>> import numpy as np
    >>> rates = np.array([[1.0, 9.0], [9.0, 1.0]])
    >>> two = ValueTraffic((0, 1), rates, windows=rates)
    >>> pmjoin(two, groups=((0, 1),)).cost, pmjoin(two, groups=((0,), (1,))).cost
    (10.0, 2.0)
    """
    require_partition(groups, traffic.rates.shape[1])
    return GroupedPlacement(groups, tuple(planner(traffic.only(values)) for values in groups))
