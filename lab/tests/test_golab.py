"""The experiments of Golab & Özsu 2003.

Would catch: counts by arithmetic that are not the loops' own, claims that hold whatever is counted, figures
under the wrong name, draws that are the same, buckets that are shared out wrongly, an experiment that cannot
be run at another size.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.cost.comparisons import WindowLoad, multiway_cost
from watersmeet_lab.golab import budgets, intervals, laziness, loops, plans, scaling, tables, validation
from watersmeet_lab.golab.counted import Counting
from watersmeet_lab.golab.paper import paper
from watersmeet_lab.golab.rates import COMPARISON, VISIT, counting, rate, visit_price
from watersmeet_lab.golab.setting import (
    FULL,
    QUICK,
    TABLE_5,
    WARM,
    Loads,
    Size,
    alike,
    drawn,
    named,
    new_first,
    seeds,
    with_buckets,
)
from watersmeet_lab.loops.algorithms import eager, general, naive
from watersmeet_lab.loops.drive import results
from watersmeet_lab.papers.bench import Options, changed
from watersmeet_lab.papers.draws import averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

SMALL = Size(600, draws=2, checked=60)


def verdicts(experiment: Experiment) -> dict[str, bool]:
    return {claim.text: claim.holds for claim in experiment.claims}


def refuted(experiment: Experiment) -> list[str]:
    return [text for text, holds in verdicts(experiment).items() if not holds]


def test_the_page_has_all_figures() -> None:
    titles = " ".join(step.title for step in paper(Options()).steps)
    wanted = ("Tables 2", "Fig. 2", "Fig. 3", "Tables 5", "Table 8", "Fig. 4(a)", "Fig. 4(b)")
    assert all(name in titles for name in wanted)
    assert len(paper(Options(full=True)).steps) == len(paper(Options()).steps)


@pytest.mark.parametrize("size", [QUICK, FULL, SMALL])
def test_intervals_fit_into_what_is_counted(size: Size) -> None:
    for interval in (*laziness.INTERVALS, *intervals.INTERVALS, budgets.INTERVAL, 5, 10):
        assert WARM % interval == size.stretch % interval == 0


def test_rows_come_by_the_rates() -> None:
    rows = drawn(TABLE_5, 30_000, seed=1)
    shares = np.bincount(rows.streams) / len(rows.streams)
    assert shares == pytest.approx([10 / 15, 1 / 15, 1 / 15, 3 / 15], abs=0.01)
    for stream, load in enumerate(TABLE_5):
        assert set(rows.values[rows.streams == stream].tolist()) == set(range(1, int(load.distinct) + 1))
    assert (drawn(TABLE_5, 50, seed=2).values != rows.values[:50]).any()
    assert len({*seeds(1, 10), *seeds(2, 10)}) == 20


@st.composite
def streams(draw: st.DrawFn) -> Loads:
    loads = [
        WindowLoad(draw(st.integers(1, 3)), draw(st.integers(1, 9)), draw(st.integers(1, 6)))
        for _ in range(draw(st.integers(2, 4)))
    ]
    return with_buckets(tuple(loads), *(draw(st.integers(1, 4)) for _ in loads))


@given(st.data(), streams(), st.integers(0, 1000))
def test_arithmetic_counts_what_the_loops_count(data: st.DataObject, loads: Loads, seed: int) -> None:
    per_unit = int(sum(load.rate for load in loads))
    rows = drawn(loads, 12 * per_unit, seed)
    lengths, buckets = [load.length * per_unit for load in loads], [int(load.buckets) for load in loads]
    orders = [data.draw(st.permutations(range(len(loads)))) for _ in loads]
    interval = data.draw(st.sampled_from([1, 2, 3, 6]))

    lazily = general(lengths, orders, interval * per_unit, buckets)
    found = results(lazily, loops.arrivals(rows))
    counts = Counting(loads, rows, 0, interval)
    assert lazily.counts.comparisons == pytest.approx(12 * counts.comparisons(orders))
    # The loops look for expired rows at time 0 as well.
    assert lazily.counts.visits == pytest.approx(12 * counts.visits + sum(buckets))

    at_once = eager(lengths, orders[0], buckets)
    assert sorted(results(at_once, loops.arrivals(rows))) == sorted(found)
    counts = Counting(loads, rows, 0)
    assert at_once.counts.comparisons == pytest.approx(12 * counts.comparisons(new_first(orders[0])))
    assert at_once.counts.visits == pytest.approx(12 * counts.visits)

    as_it_stands = naive(lengths, orders[0])
    results(as_it_stands, loops.arrivals(rows))
    counts = Counting(with_buckets(loads, 1), rows, 0)
    same = [orders[0]] * len(loads)
    assert as_it_stands.counts.comparisons == pytest.approx(12 * counts.comparisons(same))


def test_rows_before_the_stretch_fill_windows_and_do_not_count() -> None:
    order = new_first((0, 1, 2))
    rows = drawn(alike(3), 3 * 900, seed=1)
    whole, first, second = (
        Counting(alike(3), rows, 0),
        Counting(alike(3), type(rows)(rows.streams[:1800], rows.values[:1800]), 0),
        Counting(alike(3), rows, 1800),
    )
    together = 600 * first.comparisons(order) + 300 * second.comparisons(order)
    assert together == pytest.approx(900 * whole.comparisons(order))


def test_a_rate_is_what_the_prices_leave_time_for() -> None:
    assert rate(alike(4), comparisons=1000, visits=0) == pytest.approx(4 / (1000 * COMPARISON))
    assert rate(alike(4), comparisons=840, visits=10) == pytest.approx(4 / (1000 * COMPARISON))
    counts = counting(with_buckets(alike(4), 5), SMALL, 1, 10)
    assert counts.visits == 2


def test_prices_are_fitted_to_one_figure_each() -> None:
    assert VISIT == 16
    asked = [visit_price(intervals.BUCKETS[name], tick) for name, tick in intervals.PRINTED.items()]
    assert asked == pytest.approx([28, 15.75, 7])
    best = multiway_cost(TABLE_5, (0, 1, 2, 3))
    assert rate(TABLE_5, best, 4 * 15) == pytest.approx(1614)
    # By the price, and ages being tested, the interval it is fitted to is the best.
    buckets, growth = 40, multiway_cost(with_buckets(alike(4), 10), range(4)) / 100
    costs = {tick: growth * tick + VISIT * buckets / tick for tick in range(1, 51)}
    assert min(costs, key=costs.__getitem__) == 15
    judged_intervals = [
        claim.text
        for claim in intervals._best(averaged([{"rate": {name: [1.0] * 20 for name in intervals.BUCKETS}}]))
    ]
    assert not any("about 15" in text for text in judged_intervals), "what is fitted is not judged"


def test_the_loops_themselves() -> None:
    experiment = loops.loops(SMALL, 1, Tracker())
    assert not changed(experiment.claims)
    assert len(experiment.tables[0].rows) == len(loops.ALGORITHMS) + 1


def test_claims_about_the_loops_can_fail() -> None:
    row = loops.EXAMPLE[0]
    one = loops.Found(loops.Counter({(row,): 2}), 5, 1, 4)
    found = dict.fromkeys([*loops.ALGORITHMS, loops.LITERAL], one)
    assert len(refuted(loops.judged({False: [(row,)], True: [(row,)]}, found, 1))) == 3
    for name in ("binary", "hybrid, lazy", "count-based, lazy"):
        right = loops.Found(loops.Counter({(row,): 1}), 5, 1, 5)
        wrong = loops.Found(loops.Counter({(row, row): 1, (row,): 1}), 5, 1, 5)
        each = {**dict.fromkeys(loops.ALGORITHMS, right), loops.LITERAL: wrong}
        example = {False: [(row,)] * 8, True: [(row,)] * 2}
        assert refuted(loops.judged(example, each, 1)) == []
        assert [text[:9] for text in refuted(loops.judged(example, {**each, name: wrong}, 1))] == [
            "All other"
        ]


def test_all_experiments_run_at_another_size() -> None:
    experiments = [
        make(SMALL, 1, Tracker())
        for make in (
            scaling.scaling,
            laziness.laziness,
            tables.tables,
            validation.validation,
            intervals.intervals,
        )
    ]
    drawn_again = scaling.scaling(SMALL, 2, Tracker())
    assert drawn_again.charts[0].panels[0].lines[2:] != experiments[0].charts[0].panels[0].lines[2:]
    for experiment in experiments:
        assert all(len(claim.draws) in (0, 2) for claim in experiment.claims)
        for chart in experiment.charts:
            assert {line.source for panel in chart.panels for line in panel.lines} == {"formula", "measured"}


def test_claims_about_the_number_of_windows_can_fail() -> None:
    curves = {"counted": {scaling.MULTIWAY: [9.0] * 5, scaling.NAIVE: [9.0] * 5}}
    found = refuted(scaling.judged(SMALL, averaged([curves])))
    assert [text[:9] for text in found] == ["So it is ", "Counts ar"]
    model = scaling.formula()
    assert model[scaling.MULTIWAY] == [200, 900, 2800, 7500, 18600]
    assert model[scaling.NAIVE] == pytest.approx([200, 10800, 42400, 116400, 276000])


def test_orders_of_lazy_joins() -> None:
    fast = laziness.CASES[laziness.FAST]
    small, large = laziness.best_orders(fast, 1), laziness.best_orders(fast, 50)
    assert [order[0] for order in small[laziness.GENERAL]] == [0, 1, 2, 3]
    assert large[laziness.GENERAL][3][-1] == 3
    assert len({tuple(order) for order in large[laziness.NAIVE]}) == 1
    assert [order[0] for order in large[laziness.LAZY]] == [0, 1, 2, 3]


def test_claims_about_lazy_joins_can_fail() -> None:
    model = {case: laziness.formula(loads) for case, loads in laziness.CASES.items()}
    by_text = verdicts(laziness.judged(SMALL, averaged([model])))
    assert [text for text, holds in by_text.items() if not holds] == [
        text for text in by_text if "Counted" in text
    ]

    def falling(*names: str) -> Mapping[str, Sequence[float]]:
        places = len(laziness.INTERVALS)
        return {
            name: [float(10 * len(names) - n - place) for place in range(places)]
            for n, name in enumerate(names)
        }

    lowest = laziness._lowest()
    assert not changed(lowest)
    assert [claim.found for claim in lowest] == ["7037 at 21, 27137 at 8", "never, from 15 on"]

    wrong = falling(laziness.GENERAL, laziness.LAZY, laziness.NAIVE)
    assert not any(claim.holds for claim in laziness._equal(wrong))
    assert [claim.holds for claim in laziness._fast(wrong)] == [False, False, True, False, False]


def test_plans_of_the_paper() -> None:
    five, six, seven = (plans.plans(loads) for loads in plans.TABLES.values())
    assert (five.best, five.worst) == ("1234", "4321")
    assert (six.best, six.worst, six.cheapest) == ("2134", "4312", "2134")
    assert (seven.best, seven.costs["4132"]) == ("3142", pytest.approx(seven.costs["3142"]))
    assert not changed((*tables._claims_5(five), *tables._claims_6(six), *tables._claims_7(seven)))


def test_claims_about_plans_can_fail() -> None:
    every = [named(order) for order in permutations(range(4))]
    backwards = plans.Plans(
        {plan: float(cost) for cost, plan in enumerate(reversed(every), 1)},
        ["4321"],
        ["4321"],
        [],
        ["4321", "1234"],
    )
    claims = (*tables._claims_5(backwards), *tables._claims_6(backwards), *tables._claims_7(backwards))
    held = {claim.text.split(":")[1] for claim in claims if claim.holds}
    assert len(held) == 4
    assert all("moving" in text or "fast streams" in text for text in held)
    figures = {
        table: {plan: [float(cost)] for cost, plan in enumerate(backwards.costs, 1)} for table in plans.TABLES
    }
    assert len(refuted(tables.judged(SMALL, averaged([figures])))) == 2


def rates(by_name: Sequence[float], comparisons: float = 10) -> dict[str, dict[str, Sequence[float]]]:
    """The same rate for all plans, but for the worst, which is as far behind as in the paper."""
    every = [named(order) for order in permutations(range(4))]
    return {
        name: {
            plan: [ours / validation._printed(name), 2 * comparisons]
            if plan == "4321"
            else [ours, comparisons]
            for plan in every
        }
        for name, ours in zip(validation.ROWS, by_name, strict=True)
    }


def test_claims_about_best_and_worst_plans_can_fail() -> None:
    printed = [float(both[0]) for *_, both in validation.ROWS.values()]
    as_printed = validation.judged(SMALL, averaged([rates(printed)]))
    assert refuted(as_printed) == []
    assert len(changed(as_printed.claims)) == 5, "what is known not to hold has changed"
    assert [row[5] for row in as_printed.tables[0].rows] == ["4.85", "4.89", "4.86", "4.57", "4.13", "4.30"]
    assert all(row[5] == row[6] for row in as_printed.tables[0].rows)
    rising = rates([6.0, 7.0, 8.0, 1.0, 2.0, 3.0])
    for figures in rising.values():
        figures["2341"], figures["4321"] = [9.0, 1.0], [figures["1234"][0] / 4, 2.0]
    otherwise = validation.judged(SMALL, averaged([rising]))
    assert [claim.holds for claim in otherwise.claims] == [False] * 8 + [True, False]


@pytest.mark.parametrize("name", list(validation.ROWS))
def test_each_printed_ratio_is_judged(name: str) -> None:
    figures = rates([float(both[0]) for *_, both in validation.ROWS.values()])
    rate, comparisons = figures[name]["4321"]
    figures[name]["4321"] = [rate * 1.12, comparisons]
    label = "buckets" if "hash" in name else "nested loops"
    found = refuted(validation.judged(SMALL, averaged([figures])))
    assert [text for text in found if "times slower" in text and label in text]


def test_claims_about_intervals_can_fail() -> None:
    places = intervals.INTERVALS

    def figures(
        bests: Sequence[float], heights: Sequence[float]
    ) -> Mapping[str, Mapping[str, Sequence[float]]]:
        """Curves that have their highest point where they are told to."""
        curves = {
            name: [height / (1 + abs(np.log(place / best)) / 10) for place in places]
            for name, best, height in zip(intervals.BUCKETS, bests, heights, strict=True)
        }
        growth = {name: [28 * place / b for place in places] for name, b in intervals.BUCKETS.items()}
        return {"rate": curves, "comparisons": growth}

    as_printed = intervals.judged(SMALL, averaged([figures((1, 4, 15, 30), (10, 100, 200, 300))]))
    assert [text[:10] for text in refuted(as_printed)] == ["Very large"]
    otherwise = intervals.judged(SMALL, averaged([figures((0.25, 100, 100, 1), (10, 9, 8, 900))]))
    price = next(claim.text for claim in otherwise.claims if "prices" in claim.text)
    assert set(refuted(otherwise)) == {claim.text for claim in otherwise.claims} - {price}
    same = intervals.judged(SMALL, averaged([figures((1, 15, 15, 15), (10, 100, 200, 300))]))
    assert len([text for text in refuted(same) if text.startswith("The best τ")]) == 2, (
        "a place is not a trend"
    )


def test_buckets_are_shared_out() -> None:
    assert [load.buckets for load in budgets.loads(budgets.FIVE, 12) or ()] == [5, 5, 5, 33]
    assert [load.buckets for load in budgets.loads(budgets.ONE, 8) or ()] == [1, 1, 1, 29]
    assert [load.buckets for load in budgets.loads(budgets.EQUAL, 12) or ()] == [12] * 4
    assert budgets.loads(budgets.TEN, 7) is None
    assert budgets.places(budgets.TEN)[0] == 8


def test_claims_about_budgets_can_fail() -> None:
    def judged(**by_average: Callable[[int], float]) -> Experiment:
        curves = {
            name: [float(rate(a)) for a in budgets.places(name)]
            for name, rate in zip(budgets.STRATEGIES, by_average.values(), strict=True)
        }
        # Comparisons whose peak is where a visit costs nothing: at the highest rate.
        work = {name: [1e9 / ours for ours in rates] for name, rates in curves.items()}
        return budgets.judged(SMALL, averaged([{"rate": curves, "comparisons": work}]))

    as_claimed = judged(
        equal=lambda a: 540 * a,
        one=lambda a: 2000 - abs(a - 8),
        five=lambda a: 10_500 - 100 * abs(a - 12),
        ten=lambda a: (700 if a <= 13 else 900) * a,
    )
    assert [text[:8] for text in refuted(as_claimed)] == ["Hardly a"]
    otherwise = judged(
        equal=lambda a: 20_000 - a,
        one=lambda a: 1000 * a,
        five=lambda _: 100,
        ten=lambda a: 200 if a <= 13 else 50,
    )
    assert len(refuted(otherwise)) == len(otherwise.claims) - 1
    assert not any(text.startswith("Hardly") for text in refuted(otherwise))


def test_budgets_are_counted() -> None:
    experiment = budgets.budgets(Size(600, draws=1, checked=0), 1, Tracker())
    model, counted = (
        {line.name: line for line in experiment.charts[0].panels[0].lines if line.source == source}
        for source in ("formula", "measured")
    )
    for name in budgets.STRATEGIES:
        assert counted[name].ys == pytest.approx(model[name].ys, rel=0.15)
