"""Golab & Özsu's algorithms against the definition of their result, and the fast kernel against them.

Would catch: a combination that two rows of equal time find twice, a row that is processed in two runs or in
none, a partner that has expired or has not come yet, a row let go of while a waiting one can still meet it, a
bucket that hides partners, a window of rows with one too many, counts that are not what the paper counts, a
relation that is asked of one bound row only, rows that are never let go of, or sooner or later than asked.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from operator import eq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel
from oracles import reference
from oracles.reference import Result, assert_same_rows
from watersmeet.cost.comparisons import WindowLoad, multiway_cost, naive_cost
from watersmeet_lab.loops.algorithms import binary, counted, eager, general, hybrid, lazy, naive
from watersmeet_lab.loops.arrival import Arrival, Combination, in_order
from watersmeet_lab.loops.conditions import EQUAL, Conditions, Relation
from watersmeet_lab.loops.count_window import CircularWindow, NumberedWindow
from watersmeet_lab.loops.drive import Join, LazyJoin, results
from watersmeet_lab.loops.window import TimeWindow

Streams = list[list[tuple[float, int]]]

MOST_ROWS = {2: 16, 3: 10, 4: 7, 5: 5}
INTERVALS = [1, 2, 3, 7, 20, 100]


@st.composite
def arrivals(draw: st.DrawFn, streams: Sequence[int] = (2, 3, 4, 5)) -> tuple[list[float], list[Arrival]]:
    """Windows, some of no length, and rows: few times and few values, so that ties are common."""
    count = draw(st.sampled_from(list(streams)))
    lengths = draw(st.lists(st.sampled_from([0, 1, 2, 5, 9, 20]), min_size=count, max_size=count))
    row = st.tuples(st.integers(0, 25), st.integers(0, 2))
    rows: Streams = [draw(st.lists(row, max_size=MOST_ROWS[count])) for _ in range(count)]
    return lengths, in_order(rows)


@st.composite
def algorithms(draw: st.DrawFn, lengths: Sequence[float], conditions: Conditions = EQUAL) -> dict[str, Join]:
    """Each of the algorithms, in any order, with any buckets, and any times to run and to expire."""
    streams = range(len(lengths))
    order = draw(st.permutations(streams))
    orders = [draw(st.permutations(streams)) for _ in streams]
    buckets = [draw(st.sampled_from([1, 1, 2, 3, 5])) for _ in streams]
    interval = draw(st.sampled_from(INTERVALS))
    every = draw(st.none() | st.just(interval))
    after = draw(st.sampled_from([1, 1, 3]))
    found: dict[str, Join] = {
        "naive": naive(lengths, order, expire_every=every, conditions=conditions),
        "eager": eager(lengths, order, buckets, expire_every=every, conditions=conditions),
        "hybrid": hybrid(lengths, order, buckets, conditions, expire_every=every),
        "lazy naive": naive(lengths, order, interval, expire_after=after, conditions=conditions),
        "lazy": lazy(lengths, order, interval, buckets, expire_after=after, conditions=conditions),
        "general": general(lengths, orders, interval, buckets, expire_after=after, conditions=conditions),
        "lazy hybrid": hybrid(lengths, order, buckets, conditions, interval, expire_after=after),
    }
    if len(lengths) == 2:
        found["binary"] = binary(lengths, expire_every=every, conditions=conditions)
    return found


@st.composite
def joins(draw: st.DrawFn, lengths: Sequence[float]) -> Join:
    """Any of them on equal values."""
    found = draw(algorithms(lengths))
    return found[draw(st.sampled_from(sorted(found)))]


def defined(
    lengths: Sequence[float], rows: Sequence[Arrival], relations: Mapping[tuple[int, int], Relation]
) -> Counter[Combination]:
    """The definition: all that belong together, and have not expired when the last of them comes."""
    found: Counter[Combination] = Counter()
    pairs = list(combinations(range(len(lengths)), 2))
    for combination in product(*([row for row in rows if row.stream == s] for s in range(len(lengths)))):
        last = max(combination)
        alive = all(last.ts - row.ts <= lengths[row.stream] for row in combination)
        if alive and all(
            relations.get(pair, eq)(*(combination[stream].value for stream in pair)) for pair in pairs
        ):
            found[combination] += 1
    return found


@given(st.data(), arrivals())
def test_every_algorithm_finds_what_is_defined(
    data: st.DataObject, given: tuple[list[float], list[Arrival]]
) -> None:
    lengths, rows = given
    expected = defined(lengths, rows, {})
    for name, join in data.draw(algorithms(lengths)).items():
        assert Counter(results(join, rows)) == expected, name


@given(st.data(), histories(streams=(2, 3, 4, 5), keys=("int",)))
def test_the_kernel_and_the_loops_agree(data: st.DataObject, history: History) -> None:
    """Rows of a history come out of order; the loops take them in order."""
    tables = history.tables()
    ordered = [sorted(table.rows, key=lambda row: row.ts) for table in tables]
    rows = in_order([[(row.ts, row.key[0]) for row in table] for table in ordered])
    found: list[Result] = [
        (*(ordered[row.stream][row.number].value for row in combination), int(max(combination).ts))
        for combination in results(data.draw(joins(history.windows)), rows)
    ]
    assert_same_rows(found, reference.join(tables))
    assert_same_rows(Kernel(history.windows).run(history), found)


RELATIONS: dict[str, Relation] = {
    "near": lambda one, other: abs(one - other) <= 1,
    "less": lambda one, other: one < other,
    "differ": lambda one, other: one != other,
}


@given(st.data(), arrivals((2, 3, 4)))
def test_relations_and_equalities_in_one_join(
    data: st.DataObject, given: tuple[list[float], list[Arrival]]
) -> None:
    lengths, rows = given
    pairs = list(combinations(range(len(lengths)), 2))
    some = st.dictionaries(st.sampled_from(pairs), st.sampled_from(sorted(RELATIONS)))
    relations = {pair: RELATIONS[name] for pair, name in data.draw(some).items()}
    expected = defined(lengths, rows, relations)
    for name, join in data.draw(algorithms(lengths, Conditions(relations))).items():
        assert Counter(results(join, rows)) == expected, name


@pytest.mark.parametrize("last", [0, 1, 2])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_relation_is_asked_of_every_pair(last: int, order: tuple[int, ...]) -> None:
    """1 is near 2 and 2 is near 3, but 1 is not near 3, whichever of them a loop comes to first."""
    near = Conditions(dict.fromkeys(combinations(range(3), 2), RELATIONS["near"]))

    def found(*values: int) -> list[int]:
        rows = in_order([[(9 if stream == last else stream, value)] for stream, value in enumerate(values)])
        return [
            len(results(join, rows))
            for join in (
                naive([20] * 3, order, conditions=near),
                eager([20] * 3, order, conditions=near),
                hybrid([20] * 3, order, [2] * 3, near),
                lazy([20] * 3, order, 5, conditions=near),
                general([20] * 3, [order] * 3, 5, conditions=near),
                counted([1] * 3, order, conditions=near),
            )
        ]

    assert found(1, 2, 3) == found(2, 1, 3) == found(1, 3, 2) == [0] * 6
    assert found(2, 2, 3) == found(1, 2, 1) == [1] * 6


def test_windows_with_an_index_are_inside() -> None:
    join = hybrid([10] * 4, (2, 0, 3, 1), [4, 1, 1, 4], Conditions())
    assert join._orders == [(0, 2, 1, 3), (1, 2, 0, 3), (2, 1, 0, 3), (3, 2, 1, 0)]  # type: ignore[attr-defined]


def last_rows(
    counts: Sequence[int], rows: Sequence[Arrival], relations: Mapping[tuple[int, int], Relation]
) -> Counter[Combination]:
    """The definition for windows of rows: the last of each stream that came before the last of all."""
    found: Counter[Combination] = Counter()
    pairs = list(combinations(range(len(counts)), 2))
    for place, last in enumerate(rows):
        windows = [
            [last]
            if stream == last.stream
            else [row for row in rows[:place] if row.stream == stream][-counts[stream] :]
            for stream in range(len(counts))
        ]
        for combination in product(*windows):
            if all(relations.get(pair, eq)(*(combination[s].value for s in pair)) for pair in pairs):
                found[combination] += 1
    return found


@given(st.data(), arrivals(), st.sampled_from([None, *sorted(RELATIONS)]))
def test_windows_of_rows(
    data: st.DataObject, given: tuple[list[float], list[Arrival]], relation: str | None
) -> None:
    streams, rows = range(len(given[0])), given[1]
    counts = [data.draw(st.integers(1, 4)) for _ in streams]
    order = data.draw(st.permutations(streams))
    buckets = [data.draw(st.sampled_from([1, 2, 3])) for _ in streams]
    tick, after = data.draw(st.sampled_from(INTERVALS)), data.draw(st.sampled_from([1, 3]))
    relations = {(0, 1): RELATIONS[relation]} if relation else {}
    conditions = Conditions(relations)
    expected = last_rows(counts, rows, relations)
    for join in (
        counted(counts, order, None, buckets, conditions=conditions),
        counted(counts, order, None, buckets, conditions=conditions, expire_every=tick),
        counted(counts, order, tick, buckets, conditions=conditions, expire_after=after),
    ):
        assert Counter(results(join, rows)) == expected


@given(arrivals(), st.sampled_from(INTERVALS), st.integers(1, 3), st.integers(1, 3))
def test_neither_the_interval_nor_expiration_changes_results(
    given: tuple[list[float], list[Arrival]], interval: float, after: int, buckets: int
) -> None:
    lengths, rows = given
    order, numbers = range(len(lengths)), [buckets] * len(lengths)
    expected = Counter(results(eager(lengths, order), rows))
    for join in (
        naive(lengths, order, expire_every=interval),
        eager(lengths, order, numbers, expire_every=interval),
        hybrid(lengths, order, numbers, EQUAL, expire_every=interval),
        naive(lengths, order, interval, expire_after=after),
        lazy(lengths, order, interval, numbers, expire_after=after),
        general(lengths, [order] * len(lengths), interval, numbers, expire_after=after),
        hybrid(lengths, order, numbers, EQUAL, interval, expire_after=after),
        lazy(lengths, order, 1000),
    ):
        assert Counter(results(join, rows)) == expected
    counts = [3] * len(lengths)
    expected = Counter(results(counted(counts, order), rows))
    for join in (
        counted(counts, order, expire_every=interval),
        counted(counts, order, interval, numbers, expire_after=after),
        counted(counts, order, 1000),
    ):
        assert Counter(results(join, rows)) == expected


@given(st.data(), arrivals(), st.sampled_from(INTERVALS), st.sampled_from([1, 2, 5]), st.integers(1, 3))
def test_windows_grow_by_the_time_between_two_looks_and_no_more(
    data: st.DataObject,
    given: tuple[list[float], list[Arrival]],
    interval: float,
    buckets: int,
    after: int,
) -> None:
    lengths, rows = given
    order, numbers = range(len(lengths)), [buckets] * len(lengths)
    kinds: dict[str, tuple[Join, float]] = {
        "eager": (eager(lengths, order, numbers), 0),
        "now and then": (eager(lengths, order, numbers, expire_every=interval), interval),
        "lazy naive": (naive(lengths, order, interval, expire_after=after), after * interval),
        "lazy": (lazy(lengths, order, interval, numbers, expire_after=after), after * interval),
        "hybrid": (hybrid(lengths, order, numbers, EQUAL, interval, expire_after=after), after * interval),
    }
    join, grows_by = kinds[data.draw(st.sampled_from(sorted(kinds)))]
    after_look = []

    class Watched(TimeWindow):
        def expire(self, now: float) -> int:
            visits = super().expire(now)
            after_look.extend(now - row.ts - self.length for row in self.rows())
            return visits

    join.windows = [Watched(length, buckets) for length in lengths]
    for row in rows:
        join.arrive(row)
        for window, length in zip(join.windows, lengths, strict=True):
            assert all(row.ts - older.ts <= length + grows_by for older in window.rows())
    join.finish()
    assert all(over <= 0 for over in after_look)


@given(st.data(), arrivals(), st.sampled_from(INTERVALS), st.sampled_from([1, 2, 5]), st.integers(1, 3))
def test_windows_of_rows_grow_between_two_looks_and_no_more(
    data: st.DataObject,
    given: tuple[list[float], list[Arrival]],
    interval: float,
    buckets: int,
    after: int,
) -> None:
    rows, order = given[1], range(len(given[0]))
    counts = [data.draw(st.integers(1, 4)) for _ in order]
    numbers = [buckets] * len(counts)
    looks = Counter[int]()

    class Watched(NumberedWindow):
        def expire(self, now: float) -> int:
            visits = super().expire(now)
            looks[id(self)] += 1
            assert visits == buckets
            assert len(self.rows()) <= self.count
            return visits

    for join, runs in (
        (counted(counts, order, expire_every=interval, buckets=numbers), 1),
        (counted(counts, order, interval, numbers, expire_after=after), after),
    ):
        join.windows = [Watched(count, buckets) for count in counts]
        results(join, rows)
        ticks = math.ceil(max((row.ts for row in rows), default=0) / interval)
        # A lazy join runs once more in the end.
        expected = (ticks + 1) // runs if isinstance(join, LazyJoin) else ticks
        assert [looks[id(window)] for window in join.windows] == [expected] * len(counts)
        assert join.counts.visits == expected * sum(numbers)
    full = counted(counts, order, buckets=numbers)
    for row in rows:
        full.arrive(row)
        assert all(len(window.rows()) <= count for window, count in zip(full.windows, counts, strict=True))
    assert full.counts.visits == 0


def test_windows_of_rows_let_go_of_all_but_the_last() -> None:
    rows = [Arrival(ts, 0, ts, ts) for ts in range(10)]
    window = NumberedWindow(3, buckets=2)
    assert window.expire(0) == 2
    for row in rows:
        window.insert(row)
    assert window.expire(9) == 2
    assert sorted(window.rows()) == rows[-3:]
    full = CircularWindow(3, buckets=2)
    for row in rows:
        full.insert(row)
    assert full.expire(9) == 0
    assert sorted(full.rows()) == rows[-3:]


def test_what_belongs_to_the_other_kind_is_refused() -> None:
    with pytest.raises(AssertionError, match="right after a run"):
        naive([5, 5], (0, 1), 10, expire_every=3)
    with pytest.raises(AssertionError, match="no runs to count"):
        counted([5, 5], (0, 1), expire_after=2)


# Tables 2 and 3: windows of 100 s, all values equal, and the rows of the third stream are new at time 210.
EXAMPLE = in_order([[(90, 1), (100, 1)], [(150, 1), (180, 1)], [(195, 1), (205, 1)]])


def times(found: Sequence[Combination]) -> list[tuple[float, ...]]:
    return sorted(tuple(row.ts for row in combination) for combination in found)


def test_without_tests_of_age_the_lazy_naive_join_is_wrong() -> None:
    literal = results(naive([100] * 3, (0, 1, 2), 30, timed=False), EXAMPLE)
    assert times(literal) == sorted(product((90, 100), (150, 180), (195, 205)))
    right = [(100, 150, 195), (100, 180, 195)]
    for join in (
        naive([100] * 3, (0, 1, 2), 30),
        lazy([100] * 3, (0, 1, 2), 30),
        eager([100] * 3, (0, 1, 2)),
    ):
        assert times(results(join, EXAMPLE)) == right


def test_a_row_at_a_tick_is_new_once() -> None:
    rows = in_order([[(0, 1), (5, 1), (10, 1)], [(5, 1), (10, 1)]])
    for interval in (1, 5, 10):
        assert len(results(lazy([100, 100], (0, 1), interval), rows)) == 6


def test_a_row_that_waits_meets_what_has_expired_since() -> None:
    """The first row expires at 10, while the second still waits for the run at 15."""
    rows = in_order([[(0, 1)], [(9, 1)]])
    join = lazy([10, 10], (0, 1), 15)
    assert join.arrive(rows[0]) == join.arrive(rows[1]) == []
    assert join.arrive(Arrival(30, 0, 1, 1)) == [tuple(rows)]


def generated(loads: Sequence[WindowLoad], time: float, seed: int) -> list[Arrival]:
    """Streams drawn by their rates, times a tick apart (Sect. 6.1)."""
    random = np.random.default_rng(seed)
    rates = np.array([load.rate for load in loads])
    streams = random.choice(len(loads), int(time * rates.sum()), p=rates / rates.sum())
    rows, numbers = [], Counter[int]()
    for index, stream in enumerate(streams.tolist()):
        value = int(random.integers(loads[stream].distinct))
        rows.append(Arrival(index / rates.sum(), stream, numbers[stream], value))
        numbers[stream] += 1
    return rows


def per_time(join: Join, rows: Sequence[Arrival], warm: float) -> float:
    """Comparisons per time unit, once windows are full."""
    before = next(place for place, row in enumerate(rows) if row.ts >= warm)
    for row in rows[:before]:
        join.arrive(row)
    filled = join.counts.comparisons
    for row in rows[before:]:
        join.arrive(row)
    return (join.counts.comparisons - filled) / (rows[-1].ts - warm)


LOADS = [WindowLoad(4, 60, 20), WindowLoad(1, 80, 10), WindowLoad(2, 50, 40)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_counts_are_those_of_the_formula(order: tuple[int, ...]) -> None:
    lengths = [load.length for load in LOADS]
    rows = generated(LOADS, 500, seed=3)
    found = per_time(eager(lengths, order), rows, 80)
    assert found == pytest.approx(multiway_cost(LOADS, order), rel=0.06)
    short = [replace(load, length=load.length / 4) for load in LOADS]
    found = per_time(naive([load.length for load in short], order), rows, 80)
    assert found == pytest.approx(naive_cost(short, order), rel=0.06)


def test_counts_of_buckets_are_those_of_the_formula() -> None:
    loads = [replace(load, buckets=5) for load in LOADS]
    join = eager([load.length for load in loads], (0, 1, 2), [5] * 3)
    found = per_time(join, generated(loads, 800, seed=5), 80)
    assert found == pytest.approx(multiway_cost(loads, (0, 1, 2)), rel=0.06)
    assert join.counts.visits == 15 * 800 * 7


def test_visits_of_lazy_expiration() -> None:
    rows = [Arrival(ts, ts % 2, ts // 2, 0) for ts in range(1, 31)]
    join = lazy([5, 5], (0, 1), 10, [3, 4])
    results(join, rows)
    # Runs at 0, 10, 20 and, in the end, 30.
    assert join.counts.visits == 4 * 7
    # A row of the first stream scans the second at the run, and the other way round.
    half = lazy([5, 5], (0, 1), 10)
    for row in rows[:15]:
        half.arrive(row)
    assert half.counts.comparisons == 5 * 5 + 5 * 5


def test_rows_expire_after_every_so_many_runs() -> None:
    rows = [Arrival(ts, ts % 2, ts // 2, 0) for ts in range(1, 31)]
    for join in (
        naive([5, 5], (0, 1), 2, expire_after=3),
        lazy([5, 5], (0, 1), 2, expire_after=3),
        hybrid([5, 5], (0, 1), [1, 1], EQUAL, 2, expire_after=3),
    ):
        held = []
        for row in rows:
            join.arrive(row)
            held.append(sum(len(window.rows()) for window in join.windows))
        # Runs are at 0, 2, 4 and so on, and every third looks for expired rows: those at 4, 10, 16, 22, 28.
        # The row of time 11 is the first to come after the second of these, which leaves the times 5 to 10.
        assert held[:11] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 7]
        assert join.counts.visits == 2 * 5
