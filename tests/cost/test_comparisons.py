"""Golab & Özsu's cost formulas give the paper's numbers, and have the properties its heuristics rely on.

Would catch: a window counted twice, a bucket that thins results, a tick that lengthens the origin's own
window.
"""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.cost.comparisons import (
    WindowLoad,
    general_cost,
    multiway_cost,
    naive_cost,
    origin_cost,
    result_size,
)

# rate, window, distinct values
TABLE_5 = [(10, 100, 500), (1, 100, 50), (1, 200, 40), (3, 100, 5)]
TABLE_6 = [(100, 100, 200), (1, 100, 200), (1, 100, 20), (3, 100, 2)]
TABLE_7 = [(11, 100, 200), (10, 100, 100), (1, 100, 65), (1, 100, 20)]


def loads(table: list[tuple[float, float, float]], buckets: float = 1) -> list[WindowLoad]:
    return [WindowLoad(*row, buckets) for row in table]


def order(digits: str) -> tuple[int, ...]:
    return tuple(int(digit) - 1 for digit in digits)


@pytest.mark.parametrize(
    ("table", "digits", "cost"),
    [
        (TABLE_5, "1234", 16000),
        (TABLE_5, "1243", 16400),
        (TABLE_5, "1324", 18200),
        (TABLE_5, "1423", 19100),
        (TABLE_5, "2134", 19600),
        (TABLE_5, "4321", 86850),
        (TABLE_6, "2134", 80400),
        (TABLE_6, "1234", 120000),
        (TABLE_6, "2314", 123150),
        (TABLE_6, "2341", 248450),
        (TABLE_6, "4312", 646050),
        (TABLE_7, "3142", 47976.9),
        (TABLE_7, "4132", 47976.9),
        (TABLE_7, "3412", 49542.3),
        (TABLE_7, "3124", 51953.8),
        (TABLE_7, "1234", 68200),
        (TABLE_7, "2134", 79000),
    ],
)
def test_the_plans_of_the_tables(table: list[tuple[float, float, float]], digits: str, cost: float) -> None:
    assert multiway_cost(loads(table), order(digits)) == pytest.approx(cost, abs=0.05)


@pytest.mark.parametrize(
    ("table", "best", "worst"), [(TABLE_5, 16000, 86850), (TABLE_6, 80400, 646050), (TABLE_7, 47976.9, None)]
)
def test_best_and_worst_of_all_orders(
    table: list[tuple[float, float, float]], best: float, worst: float | None
) -> None:
    costs = [multiway_cost(loads(table), one) for one in permutations(range(4))]
    assert min(costs) == pytest.approx(best, abs=0.05)
    if worst is not None:
        assert max(costs) == pytest.approx(worst, abs=0.05)
        assert costs.count(min(costs)) == 1 or table is TABLE_6
    else:
        assert sum(costs) / len(costs) == pytest.approx(63361.5, abs=0.05)


def test_sizes_of_table_5() -> None:
    counts = [rate * length for rate, length, _ in TABLE_5]
    distinct = [values for _, _, values in TABLE_5]

    def size(*streams: int) -> float:
        return result_size([counts[s - 1] for s in streams], [distinct[s - 1] for s in streams])

    pairs = [size(*pair) for pair in [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]]
    assert pairs == [200, 400, 600, 400, 600, 1500]
    assert (size(1, 2, 3), size(1, 2, 4)) == (800, 1200)
    costs = [origin_cost(loads(TABLE_5), i, (i, *(j for j in range(4) if j != i))) for i in range(4)]
    assert costs == [3800, 3800, 2400, 6000]


@pytest.mark.parametrize(
    ("streams", "multiway", "naive"),
    [(2, 200, 200), (3, 900, 10800), (4, 2800, 42400), (5, 7500, 116400), (6, 18600, 276000)],
)
def test_figure_2(streams: int, multiway: float, naive: float) -> None:
    windows = loads([(1, 100, 50)] * streams)
    everything = tuple(range(streams))
    assert multiway_cost(windows, everything) == pytest.approx(multiway)
    assert naive_cost(windows, everything) == pytest.approx(naive)


def figure_3(fast: float) -> list[WindowLoad]:
    return loads([(1, 100, 50)] * 3 + [(fast, 100, 50)])


@pytest.mark.parametrize(
    ("fast", "tick", "lazily", "generally", "naively"),
    [
        (1, 1, 2869, 2869, 43471),
        (1, 50, 7800, 7800, 9300),
        (10, 1, 20450, 20450, 58307),
        (10, 50, 61800, 57600, 57900),
    ],
)
def test_figure_3(fast: float, tick: float, lazily: float, generally: float, naively: float) -> None:
    windows = figure_3(fast)
    assert multiway_cost(windows, (0, 1, 2, 3), tick) == pytest.approx(lazily, abs=0.5)
    assert general_cost(windows, tick) == pytest.approx(generally, abs=0.5)
    assert naive_cost(windows, (0, 1, 2, 3), tick) == pytest.approx(naively, abs=0.5)


