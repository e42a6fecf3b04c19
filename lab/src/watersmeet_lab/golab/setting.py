"""Streams of the paper's examples, and rows drawn as in its Sect. 6.1.

A loop draws one row after the other: its stream by the rates, its value evenly from 1 to as many as the
stream has. The paper gives it the number of the loop for a time. Then a unit of time has one row of all
streams together, and windows hold far fewer rows than the cost model says. Here a unit has as many rows as
the rates add up to; times are counted in rows, so they stay whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from watersmeet.cost.comparisons import Order, WindowLoad, head_first

Loads = tuple[WindowLoad, ...]
Orders = Sequence[Order]
Integers = NDArray[np.int64]

TABLE_5 = (WindowLoad(10, 100, 500), WindowLoad(1, 100, 50), WindowLoad(1, 200, 40), WindowLoad(3, 100, 5))
TABLE_6 = (WindowLoad(100, 100, 200), WindowLoad(1, 100, 200), WindowLoad(1, 100, 20), WindowLoad(3, 100, 2))
TABLE_7 = (WindowLoad(11, 100, 200), WindowLoad(10, 100, 100), WindowLoad(1, 100, 65), WindowLoad(1, 100, 20))

# Units of time before anything counts: longer than all windows. All intervals divide it and what is counted,
# so the same rows can be counted with each of them.
WARM = 600


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run.

    Attributes:
        stretch: Units of time that are counted once windows are full, a multiple of 600.
        draws: How many independent draws there are.
        checked: Rows that are joined by the loops themselves.
    """

    stretch: int
    draws: int
    checked: int


# Half a minute.
QUICK = Size(1200, draws=5, checked=600)
# Four minutes. The paper does not say how many rows it took; it took them ten times.
FULL = Size(6000, draws=10, checked=3000)


def longer(size: Size) -> Size:
    """The same for the streams of Tables 5 to 7.

    Some have few values and are rarely met, so it takes longer until they have been met often enough.
    """
    return replace(size, stretch=8 * size.stretch)


def alike(streams: int, fast: float = 1) -> Loads:
    """Windows of 100 units with 50 values, a row per unit; the last stream may be faster."""
    return (WindowLoad(1, 100, 50),) * (streams - 1) + (WindowLoad(fast, 100, 50),)


def with_buckets(loads: Loads, *buckets: int) -> Loads:
    """The same with hash buckets: one number for all, or one for each."""
    numbers = buckets * len(loads) if len(buckets) == 1 else buckets
    return tuple(replace(load, buckets=number) for load, number in zip(loads, numbers, strict=True))


def rows_per_unit(loads: Loads) -> int:
    """Rows of all streams in a unit of time."""
    return round(sum(load.rate for load in loads))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as they come; the number of a row is its time.

    Attributes:
        streams: Of each row its stream.
        values: Of each row its value.
    """

    streams: Integers
    values: Integers


def drawn(loads: Loads, rows: int, seed: int) -> Rows:
    """So many rows, drawn at random."""
    random = np.random.default_rng(seed)
    rates = np.array([load.rate for load in loads])
    streams = random.choice(len(loads), rows, p=rates / rates.sum()).astype(np.int64)
    most = np.array([round(load.distinct) for load in loads])[streams]
    return Rows(streams, 1 + (random.random(rows) * most).astype(np.int64))


def seeds(first: int, draws: int) -> list[int]:
    """A seed for each draw."""
    return [1000 * first + draw for draw in range(draws)]


def all_orders(loads: Loads) -> list[tuple[int, ...]]:
    """Every global order."""
    return list(permutations(range(len(loads))))


def new_first(order: Order) -> list[tuple[int, ...]]:
    """A global order as each origin runs it: new rows outermost."""
    return [head_first(origin, order) for origin in range(len(order))]


def named(order: Order) -> str:
    """An order as the paper writes it, in digits.

    >>> named((1, 0, 2))
    '213'
    """
    return "".join(str(stream + 1) for stream in order)


def listed(figures: Iterable[float], form: str = ".0f") -> str:
    """Figures one after the other, in words.

    >>> listed([1, 2.5], "g")
    '1, 2.5'
    """
    return ", ".join(f"{figure:{form}}" for figure in figures)
