"""Streams on one attribute whose values are put into groups, each with a plan of its own (Sect. 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from watersmeet.cost.traffic import Feed, ValueTraffic
from watersmeet.optimize.sites.partition.by_hash import by_hash
from watersmeet.optimize.sites.partition.by_range import by_range
from watersmeet.optimize.sites.partition.by_rate import by_rate
from watersmeet.optimize.sites.partition.groups import Groups
from watersmeet.optimize.sites.placement import operators
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt
from watersmeet.sim.distribution import Floats
from watersmeet_lab.pmjoin.tabled import Products, TabledTraffic
from watersmeet_lab.pmjoin.workload import HotSpots, Likeness, Windows, frequencies, spans

VALUES = 1000
RATES = (10, 1000)

# Groups of the values in a table of rates. As in the paper, values that rank streams alike are spread.
Partitioner = Callable[[Floats, int], Groups]
PARTITIONERS: Mapping[str, Partitioner] = {
    "hash": lambda rates, groups: by_hash(rates.shape[1], groups),
    "range": lambda rates, groups: by_range(rates.shape[1], groups),
    "rate": lambda rates, groups: by_rate(rates, groups, mode="paper"),
}


@dataclass(frozen=True, slots=True)
class Routed:
    """Tuples per second that a plan has to route.

    Attributes:
        sent: Those that go to another node.
        stay: Sources' tuples and intermediate results that are joined where they are.
    """

    sent: float = 0.0
    stay: float = 0.0

    def __add__(self, other: Routed) -> Routed:
        return Routed(self.sent + other.sent, self.stay + other.stay)

    @property
    def looked_up(self) -> float:
        """All for which a way has to be found; results of the whole join need none."""
        return self.sent + self.stay


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Streams of the experiments, each at its own node.

    Attributes:
        traffic: Rates per value.
        products: The same, ready for groups.
        known: What was routed in groups that were planned before; single values come up again and again.
    """

    traffic: ValueTraffic
    products: Products
    known: dict[tuple[int, ...], Routed] = field(default_factory=dict)

    def routed(self, partitioner: str, groups: int) -> Routed:
        """What is routed with so many groups."""
        return self.in_groups(PARTITIONERS[partitioner](self.traffic.rates, groups))

    def in_groups(self, groups: Groups) -> Routed:
        """What is routed with these groups, each planned by Algorithm 1."""
        new = [values for values in groups if values not in self.known]
        for values, part in zip(new, self.products.split(new), strict=True):
            self.known[values] = planned(part)
        return sum((self.known[values] for values in groups), Routed())


def planned(traffic: TabledTraffic) -> Routed:
    """What Algorithm 1 routes."""
    plan = stream_join_opt(traffic)
    inputs = [part for join in operators(plan.tree) for part in join.inputs]
    everything = sum(traffic.joined(part.streams).rate for part in inputs)
    return Routed(plan.cost, everything - plan.cost)


def workload(
    streams: int,
    most: int,
    likeness: Likeness,
    hot_spots: HotSpots,
    windows: Windows,
    rng: np.random.Generator,
    values: int = VALUES,
) -> Workload:
    """The first of some streams; with more of them, the first stay as they are."""
    lengths, rates = spans(most, rng, windows), rng.uniform(*RATES, most)
    feeds = [Feed.timed(rates[node], lengths[node], node) for node in range(streams)]
    traffic = ValueTraffic.spread(feeds, frequencies(most, values, likeness, rng, hot_spots)[:streams])
    return Workload(traffic, Products.of(traffic, lengths[:streams]))
