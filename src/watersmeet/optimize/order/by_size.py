"""Smallest result first (Golab & Özsu 2003, Sect. 5.1).

Start with the two windows whose join is smallest, then add the window that keeps the result smallest. The
paper does not say which of the first two comes first, so both ways are offered.
"""

from __future__ import annotations

from itertools import combinations

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.order.problem import Sequences, cheapest, with_head_first


def by_size(problem: OrderProblem) -> Sequences:
    """The cheaper way for every head."""
    return cheapest(problem, [with_head_first(problem, order) for order in orders_by_size(problem)])


def orders_by_size(problem: OrderProblem) -> list[tuple[int, ...]]:
    """The order of all windows, with the first two in both ways."""
    if len(problem.loops) < 2:
        return [tuple(problem.heads)]
    start = min(combinations(problem.heads, 2), key=lambda pair: (problem.window_size(pair), pair))
    order = list(start)
    while rest := [part for part in problem.heads if part not in order]:
        order.append(min(rest, key=lambda part: (problem.window_size([*order, part]), part)))
    return [tuple(order), (order[1], order[0], *order[2:])]
