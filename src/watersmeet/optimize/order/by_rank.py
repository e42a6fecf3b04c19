"""Fewest matches per probe first (Golab & Özsu 2003, Sect. 5.1): rows alive over distinct values.

Windows without an index are scanned whole whatever they match, and are best scanned seldom: the paper puts
indexed windows into the inner loops, since scans there are repeated most. With look-ups as cheap as ours it
is the other way round, and the cost decides between the two.
"""

from __future__ import annotations

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.order.problem import Sequences, cheapest, with_head_first


def by_rank(problem: OrderProblem) -> Sequences:
    """Per head the cheaper of scanned windows first and scanned windows last."""
    return cheapest(problem, [with_head_first(problem, order) for order in orders_by_rank(problem)])


def orders_by_rank(problem: OrderProblem) -> list[tuple[int, ...]]:
    """All windows by rank, those without an index in the outer and in the inner loops."""

    def rank(part: int) -> float:
        loop = problem.loops[part]
        return loop.alive / loop.distinct

    def order(scanned: int) -> tuple[int, ...]:
        return tuple(sorted(problem.heads, key=lambda p: (scanned * problem.loops[p].scanned, rank(p), p)))

    return list(dict.fromkeys([order(-1), order(1)]))
