"""Tables 2 and 3, and all algorithms on the same rows: what they find, and what they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from watersmeet.cost.comparisons import WindowLoad
from watersmeet.plot.chart import Table
from watersmeet_lab.golab.counted import Counting
from watersmeet_lab.golab.setting import (
    Loads,
    Orders,
    Rows,
    Size,
    drawn,
    listed,
    new_first,
    rows_per_unit,
    with_buckets,
)
from watersmeet_lab.loops.algorithms import binary, counted, eager, general, hybrid, lazy, naive
from watersmeet_lab.loops.arrival import Arrival, Combination, in_order
from watersmeet_lab.loops.conditions import EQUAL
from watersmeet_lab.loops.drive import Join, results
from watersmeet_lab.papers.claim import Claim
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

# Three windows of 100 units; at time 210 the rows of the third stream are new.
EXAMPLE = in_order([[(90, 1), (100, 1)], [(150, 1), (180, 1)], [(195, 1), (205, 1)]])
EXAMPLE_WINDOWS, EXAMPLE_INTERVAL = (100, 100, 100), 30

LOADS = (WindowLoad(3, 15, 20), WindowLoad(1, 20, 10), WindowLoad(2, 10, 15))
INTERVAL, BUCKETS = 5, 4
ORDER = (1, 0, 2)
# Every origin another, and new rows first, in the middle and last.
ANY: Orders = ((0, 2, 1), (0, 1, 2), (1, 0, 2))
# The windows that a hybrid join has buckets for stand inside: its order is 0, 2, 1 instead.
SOME, INSIDE = (1, BUCKETS, 1), (0, 2, 1)
# As many rows as windows of time have on average.
COUNTS = [round(load.rate * load.length) for load in LOADS]

_SETTING = """\
The paper begins with an example: a lazy join that takes all rows of three windows, as they lie there when it
runs, has {literal} results for two new rows where {right} are right. Its other algorithms test the age of
rows in their loops.

The table has the algorithms as they stand in `watersmeet_lab.loops`, which process row by row, on the same
{rows} rows of three streams, windows empty at first; the binary join has as many rows of the first two of
them. Lazy ones run every {interval} units of time, hash joins have {buckets} buckets for each window, the
hybrid for one of them. Windows of rows hold {counts} rows: to overwrite them needs no visit. "Without tests
of age" is the join of the example. Comparisons are counted by the loops, and by arithmetic, which is what the
other sections use: on one attribute the number of combinations is a product of numbers of rows, so nothing
has to be run to count it. For windows of rows there is no such arithmetic."""

THREE, TWO, LAST = "three, of time", "two, of time", "three, of rows"


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A join, and what its counts are compared with.

    Attributes:
        make: Makes it, given the lengths of windows and the interval in rows.
        orders: Its loops, by origin.
        interval: The time between two runs; None if it is eager.
        buckets: Of each window, or of all.
        windows: How many of what kind. Joins of the same windows have the same results.
    """

    make: Callable[[list[int], int], Join]
    orders: Orders
    interval: float | None = None
    buckets: tuple[int, ...] = (1,)
    windows: str = THREE

    @property
    def loads(self) -> Loads:
        """Its streams."""
        return with_buckets(LOADS[:2] if self.windows == TWO else LOADS, *self.buckets)


