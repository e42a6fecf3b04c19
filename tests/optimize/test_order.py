"""Optimizers of probe orders find what the paper says they find, and the exact one the cheapest there is.

Would catch: a heuristic that compares the wrong sizes, a search that misses orders, a tie that depends on
chance, more steps than allowed.
"""

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.cost.comparisons import (
    WindowLoad,
    general_cost,
    head_first,
    multiway_cost,
    origin_cost,
    result_size,
)
from watersmeet.cost.orders import Loop, OrderProblem
from watersmeet.cost.visit import COST_MODELS, comparisons
from watersmeet.optimize.order.augmented import augmented, augmented_orders, fast_streams
from watersmeet.optimize.order.by_rank import by_rank, orders_by_rank
from watersmeet.optimize.order.by_size import by_size, orders_by_size
from watersmeet.optimize.order.exhaustive import exhaustive
from watersmeet.optimize.order.lazy import lazy
from watersmeet.optimize.order.optimizers import ORDER_OPTIMIZERS, REASONS
from watersmeet.optimize.search_steps import NoStepsLeft, SearchSteps

TABLE_5 = [(10, 100, 500), (1, 100, 50), (1, 200, 40), (3, 100, 5)]
TABLE_6 = [(100, 100, 200), (1, 100, 200), (1, 100, 20), (3, 100, 2)]
TABLE_7 = [(11, 100, 200), (10, 100, 100), (1, 100, 65), (1, 100, 20)]


def problem(
    table: list[tuple[float, float, float]], tick: float | None = None, model: str = "comparisons"
) -> OrderProblem:
    """Windows with one attribute in common: rate, length, distinct values."""

    def match(parts: frozenset[int]) -> float:
        return result_size([1.0] * len(parts), [table[part][2] for part in parts]) if parts else 1.0

    loops = tuple(Loop(rate, rate * length, values) for rate, length, values in table)
    everyone = frozenset(range(len(table)))
    linked = tuple(everyone - {part} for part in everyone)
    return OrderProblem(loops, match, match, linked, COST_MODELS[model], tick)


def digits(order: tuple[int, ...]) -> str:
    return "".join(str(part + 1) for part in order)


def globally(table: list[tuple[float, float, float]], order: tuple[int, ...]) -> float:
    return multiway_cost([WindowLoad(*row) for row in table], order)


def test_smallest_result_first() -> None:
    assert [digits(one) for one in orders_by_size(problem(TABLE_5))] == ["1234", "2134"]
    assert "2341" in [digits(one) for one in orders_by_size(problem(TABLE_6))]
    assert [digits(one) for one in orders_by_size(problem(TABLE_7))] == ["3412", "4312"]


def test_fewest_matches_per_probe_first() -> None:
    assert digits(orders_by_rank(problem(TABLE_5))[0]) in {"1234", "2134"}
    assert digits(orders_by_rank(problem(TABLE_6))[0]) == "2314"
    assert digits(orders_by_rank(problem(TABLE_7))[0]) == "3412"


@pytest.mark.parametrize(("table", "fast"), [(TABLE_5, [0]), (TABLE_6, [0]), (TABLE_7, [0, 1])])
def test_fast_streams(table: list[tuple[float, float, float]], fast: list[int]) -> None:
    assert fast_streams(problem(table)) == fast


@pytest.mark.parametrize(("table", "best"), [(TABLE_5, 16000), (TABLE_6, 80400), (TABLE_7, 47976.9)])
def test_moving_fast_streams_ahead_finds_the_best_order_of_the_paper(
    table: list[tuple[float, float, float]], best: float
) -> None:
    least = min(globally(table, order) for order in augmented_orders(problem(table), SearchSteps()))
    assert least == pytest.approx(best, abs=0.05)


def test_the_problem_has_the_costs_of_the_paper() -> None:
    for tick in (None, 7.0):
        windows = [WindowLoad(*row) for row in TABLE_5]
        asked = problem(TABLE_5, tick)
        for order in permutations(range(4)):
            for head in range(4):
                one = head_first(head, order) if tick is None else order
                assert asked.cost(head, one) == pytest.approx(origin_cost(windows, head, one, tick))


rows = st.tuples(st.floats(0.1, 100), st.floats(0.1, 100), st.integers(1, 500))
tables = st.lists(rows, min_size=2, max_size=5)


@given(tables, st.one_of(st.none(), st.floats(0.1, 100)), st.sampled_from(sorted(COST_MODELS)))
def test_the_exact_search_finds_the_cheapest_of_all_orders(
    table: list[tuple[float, float, float]], tick: float | None, model: str
) -> None:
    asked = problem(table, tick, model)
    found = exhaustive(asked, SearchSteps())
    for head in asked.heads:
        orders = [one for one in permutations(asked.heads) if tick is not None or one[0] == head]
        least = min(asked.cost(head, order) for order in orders)
        assert asked.cost(head, found[head]) == pytest.approx(least)
        for name, optimizer in ORDER_OPTIMIZERS.items():
            order = optimizer(asked, SearchSteps())[head]
            assert sorted(order) == list(asked.heads), name
            assert tick is not None or order[0] == head, name
            assert asked.cost(head, order) >= least * (1 - 1e-9), name


@given(tables, st.floats(0.1, 100))
def test_with_a_tick_the_exact_search_is_the_general_join(
    table: list[tuple[float, float, float]], tick: float
) -> None:
    asked = problem(table, tick)
    cost = asked.total(exhaustive(asked, SearchSteps()))
    assert cost == pytest.approx(general_cost([WindowLoad(*row) for row in table], tick))


