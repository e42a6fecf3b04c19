"""Golab & Özsu 2003, Sect. 4 and Appendix A: comparisons per time unit of a join of sliding windows.

One formula gives every algorithm of the paper. Tuples of one origin are processed by nested loops in an order
that contains the origin itself, and every loop after the first is charged for what it looks at:

    cost(origin, order) = runs * sum over q = 2..n of  size(order[1..q-1]) * scan(order[q])

                 new tuples of the origin   others            runs per time unit
    eager        1                          rate * T          rate of the origin
    lazy, tau    rate * tau                 rate * (T + tau)  1 / tau

`scan` is the window, or one of its hash buckets; the sizes of results do not depend on the buckets. The paper
writes out the cases for four streams; a window that is scanned first is not charged there, and neither is it
here. Insertion and expiration do not depend on the order and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

Order = Sequence[int]


@dataclass(frozen=True, slots=True)
class WindowLoad:
    """One stream: tuples per time unit, length of its window, distinct join values, hash buckets."""

    rate: float
    length: float
    distinct: float
    buckets: float = 1


def result_size(counts: Sequence[float], distinct: Sequence[float]) -> float:
    """How many results windows with these numbers of tuples and of join values have (Sect. 4.1).

    The values of the window with the fewest are assumed to occur in all others, so each of the others thins
    the product by its own number of values. The order of the windows does not matter.

    >>> result_size([1000, 100, 200], [500, 50, 40])
    800.0
    """
    if not counts:
        return 1.0
    return math.prod(counts) / (math.prod(distinct) / min(distinct))


def origin_cost(windows: Sequence[WindowLoad], origin: int, order: Order, tick: float | None = None) -> float:
    """Comparisons for the tuples of one origin, with loops in an order that contains it.

    Args:
        windows: The streams.
        origin: Whose new tuples are processed.
        order: The loops, outermost first.
        tick: The time between two runs of lazy evaluation; None evaluates at every arrival.
    """
    counts = {number: _count(windows[number], number == origin, tick) for number in order}
    total = 0.0
    for place in range(1, len(order)):
        outer = order[:place]
        combinations = result_size([counts[w] for w in outer], [windows[w].distinct for w in outer])
        total += combinations * counts[order[place]] / windows[order[place]].buckets
    return total * (windows[origin].rate if tick is None else 1 / tick)


def _count(window: WindowLoad, is_origin: bool, tick: float | None) -> float:  # noqa: FBT001
    if tick is None:
        return 1.0 if is_origin else window.rate * window.length
    return window.rate * (tick if is_origin else window.length + tick)


def multiway_cost(windows: Sequence[WindowLoad], order: Order, tick: float | None = None) -> float:
    """Eager (or with a tick lazy) multi-way join: new tuples outermost, the others in one global order.

    >>> multiway_cost([WindowLoad(1, 100, 50)] * 3, (0, 1, 2))
    900.0
    """
    return sum(
        origin_cost(windows, origin, head_first(origin, order), tick) for origin in range(len(windows))
    )


def naive_cost(windows: Sequence[WindowLoad], order: Order, tick: float | None = None) -> float:
    """The naive multi-way join: the global order for every origin, wherever its new tuples stand in it."""
    return sum(origin_cost(windows, origin, order, tick) for origin in range(len(windows)))


def general_cost(windows: Sequence[WindowLoad], tick: float | None = None) -> float:
    """The general multi-way join: the best of all orders for every origin by itself."""
    return sum(
        min(origin_cost(windows, origin, order, tick) for order in permutations(range(len(windows))))
        for origin in range(len(windows))
    )


def head_first(origin: int, order: Order) -> tuple[int, ...]:
    """A global order as one origin runs it: new tuples outermost."""
    return (origin, *(number for number in order if number != origin))