SAME, MANY = [ORDER] * len(LOADS), [BUCKETS] * len(LOADS)
LITERAL = "naive, lazy, without tests of age"
ALGORITHMS: Mapping[str, Algorithm] = {
    "naive, eager": Algorithm(lambda lengths, _: naive(lengths, ORDER), SAME),
    "multi-way, eager": Algorithm(lambda lengths, _: eager(lengths, ORDER), new_first(ORDER)),
    "hash, eager": Algorithm(
        lambda lengths, _: eager(lengths, ORDER, MANY), new_first(ORDER), buckets=(BUCKETS,)
    ),
    "naive, lazy": Algorithm(lambda lengths, tick: naive(lengths, ORDER, tick), SAME, INTERVAL),
    "multi-way, lazy": Algorithm(
        lambda lengths, tick: lazy(lengths, ORDER, tick), new_first(ORDER), INTERVAL
    ),
    "hash, lazy": Algorithm(
        lambda lengths, tick: lazy(lengths, ORDER, tick, MANY), new_first(ORDER), INTERVAL, (BUCKETS,)
    ),
    "general": Algorithm(lambda lengths, tick: general(lengths, ANY, tick), ANY, INTERVAL),
    "general, hash": Algorithm(
        lambda lengths, tick: general(lengths, ANY, tick, MANY), ANY, INTERVAL, (BUCKETS,)
    ),
    "hybrid, eager": Algorithm(
        lambda lengths, _: hybrid(lengths, ORDER, SOME, EQUAL), new_first(INSIDE), buckets=SOME
    ),
    "hybrid, lazy": Algorithm(
        lambda lengths, tick: hybrid(lengths, ORDER, SOME, EQUAL, tick), new_first(INSIDE), INTERVAL, SOME
    ),
    "binary": Algorithm(lambda lengths, _: binary(lengths), new_first((0, 1)), windows=TWO),
    "multi-way of two, lazy": Algorithm(
        lambda lengths, tick: lazy(lengths, (0, 1), tick), new_first((0, 1)), INTERVAL, windows=TWO
    ),
    "count-based, eager": Algorithm(lambda *_: counted(COUNTS, ORDER), new_first(ORDER), windows=LAST),
    "count-based, lazy": Algorithm(
        lambda _, tick: counted(COUNTS, ORDER, tick), new_first(ORDER), INTERVAL, windows=LAST
    ),
    "count-based, hash, lazy": Algorithm(
        lambda _, tick: counted(COUNTS, ORDER, tick, MANY), new_first(ORDER), INTERVAL, (BUCKETS,), LAST
    ),
}
# Those whose comparisons can be found by arithmetic.
COUNTED = [name for name, algorithm in ALGORITHMS.items() if algorithm.windows != LAST]


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a join: its results, comparisons and visits, and the comparisons by arithmetic."""

    results: Counter[Combination]
    comparisons: int
    visits: int
    counted: int | None = None


def arrivals(rows: Rows) -> list[Arrival]:
    """Rows as the loops take them; the first comes at time 1."""
    numbers: Counter[int] = Counter()
    found = []
    for ts, (stream, value) in enumerate(zip(rows.streams.tolist(), rows.values.tolist(), strict=True), 1):
        found.append(Arrival(ts, stream, numbers[stream], value))
        numbers[stream] += 1
    return found


def loops(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Run all."""
    example = {
        timed: results(naive(EXAMPLE_WINDOWS, (0, 1, 2), EXAMPLE_INTERVAL, timed=timed), EXAMPLE)
        for timed in (False, True)
    }
    found = {name: _run(ALGORITHMS[name], size, seed) for name in tracker.each(list(ALGORITHMS))}
    literal = Algorithm(lambda lengths, tick: naive(lengths, ORDER, tick, timed=False), SAME, INTERVAL)
    # What it goes on with is not what arithmetic takes it to.
    found[LITERAL] = replace(_run(literal, size, seed), counted=None)
    return judged(example, found, len(_rows(LOADS, size, seed).streams))


def _rows(loads: Loads, size: Size, seed: int) -> Rows:
    """As many as make whole intervals."""
    step = INTERVAL * rows_per_unit(loads)
    return drawn(loads, size.checked // step * step, seed)


def _run(algorithm: Algorithm, size: Size, seed: int) -> Found:
    loads, per_unit = algorithm.loads, rows_per_unit(algorithm.loads)
    rows = _rows(loads, size, seed)
    join = algorithm.make([round(load.length * per_unit) for load in loads], INTERVAL * per_unit)
    found = Counter(results(join, arrivals(rows)))
    by_arithmetic = None
    if algorithm.windows != LAST:
        per_time = Counting(loads, rows, 0, algorithm.interval).comparisons(algorithm.orders)
        by_arithmetic = round(per_time * len(rows.streams) / per_unit)
    return Found(found, join.counts.comparisons, join.counts.visits, by_arithmetic)


def judged(example: Mapping[bool, list[Combination]], found: Mapping[str, Found], rows: int) -> Experiment:
    """Hold the claims against the figures."""
    # What one join of the same windows finds; which one does not matter.
    right = {algorithm.windows: found[name].results for name, algorithm in ALGORITHMS.items()}
    cells = tuple(
        (
            name,
            ALGORITHMS[name].windows if name in ALGORITHMS else THREE,
            f"{one.results.total()}",
            f"{one.comparisons}",
            "" if one.counted is None else f"{one.counted}",
            f"{one.visits}",
        )
        for name, one in found.items()
    )
    wrong = found[LITERAL].results - right[THREE]
    claims = (
        Claim(
            "Without tests of age the example has eight results, and two are right.",
            f"{len(example[False])} and {len(example[True])}",
            (len(example[False]), len(example[True])) == (8, 2),
        ),
        Claim(
            "All other algorithms find the same in the same windows, each result once.",
            f"{listed(right[kind].total() for kind in (THREE, TWO, LAST))} results with windows: {THREE}; "
            f"{TWO}; {LAST}. Without tests of age {wrong.total()} more",
            all(max(results_of.values()) == 1 for results_of in right.values())
            and all(found[name].results == right[each.windows] for name, each in ALGORITHMS.items())
            and wrong.total() > 0,
            origin="measured",
        ),
        Claim(
            "Arithmetic counts what the loops count, to the last comparison.",
            f"in {sum(found[name].counted == found[name].comparisons for name in COUNTED)} of {len(COUNTED)}",
            all(found[name].counted == found[name].comparisons for name in COUNTED),
            origin="measured",
        ),
    )
    head = ("", "windows", "results", "comparisons of the loops", "by arithmetic", "visits")
    setting = _SETTING.format(
        literal=len(example[False]),
        right=len(example[True]),
        rows=rows,
        interval=INTERVAL,
        buckets=BUCKETS,
        counts=listed(COUNTS),
    )
    return Experiment(
        "Tables 2 and 3: the loops themselves", setting, claims, tables=(Table("loops", head, cells),)
    )
