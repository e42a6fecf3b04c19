"""From the new rows, always to the window that leaves the fewest combinations (Golab & Özsu 2003, Sect. 5.4).

For joins on different attributes: an order may only go where a condition leads, since everything else is a
product. Expensive conditions end up in the outer loops by their cost.
"""

from __future__ import annotations

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.order.problem import Sequences


def greedy(problem: OrderProblem) -> Sequences:
    """One order per head, along the join graph."""
    return {head: _order(problem, head) for head in problem.heads}


def _order(problem: OrderProblem, head: int) -> tuple[int, ...]:
    starts = problem.first(head)
    order = [head] if head in starts else [min(starts, key=lambda part: (problem.size(head, [part]), part))]
    while len(order) < len(problem.loops):
        bound = frozenset(order)
        rest = list(problem.next(head, bound))
        linked = [part for part in rest if problem.linked[part] & bound]
        order.append(
            min(
                linked or rest,
                key=lambda part: (
                    problem.size(head, bound | {part}),
                    problem.step(head, order[0], bound, part),
                    part,
                ),
            )
        )
    return tuple(order)
