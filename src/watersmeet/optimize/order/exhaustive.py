"""The cheapest of all orders, by dynamic programming over sets of windows.

How many combinations a set of windows has does not depend on the order in which they were visited, so of all
orders of one set, from the same start, only the cheapest matters: n * 2^n steps instead of n! orders, and the
same answer.
"""

from __future__ import annotations

from watersmeet.optimize.order.problem import Orders, Sequences
from watersmeet.optimize.search_steps import SearchSteps

# The cheapest order of a set of windows, with its cost.
Best = dict[frozenset[int], tuple[float, tuple[int, ...]]]


def exhaustive(problem: Orders, steps: SearchSteps) -> Sequences:
    """The cheapest order of every head.

    Raises:
        watersmeet.optimize.search_steps.NoStepsLeft: More steps would have to be looked at than allowed.
    """
    for head in problem.heads:
        # From every lead, every set of windows once with every window that is not in it; known beforehand.
        free = problem.inputs - 1
        steps.take(len(problem.first(head)) * free * 2**free // 2)
    return {
        head: min(_cheapest(problem, head, lead) for lead in problem.first(head))[1] for head in problem.heads
    }


def _cheapest(problem: Orders, head: int, lead: int) -> tuple[float, tuple[int, ...]]:
    best: Best = {frozenset([lead]): (0.0, (lead,))}
    for _ in range(problem.inputs - 1):
        longer: Best = {}
        for bound, (cost, order) in best.items():
            for part in problem.next(head, bound):
                reached = bound | {part}
                found = (cost + problem.step(head, lead, bound, part), (*order, part))
                # Equal costs: the smaller numbers first, so that plans do not depend on chance.
                if reached not in longer or found < longer[reached]:
                    longer[reached] = found
        best = longer
    return min(best.values())
