"""Orders with the fast streams moved to the front (Golab & Özsu 2003, Sect. 5.2).

A stream much faster than the others starts most of the work, and wants a cheap order for its own rows; moving
it ahead in the orders of the others can pay as well. From every order of the simpler heuristics, the fast
streams are tried in each place ahead of their own but the very first, the rest keeping its order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.order.by_rank import orders_by_rank
from watersmeet.optimize.order.by_size import orders_by_size
from watersmeet.optimize.order.problem import Sequences, cheapest, with_head_first
from watersmeet.optimize.search_steps import SearchSteps

# The paper does not say what fast is. Twice the geometric mean picks the streams it calls so.
_FAST = 2.0


def augmented(problem: OrderProblem, steps: SearchSteps) -> Sequences:
    """Per head the cheapest of the base orders and what moving the fast streams makes of them.

    Raises:
        watersmeet.optimize.search_steps.NoStepsLeft: More fast streams than can be tried everywhere.
    """
    orders = augmented_orders(problem, steps)
    return cheapest(problem, [with_head_first(problem, order) for order in orders])


def augmented_orders(problem: OrderProblem, steps: SearchSteps) -> list[tuple[int, ...]]:
    """The base orders, and with the fast streams in all places ahead of their own."""
    found = dict.fromkeys([*orders_by_size(problem), *orders_by_rank(problem)])
    fast = fast_streams(problem)
    for start in list(found):
        for order in _moved(start, fast):
            if order not in found:
                # One order per head, with a step for every window.
                steps.take(len(order) ** 2)
                found[order] = None
    return list(found)


def fast_streams(problem: OrderProblem) -> list[int]:
    """Inputs at least twice as fast as the geometric mean."""
    rates = [loop.rate for loop in problem.loops]
    if min(rates) <= 0:
        return []
    mean = math.exp(sum(map(math.log, rates)) / len(rates))
    return [part for part, rate in enumerate(rates) if rate >= _FAST * mean]


def _moved(order: tuple[int, ...], fast: list[int]) -> Iterator[tuple[int, ...]]:
    slow = [part for part in order if part not in fast]
    moving = [part for part in order if part in fast]
    # A stream that is first already stays there.
    choices = [range(min(1, order.index(part)), order.index(part) + 1) for part in moving]
    for places in product(*choices):
        if len(set(places)) < len(places):
            continue
        taken = dict(zip(places, moving, strict=True))
        others = iter(slow)
        yield tuple(taken[place] if place in taken else next(others) for place in range(len(order)))
