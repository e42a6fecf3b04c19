"""Tables 2 and 3, and all algorithms on the same rows: what they find, and what they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from watersmeet.cost.comparisons import WindowLoad
from watersmeet.kernel.loops.algorithms import eager, general, lazy, naive
from watersmeet.kernel.loops.arrival import Arrival, Combination, in_order
from watersmeet.kernel.loops.drive import Join, results
from watersmeet.lab.golab.counted import Counting
from watersmeet.lab.golab.setting import Orders, Rows, Size, drawn, new_first, rows_per_unit, with_buckets
from watersmeet.lab.papers.chart import Table
from watersmeet.lab.papers.claim import Claim
from watersmeet.lab.papers.page import Experiment
from watersmeet.lab.papers.tracker import Tracker

# Three windows of 100 units; at time 210 the rows of the third stream are new.
EXAMPLE = in_order([[(90, 1), (100, 1)], [(150, 1), (180, 1)], [(195, 1), (205, 1)]])
EXAMPLE_WINDOWS, EXAMPLE_INTERVAL = (100, 100, 100), 30

LOADS = (WindowLoad(3, 15, 20), WindowLoad(1, 20, 10), WindowLoad(2, 10, 15))
INTERVAL, BUCKETS = 5, 4
ORDER = (1, 0, 2)
# Every origin another, and new rows first, in the middle and last.
ANY: Orders = ((0, 2, 1), (0, 1, 2), (1, 0, 2))

_SETTING = """\
The paper begins with an example: a lazy join that takes all rows of three windows, as they lie there when it
runs, has {literal} results for two new rows where {right} are right. Its other algorithms test the age of
rows in their loops.

The table has the algorithms as they stand in `watersmeet.kernel.loops`, which process row by row, on the same
{rows} rows of three streams, windows empty at first. Lazy ones run every {interval} units of time, hash joins
have {buckets} buckets for each window. "Without tests of age" is the join of the example. Comparisons are
counted by the loops, and by arithmetic, which is what the other sections use: on one attribute the number of
combinations is a product of numbers of rows, so nothing has to be run to count it."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A join, and what its counts are compared with.

    Attributes:
        make: Makes it, given the lengths of windows and the interval in rows.
        orders: Its loops, by origin.
        interval: The time between two runs; None if it is eager.
        buckets: Of each window.
    """

    make: Callable[[list[int], int], Join]
    orders: Orders
    interval: float | None = None
    buckets: int = 1


SAME, MANY = [ORDER] * len(LOADS), [BUCKETS] * len(LOADS)
LITERAL = "naive, lazy, without tests of age"
ALGORITHMS: Mapping[str, Algorithm] = {
    "naive, eager": Algorithm(lambda lengths, _: naive(lengths, ORDER), SAME),
    "multi-way, eager": Algorithm(lambda lengths, _: eager(lengths, ORDER), new_first(ORDER)),
    "hash, eager": Algorithm(
        lambda lengths, _: eager(lengths, ORDER, MANY), new_first(ORDER), buckets=BUCKETS
    ),
    "naive, lazy": Algorithm(lambda lengths, tick: naive(lengths, ORDER, tick), SAME, INTERVAL),
    "multi-way, lazy": Algorithm(
        lambda lengths, tick: lazy(lengths, ORDER, tick), new_first(ORDER), INTERVAL
    ),
    "hash, lazy": Algorithm(
        lambda lengths, tick: lazy(lengths, ORDER, tick, MANY), new_first(ORDER), INTERVAL, BUCKETS
    ),
    "general": Algorithm(lambda lengths, tick: general(lengths, ANY, tick), ANY, INTERVAL),
    "general, hash": Algorithm(
        lambda lengths, tick: general(lengths, ANY, tick, MANY), ANY, INTERVAL, BUCKETS
    ),
}


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
    per_unit = rows_per_unit(LOADS)
    step = INTERVAL * per_unit
    rows = drawn(LOADS, size.checked // step * step, seed)
    lengths = [round(load.length * per_unit) for load in LOADS]
    found = {name: _run(ALGORITHMS[name], lengths, rows) for name in tracker.each(list(ALGORITHMS))}
    literal = naive(lengths, ORDER, step, timed=False)
    wrong = Counter(results(literal, arrivals(rows)))
    found[LITERAL] = Found(wrong, literal.counts.comparisons, literal.counts.visits)
    return judged(example, found, len(rows.streams))


def _run(algorithm: Algorithm, lengths: list[int], rows: Rows) -> Found:
    per_unit = rows_per_unit(LOADS)
    join = algorithm.make(lengths, INTERVAL * per_unit)
    results_of = Counter(results(join, arrivals(rows)))
    counting = Counting(with_buckets(LOADS, algorithm.buckets), rows, 0, algorithm.interval)
    counted = counting.comparisons(algorithm.orders) * len(rows.streams) / per_unit
    return Found(results_of, join.counts.comparisons, join.counts.visits, round(counted))


def judged(example: Mapping[bool, list[Combination]], found: Mapping[str, Found], rows: int) -> Experiment:
    """Hold the claims against the figures."""
    right = next(iter(found.values())).results
    cells = tuple(
        (
            name,
            f"{one.results.total()}",
            f"{one.comparisons}",
            "" if one.counted is None else f"{one.counted}",
            f"{one.visits}",
        )
        for name, one in found.items()
    )
    wrong = found[LITERAL].results - right
    claims = (
        Claim(
            "Without tests of age the example has eight results, and two are right.",
            f"{len(example[False])} and {len(example[True])}",
            (len(example[False]), len(example[True])) == (8, 2),
        ),
        Claim(
            "All other algorithms find the same, each result once.",
            f"{right.total()} results; without tests of age {wrong.total()} more",
            max(right.values()) == 1
            and all(one.results == right for name, one in found.items() if name != LITERAL)
            and wrong.total() > 0,
            origin="measured",
        ),
        Claim(
            "Arithmetic counts what the loops count, to the last comparison.",
            f"in {sum(one.counted == one.comparisons for one in found.values())} of {len(ALGORITHMS)}",
            all(found[name].counted == found[name].comparisons for name in ALGORITHMS),
            origin="measured",
        ),
    )
    head = ("", "results", "comparisons of the loops", "by arithmetic", "visits")
    setting = _SETTING.format(
        literal=len(example[False]), right=len(example[True]), rows=rows, interval=INTERVAL, buckets=BUCKETS
    )
    return Experiment(
        "Tables 2 and 3: the loops themselves", setting, claims, tables=(Table("loops", head, cells),)
    )