@pytest.mark.parametrize(("fast", "tick", "least"), [(1, 21, 7037), (10, 8, 27137)])
def test_naive_evaluation_has_a_best_tick(fast: float, tick: int, least: float) -> None:
    costs = {one: naive_cost(figure_3(fast), (0, 1, 2, 3), one) for one in range(1, 51)}
    assert min(costs, key=costs.__getitem__) == tick
    assert costs[tick] == pytest.approx(least, abs=0.5)


def test_where_the_curves_of_figure_3b_part() -> None:
    """New tuples of the fast stream are best processed last from a tick of 12 on."""
    windows = figure_3(10)
    ticks = range(1, 51)
    apart = [t for t in ticks if general_cost(windows, t) < multiway_cost(windows, (0, 1, 2, 3), t) - 1e-6]
    below = [
        t for t in ticks if naive_cost(windows, (0, 1, 2, 3), t) < multiway_cost(windows, (0, 1, 2, 3), t)
    ]
    assert (min(apart), min(below)) == (12, 15)


amounts = st.floats(0.5, 200)
values = st.integers(1, 300)
window_loads = st.lists(st.builds(WindowLoad, amounts, amounts, values), min_size=2, max_size=4)


@given(window_loads, st.randoms(use_true_random=False), st.one_of(st.none(), amounts), amounts)
def test_swapping_the_first_two_windows_changes_nothing(
    windows: list[WindowLoad], random: object, tick: float | None, buckets: float
) -> None:
    windows = [WindowLoad(w.rate, w.length, w.distinct, buckets) for w in windows]
    one = list(range(len(windows)))
    random.shuffle(one)  # type: ignore[attr-defined]
    swapped = [one[1], one[0], *one[2:]]
    for origin in range(len(windows)):
        assert origin_cost(windows, origin, one, tick) == pytest.approx(
            origin_cost(windows, origin, swapped, tick)
        )


@given(window_loads, amounts)
def test_general_is_at_most_lazy_and_naive(windows: list[WindowLoad], tick: float) -> None:
    everything = range(len(windows))
    least = min(
        min(multiway_cost(windows, one, tick), naive_cost(windows, one, tick))
        for one in permutations(everything)
    )
    assert general_cost(windows, tick) <= least * (1 + 1e-9)


@given(
    st.lists(st.builds(WindowLoad, amounts, amounts, st.integers(2, 300)), min_size=2, max_size=4).map(
        lambda found: [WindowLoad(w.rate, max(w.length, 2 / w.rate), w.distinct) for w in found]
    )
)
def test_new_tuples_first_is_never_worse_than_the_naive_order(windows: list[WindowLoad]) -> None:
    """With two join values or more, and two tuples in a window; of windows with one tuple it is not true."""
    for one in permutations(range(len(windows))):
        assert multiway_cost(windows, one) <= naive_cost(windows, one) * (1 + 1e-9)


@given(window_loads, st.randoms(use_true_random=False))
def test_the_size_of_a_result_does_not_depend_on_the_order(windows: list[WindowLoad], random: object) -> None:
    counts = [w.rate * w.length for w in windows]
    shuffled = list(range(len(windows)))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    # The paper's recursive definition, window by window.
    size, least = counts[shuffled[0]], windows[shuffled[0]].distinct
    for number in shuffled[1:]:
        size *= counts[number] / max(least, windows[number].distinct)
        least = min(least, windows[number].distinct)
    assert result_size(counts, [w.distinct for w in windows]) == pytest.approx(size)


@given(window_loads, st.floats(1, 40))
def test_equal_buckets_divide_every_plan(windows: list[WindowLoad], buckets: float) -> None:
    hashed = [WindowLoad(w.rate, w.length, w.distinct, buckets) for w in windows]
    for one in permutations(range(len(windows))):
        assert multiway_cost(hashed, one) * buckets == pytest.approx(multiway_cost(windows, one))


def test_the_formulas_of_the_appendix_for_four_streams() -> None:
    """Written out as in the paper, for one order; n are window counts, phi sizes of results."""
    windows, tick = loads(TABLE_5), 7.0
    r = [w.rate for w in windows]
    for t in (None, tick):
        extra = t or 0
        n = [w.rate * (w.length + extra) for w in windows]
        length = [w.length + extra for w in windows]

        def phi(*streams: int, n: list[float] = n) -> float:
            return result_size([n[s] for s in streams], [windows[s].distinct for s in streams])

        last = [
            r[0] * n[1] + (phi(0, 1) * n[2] + phi(0, 1, 2) * n[3]) / length[0],
            r[1] * n[0] + (phi(0, 1) * n[2] + phi(0, 1, 2) * n[3]) / length[1],
            r[2] * n[0] + (phi(0, 2) * n[1] + phi(0, 1, 2) * n[3]) / length[2],
            r[3] * n[0] + (phi(0, 3) * n[1] + phi(0, 1, 3) * n[2]) / length[3],
        ]
        assert multiway_cost(windows, (0, 1, 2, 3), t) == pytest.approx(sum(last))
