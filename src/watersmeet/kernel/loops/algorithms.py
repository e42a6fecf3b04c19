"""The paper's algorithms by name: windows, orders and a time to run, put together.

| name       | Golab & Özsu 2003                             | loops of an origin               | runs       |
|------------|-----------------------------------------------|----------------------------------|------------|
| `binary`   | Kang et al.'s join of two windows, Sect. 3.1  | the new row, the other window    | each row   |
| `naive`    | Naive Multi-Way NLJ, Sect. 3.1                | one order, wherever the origin is| both       |
| `eager`    | Eager Multi-Way NLJ and Hash Join, 3.2, 3.4   | the new row, then one order      | each row   |
| `lazy`     | Lazy Multi-Way NLJ and Hash Join, 3.3, 3.4    | new rows, then one order         | each tick  |
| `general`  | General Lazy Multi-Way NLJ and Hash Join, 3.3 | any order for every origin       | each tick  |
| `hybrid`   | Hybrid NLJ-Hash Join, Sect. 3.5               | windows with an index inside     | both       |
| `counted`  | Count-based windows, Sect. 3.6                | new rows, then one order         | both       |

`buckets` are those of the hash index of each window; 1, or none given, is the nested loop. Without
an interval a join runs at every arrival.
"""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.kernel.loops.conditions import EQUAL, Conditions
from watersmeet.kernel.loops.count_window import CircularWindow, NumberedWindow
from watersmeet.kernel.loops.drive import EagerJoin, Join, LazyJoin, Orders
from watersmeet.kernel.loops.window import TimeWindow

Order = Sequence[int]


def binary(lengths: Sequence[float], *, expire_every: float | None = None) -> EagerJoin:
    """Two windows: a new row scans the other one."""
    assert len(lengths) == 2, "more windows need an order"
    return eager(lengths, (0, 1), expire_every=expire_every)


def naive(
    lengths: Sequence[float],
    order: Order,
    interval: float | None = None,
    *,
    expire_every: float | None = None,
    timed: bool = True,
) -> Join:
    """The same loops for every origin, with its window narrowed to the new rows.

    Args:
        lengths: Of the windows.
        order: The loops.
        interval: The time between two runs.
        expire_every: The time between two looks for expired rows, of an eager join.
        timed: Whether ages are tested. The lazy join as the paper first describes it does not, and joins
            rows with others that had expired, or had not yet come.
    """
    orders = [tuple(order)] * len(lengths)
    if interval is None:
        return EagerJoin(_windows(lengths), orders, expire_every=expire_every)
    return LazyJoin(_windows(lengths), orders, interval, timed=timed)


def eager(
    lengths: Sequence[float],
    order: Order,
    buckets: Sequence[int] | None = None,
    *,
    expire_every: float | None = None,
    conditions: Conditions = EQUAL,
) -> EagerJoin:
    """A new row is outermost, the other windows follow in one order."""
    windows = _windows(lengths, buckets)
    return EagerJoin(windows, _new_first(order), conditions=conditions, expire_every=expire_every)


def lazy(
    lengths: Sequence[float],
    order: Order,
    interval: float,
    buckets: Sequence[int] | None = None,
    *,
    expire_after: int = 1,
) -> LazyJoin:
    """New rows are outermost, the other windows follow in one order."""
    return general(lengths, _new_first(order), interval, buckets, expire_after=expire_after)


def general(
    lengths: Sequence[float],
    orders: Orders,
    interval: float,
    buckets: Sequence[int] | None = None,
    *,
    expire_after: int = 1,
    conditions: Conditions = EQUAL,
) -> LazyJoin:
    """Every origin has an order of its own, in which its new rows may stand anywhere."""
    windows = _windows(lengths, buckets)
    return LazyJoin(windows, orders, interval, conditions=conditions, expire_after=expire_after)


def hybrid(
    lengths: Sequence[float],
    order: Order,
    buckets: Sequence[int],
    conditions: Conditions,
    interval: float | None = None,
) -> Join:
    """Some windows have an index; those come last in the order, since inner loops repeat most (Sect. 5.4)."""
    inside = sorted(order, key=lambda stream: buckets[stream] > 1)
    if interval is None:
        return eager(lengths, inside, buckets, conditions=conditions)
    return general(lengths, _new_first(inside), interval, buckets, conditions=conditions)


def counted(
    counts: Sequence[int],
    order: Order,
    interval: float | None = None,
    buckets: Sequence[int] | None = None,
) -> Join:
    """Windows of the last so many rows."""
    sizes = list(zip(counts, buckets or [1] * len(counts), strict=True))
    if interval is None:
        return EagerJoin([CircularWindow(*size) for size in sizes], _new_first(order))
    return LazyJoin([NumberedWindow(*size) for size in sizes], _new_first(order), interval)


def _windows(lengths: Sequence[float], buckets: Sequence[int] | None = None) -> list[TimeWindow]:
    numbers = buckets or [1] * len(lengths)
    return [TimeWindow(length, number) for length, number in zip(lengths, numbers, strict=True)]


def _new_first(order: Order) -> list[tuple[int, ...]]:
    return [(origin, *(stream for stream in order if stream != origin)) for origin in range(len(order))]
