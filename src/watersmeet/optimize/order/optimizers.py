"""Every optimizer of probe orders under its name: the one place to add a new one."""

from __future__ import annotations

from collections.abc import Callable

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.order.as_written import as_written
from watersmeet.optimize.order.augmented import augmented
from watersmeet.optimize.order.by_rank import by_rank
from watersmeet.optimize.order.by_size import by_size
from watersmeet.optimize.order.exhaustive import exhaustive
from watersmeet.optimize.order.greedy import greedy
from watersmeet.optimize.order.lazy import lazy
from watersmeet.optimize.order.problem import Sequences
from watersmeet.optimize.search_steps import SearchSteps

OrderOptimizer = Callable[[OrderProblem, SearchSteps], Sequences]


def _heuristic(choose: Callable[[OrderProblem], Sequences]) -> OrderOptimizer:
    return lambda problem, _steps: choose(problem)


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