def test_new_rows_of_a_fast_stream_come_last_once_the_tick_is_long() -> None:
    """Figure 3(b) of the paper: with a rate of 10 the general join leaves the lazy one at a tick of 12."""
    table = [(1, 100, 50)] * 3 + [(10, 100, 50)]
    for optimizer in (lazy, lambda asked: exhaustive(asked, SearchSteps())):
        assert optimizer(problem(table, 11))[3][-1] != 3
        assert optimizer(problem(table, 50))[3][-1] == 3


@given(tables)
def test_heuristics_are_at_least_as_good_as_their_own_base(table: list[tuple[float, float, float]]) -> None:
    asked = problem(table)
    moved = asked.total(augmented(asked, SearchSteps()))
    assert moved <= min(asked.total(by_size(asked)), asked.total(by_rank(asked))) * (1 + 1e-9)


def keyless() -> OrderProblem:
    """Two inputs with a key, and one without that all rows meet."""

    def match(parts: frozenset[int]) -> float:
        return 0.01 if {0, 1} <= parts else 1.0

    loops = (Loop(10, 1000, 100), Loop(10, 500, 100), Loop(1, 50, scanned=True))
    everyone = (frozenset({1}), frozenset({0}), frozenset[int]())
    return OrderProblem(loops, match, match, everyone)


@pytest.mark.parametrize("tick", [None, 5.0])
@pytest.mark.parametrize("name", sorted(ORDER_OPTIMIZERS))
def test_rows_without_a_key_never_lead(name: str, tick: float | None) -> None:
    asked = keyless()
    asked = OrderProblem(asked.loops, asked.match, asked.key_match, asked.linked, asked.model, tick)
    for head, order in ORDER_OPTIMIZERS[name](asked, SearchSteps()).items():
        assert order[0] != 2
        if tick is None:
            assert order.index(head) == (head == 2)


def test_a_scan_is_put_off_where_look_ups_are_cheap() -> None:
    asked = keyless()
    assert exhaustive(asked, SearchSteps())[0] == (0, 1, 2)
    assert asked.step(0, 0, frozenset({0}), 2) == pytest.approx(10 * (1 + 50), rel=0.01)
    assert asked.step(0, 0, frozenset({0}), 1) == pytest.approx(10 * (1 + 5), rel=0.01)


def test_scans_are_put_outside_where_everything_is_compared() -> None:
    """The hybrid join of the paper: the list is small, the window with buckets large."""
    loops = (Loop(1, 100, 10), Loop(1, 100, 10, buckets=10), Loop(1, 20, 10))
    everyone = tuple(frozenset({0, 1, 2}) - {part} for part in range(3))
    asked = OrderProblem(loops, lambda parts: 10.0 ** (1 - len(parts)), lambda _: 1.0, everyone, comparisons)
    assert exhaustive(asked, SearchSteps())[0] == (0, 2, 1)
    assert asked.cost(0, (0, 1, 2)) == 10 + 10 * 20
    assert asked.cost(0, (0, 2, 1)) == 20 + 2 * 10


def test_no_more_steps_are_taken_than_allowed() -> None:
    asked = problem(TABLE_5)
    steps = 4 * (3 * 2**3 // 2)
    exhaustive(asked, SearchSteps(steps))
    with pytest.raises(NoStepsLeft):
        exhaustive(asked, SearchSteps(steps - 1))


def test_equal_windows_stay_as_written() -> None:
    for name, optimizer in ORDER_OPTIMIZERS.items():
        found = optimizer(problem([(1, 100, 50)] * 4, model="probes"), SearchSteps())
        assert found[2] == (2, 0, 1, 3), name


def test_every_optimizer_has_a_reason() -> None:
    assert REASONS.keys() == ORDER_OPTIMIZERS.keys()
    assert all(math.isfinite(len(reason)) and reason for reason in REASONS.values())


def test_the_keys_of_windows_thin_out_one_by_one() -> None:
    """A hundred rows over a hundred values leave out about a third of them."""
    asked = problem([(1, 100, 100), (1, 100, 100), (1, 1000, 10)], tick=1e-9, model="probes")
    assert asked.keys(2, 0, {0}) == pytest.approx(63.2, rel=0.01)
    assert asked.keys(2, 0, {0, 1}) == pytest.approx(40.0, rel=0.01)
    # Of ten values all are in the window, and those alone can be in common.
    assert asked.keys(0, 1, {1, 2}) == pytest.approx(6.32, rel=0.01)


def test_a_window_in_pieces_is_dear_to_go_through() -> None:
    """Its keys are looked up once for every piece they are in; new rows lie in one."""

    def match(parts: frozenset[int]) -> float:
        return 200.0 ** (1 - len(parts))

    everyone = frozenset(range(3))
    loops = tuple(Loop(40, 800, 200, runs=13) for _ in everyone)
    asked = OrderProblem(loops, match, match, tuple(everyone - {part} for part in everyone), tick=5)
    assert asked.keys(0, 0, {0}) == pytest.approx(200 * (1 - math.exp(-1)))
    assert asked.keys(0, 1, {1}) == pytest.approx(13 * 200 * (1 - math.exp(-1000 / 200 / 13)))
    assert exhaustive(asked, SearchSteps())[0] == (0, 1, 2)
