"""Every optimizer under its name: the one place to add a new one.

Probe orders are chosen for every query. The others plan what needs sites, partitions or a ring of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.budget import Budget
from watersmeet.optimize.order.as_written import as_written
from watersmeet.optimize.order.augmented import augmented
from watersmeet.optimize.order.by_rank import by_rank
from watersmeet.optimize.order.by_size import by_size
from watersmeet.optimize.order.exhaustive import exhaustive
from watersmeet.optimize.order.greedy import greedy
from watersmeet.optimize.order.lazy import lazy
from watersmeet.optimize.order.problem import Sequences
from watersmeet.optimize.partition.by_hash import by_hash
from watersmeet.optimize.partition.by_range import by_range
from watersmeet.optimize.partition.by_rate import by_rate
from watersmeet.optimize.partition.select import select, select_alternative, select_random
from watersmeet.optimize.placement.local import local
from watersmeet.optimize.placement.optimal import optimal
from watersmeet.optimize.placement.simple import simple
from watersmeet.optimize.placement.stream_join_opt import stream_join_opt
from watersmeet.optimize.ring.length import query_length, ring_lengths
from watersmeet.optimize.sites.exhaustive import exhaustive as sites_exhaustive
from watersmeet.optimize.sites.greedy import greedy as sites_greedy
from watersmeet.optimize.sites.tree import tree as sites_tree

OrderOptimizer = Callable[[OrderProblem, Budget], Sequences]


def _heuristic(choose: Callable[[OrderProblem], Sequences]) -> OrderOptimizer:
    return lambda problem, _budget: choose(problem)


ORDER_OPTIMIZERS: dict[str, OrderOptimizer] = {
    "exhaustive": exhaustive,
    "by_size": _heuristic(by_size),
    "by_rank": _heuristic(by_rank),
    "augmented": augmented,
    "greedy": _heuristic(greedy),
    "lazy": _heuristic(lazy),
    "as_written": _heuristic(as_written),
}

# What an optimizer goes by, for `explain`.
REASONS = {
    "exhaustive": "the cheapest of all orders",
    "by_size": "smallest result first",
    "by_rank": "fewest matches per probe first",
    "augmented": "smallest or least matching first, with fast streams moved ahead",
    "greedy": "along the join graph, to the fewest combinations",
    "lazy": "smallest first, new rows placed like a window",
    "as_written": "as written",
}

# Which stream is joined next, where and how: Tran & Lee 2010.
SITE_OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "exhaustive": sites_exhaustive,
    "greedy": sites_greedy,
    "tree": sites_tree,
}

# At which nodes operators run: Zhou et al. 2006.
PLACEMENTS: dict[str, Callable[..., Any]] = {
    "stream_join_opt": stream_join_opt,
    "local": local,
    "simple": simple,
    "optimal": optimal,
}

# Which values of a key share a placement, and which operators may be partitioned: Zhou et al. 2006.
PARTITIONERS: dict[str, Callable[..., Any]] = {"hash": by_hash, "range": by_range, "rate": by_rate}
PARTITION_SELECTIONS: dict[str, Callable[..., Any]] = {
    "fastest_inputs": select,
    "random": select_random,
    "alternative": select_alternative,
}

# How many nodes a ring has, for the whole query or for each stream: Wang & Rundensteiner 2009.
RING_LENGTHS: dict[str, Callable[..., Any]] = {"one_ring": query_length, "per_stream": ring_lengths}
