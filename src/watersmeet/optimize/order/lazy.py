"""Orders for large batches, where the new rows need not come first (Golab & Özsu 2003, Sect. 3.3 and 5.1).

Every head is looked at with its own counts: its new rows are those of a tick, the windows of the others as
long as they get within the tick. The simple heuristics then place the new rows like any other window.
"""

from __future__ import annotations

from itertools import combinations

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.order.problem import Sequences


def lazy(problem: OrderProblem) -> Sequences:
    """Per head the cheapest of by size, by rank, and the new rows first."""
    found = {}
    for head in problem.heads:
        tried = [order for order in _orders(problem, head) if order[0] in problem.first(head)]
        if not tried:
            tried = [_allowed(problem, head, order) for order in _orders(problem, head)]
        found[head] = min(tried, key=lambda order: problem.cost(head, order))
    return found


def _orders(problem: OrderProblem, head: int) -> list[tuple[int, ...]]:
    def size(bound: tuple[int, ...]) -> float:
        return problem.size(head, bound)

    parts = list(problem.heads)
    start = min(combinations(parts, 2), key=lambda pair: (size(pair), pair))
    by_size = list(start)
    while rest := [part for part in parts if part not in by_size]:
        by_size.append(min(rest, key=lambda part: (size((*by_size, part)), part)))
    by_rank = sorted(parts, key=lambda part: (problem.count(head, part) / problem.loops[part].distinct, part))
    orders = [by_size, [by_size[1], by_size[0], *by_size[2:]], by_rank]
    first = [[head, *(part for part in order if part != head)] for order in orders]
    return list(dict.fromkeys(map(tuple, [*orders, *first])))


def _allowed(problem: OrderProblem, head: int, order: tuple[int, ...]) -> tuple[int, ...]:
    lead = next(part for part in order if part in problem.first(head))
    return (lead, *(part for part in order if part != lead))
