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

All take `conditions`, and a choice of when rows expire. An eager join looks for expired rows at every
arrival, or at times that are `expire_every` apart. A lazy one looks right after a run, or after every
`expire_after` runs. It cannot at every arrival, or between two runs: rows that wait may still meet what has
expired since they came.
"""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet_lab.loops.conditions import EQUAL, Conditions
from watersmeet_lab.loops.count_window import CircularWindow, NumberedWindow
from watersmeet_lab.loops.drive import EagerJoin, Join, LazyJoin, Orders
from watersmeet_lab.loops.window import TimeWindow, Window

Order = Sequence[int]


def binary(
    lengths: Sequence[float], *, expire_every: float | None = None, conditions: Conditions = EQUAL
) -> EagerJoin:
    """Two windows: a new row scans the other one."""
    assert len(lengths) == 2, "more windows need an order"
    return eager(lengths, (0, 1), expire_every=expire_every, conditions=conditions)


def naive(
    lengths: Sequence[float],
    order: Order,
    interval: float | None = None,
    *,
    expire_every: float | None = None,
    expire_after: int = 1,
    conditions: Conditions = EQUAL,
    timed: bool = True,
) -> Join:
    """The same loops for every origin, with its window narrowed to the new rows.

    Args:
        lengths: Of the windows.
        order: The loops.
        interval: The time between two runs.
        expire_every: The time between two looks for expired rows, of an eager join.
        expire_after: The runs between two looks, of a lazy join.
        conditions: What belongs together.
        timed: Whether ages are tested. The lazy join as the paper first describes it does not, and joins
            rows with others that had expired, or had not yet come.
    """
    windows, orders = _windows(lengths), [tuple(order)] * len(lengths)
    return _join(windows, orders, conditions, interval, expire_every, expire_after, timed=timed)


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
    conditions: Conditions = EQUAL,
) -> LazyJoin:
    """New rows are outermost, the other windows follow in one order."""
    orders = _new_first(order)
    return general(lengths, orders, interval, buckets, expire_after=expire_after, conditions=conditions)


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
    *,
    expire_every: float | None = None,
    expire_after: int = 1,
) -> Join:
    """Some windows have an index; those come last in the order, since inner loops repeat most (Sect. 5.4)."""
    inside = sorted(order, key=lambda stream: buckets[stream] > 1)
    windows, orders = _windows(lengths, buckets), _new_first(inside)
    return _join(windows, orders, conditions, interval, expire_every, expire_after)


def counted(
    counts: Sequence[int],
    order: Order,
    interval: float | None = None,
    buckets: Sequence[int] | None = None,
    *,
    expire_every: float | None = None,
    expire_after: int = 1,
    conditions: Conditions = EQUAL,
) -> Join:
    """Windows of the last so many rows.

    Only an eager join whose rows expire at every arrival can overwrite the oldest row. All others have older
    rows in their windows, and tell by numbers which ones count.
    """
    overwritten = interval is None and expire_every is None
    kind = CircularWindow if overwritten else NumberedWindow
    windows = [kind(*size) for size in zip(counts, buckets or [1] * len(counts), strict=True)]
    return _join(windows, _new_first(order), conditions, interval, expire_every, expire_after)


def _join(
    windows: Sequence[Window],
    orders: Orders,
    conditions: Conditions,
    interval: float | None,
    expire_every: float | None,
    expire_after: int,
    *,
    timed: bool = True,
) -> Join:
    """Eager without an interval, lazy with one. What belongs to the other of the two is refused."""
    if interval is None:
        assert expire_after == 1, "an eager join has no runs to count: give expire_every"
        assert timed, "an eager join tests ages"
        return EagerJoin(windows, orders, conditions=conditions, expire_every=expire_every)
    assert expire_every is None, "rows of a lazy join expire right after a run: give expire_after"
    return LazyJoin(windows, orders, interval, conditions=conditions, expire_after=expire_after, timed=timed)


def _windows(lengths: Sequence[float], buckets: Sequence[int] | None = None) -> list[TimeWindow]:
    numbers = buckets or [1] * len(lengths)
    return [TimeWindow(length, number) for length, number in zip(lengths, numbers, strict=True)]


def _new_first(order: Order) -> list[tuple[int, ...]]:
    return [(origin, *(stream for stream in order if stream != origin)) for origin in range(len(order))]
