"""Global orders of the streams of Tables 5, 6 and 7: what they cost, and what the planner makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watersmeet.cost.comparisons import multiway_cost, result_size
from watersmeet.cost.orders import Loop, OrderProblem
from watersmeet.cost.visit import comparisons
from watersmeet.optimize.order.augmented import augmented_orders, fast_streams
from watersmeet.optimize.order.by_rank import orders_by_rank
from watersmeet.optimize.order.by_size import orders_by_size
from watersmeet.optimize.search_steps import SearchSteps
from watersmeet_lab.golab.setting import TABLE_5, TABLE_6, TABLE_7, Loads, all_orders, named

TABLES: Mapping[str, Loads] = {"Table 5": TABLE_5, "Table 6": TABLE_6, "Table 7": TABLE_7}


@dataclass(frozen=True, slots=True)
class Plans:
    """The plans of a table.

    Attributes:
        costs: By order its cost, from the cheapest to the dearest.
        by_size: What is chosen by the size of results, whichever way ties are broken.
        by_rank: What is chosen by matches per probe.
        fast: The fast streams.
        augmented: What is looked at when they move ahead.
    """

    costs: dict[str, float]
    by_size: list[str]
    by_rank: list[str]
    fast: list[str]
    augmented: list[str]

    @property
    def heuristic(self) -> list[str]:
        """What the two heuristics choose."""
        return list(dict.fromkeys([*self.by_size, *self.by_rank]))

    @property
    def cheapest(self) -> str:
        """The cheapest of what is looked at."""
        return min(self.augmented, key=lambda plan: _by_cost((plan, self.costs[plan])))

    @property
    def best(self) -> str:
        """The cheapest plan."""
        return next(iter(self.costs))

    @property
    def worst(self) -> str:
        """The dearest."""
        return list(self.costs)[-1]


def plans(loads: Loads) -> Plans:
    """Price all plans, and ask the planner."""
    problem = _problem(loads)
    costs = {named(order): multiway_cost(loads, order) for order in all_orders(loads)}
    return Plans(
        dict(sorted(costs.items(), key=_by_cost)),
        [named(order) for order in orders_by_size(problem)],
        [named(order) for order in orders_by_rank(problem)],
        [f"S{stream + 1}" for stream in fast_streams(problem)],
        [named(order) for order in augmented_orders(problem, SearchSteps())],
    )


def _by_cost(item: tuple[str, float]) -> tuple[float, str]:
    """Plans of equal cost by their name; sums in another order differ in their last digits."""
    return round(item[1], 6), item[0]


def _problem(loads: Loads) -> OrderProblem:
    def match(parts: frozenset[int]) -> float:
        return result_size([1.0] * len(parts), [loads[part].distinct for part in parts])

    loops = tuple(Loop(load.rate, load.rate * load.length, load.distinct) for load in loads)
    everyone = frozenset(range(len(loads)))
    return OrderProblem(loops, match, match, tuple(everyone - {part} for part in everyone), comparisons)
