"""What a user may ask of the planner, and what it does when it knows little.

Would catch: a name that is silently ignored, a search that ends early without saying so, a plan from
statistics that cannot run, an absent figure that plans like a zero.
"""

from datetime import timedelta
from typing import Any

import pytest

from watersmeet.cost.forecast import forecast
from watersmeet.errors import InvalidPlanning, InvalidQuery
from watersmeet.optimize.check import refuse_what_cannot_run
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.order.optimizers import ORDER_OPTIMIZERS
from watersmeet.optimize.planning import Planning
from watersmeet.plan import Operator, Plan, ProbePath, Source
from watersmeet.plan.explain import explain
from watersmeet.query import Column, JoinQuery, RowWindow, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import WindowLike
from watersmeet.spark.query import Query
from watersmeet.stats import Statistics
from watersmeet.stats.given import statistics

COLUMNS = (Column("ts", "timestamp"), *(Column(name, "bigint") for name in ("k", "x", "y", "v")))


def query_of(on: list[str], **windows: float | WindowLike) -> JoinQuery:
    streams = [
        Stream(name, COLUMNS, "ts", timedelta(seconds=w) if isinstance(w, int | float) else w)
        for name, w in windows.items()
    ]
    return join_query(streams, on, None, "inner", ColumnsOnly(), cross=True)


def three() -> JoinQuery:
    return query_of(["k"], a=10, b=30, c=20)


def known(**rates: float) -> Statistics:
    return statistics({name: {"rate": rate, "distinct": 100} for name, rate in rates.items()})


@pytest.mark.parametrize(
    ("on", "given", "fact"),
    [
        (["k"], {"routing": "aligned"}, "routing would change nothing"),
        (["k"], {"segment": timedelta(minutes=1)}, "segment would change nothing"),
        (["k"], {"spread": 2}, "spread would change nothing"),
        ([], {"segment": timedelta(minutes=1)}, "segment would change nothing"),
        ([], {"routing": "replicated", "spread": 2}, "spread would change nothing"),
    ],
)
def test_settings_that_would_change_nothing_are_refused(
    on: list[str], given: dict[str, Any], fact: str
) -> None:
    query = Query.of(query_of(on, a=10, b=30), None, Planning())
    with pytest.raises(InvalidPlanning) as raised:
        query.plan_with(**given)
    assert raised.value.fact == fact


@pytest.mark.parametrize(
    ("given", "fact", "hint"),
    [
        ({"adaptive": "no"}, "adaptive is neither true nor false", "adaptive=False"),
        ({"optimizer": "magic"}, 'there is no optimizer "magic"', '"auto", "exhaustive", "by_size"'),
        ({"cost_model": "dollars"}, 'there is no cost model "dollars"', '"probes", "comparisons"'),
        ({"search_steps": -1}, "search_steps is not a number of steps", "from 0 up"),
        ({"search_steps": 1.5}, "search_steps is not a number of steps", "from 0 up"),
        ({"statistics": {"a": 1}}, "these are not statistics", "wm.statistics"),
    ],
)
def test_unknown_names_are_refused_with_the_valid_ones(given: dict[str, Any], fact: str, hint: str) -> None:
    with pytest.raises(InvalidPlanning) as raised:
        Planning(**given)
    assert raised.value.fact == fact
    assert hint in raised.value.hint


def orders(plan: Plan) -> list[tuple[int, ...]]:
    return [path.sequence for path in plan.root.paths]


def test_without_statistics_the_shortest_window_comes_first() -> None:
    plan = choose_plan(three())
    assert orders(plan) == [(0, 2, 1), (1, 0, 2), (2, 0, 1)]
    assert plan.choices[-1].by == "by_window"
    assert plan.notes == ()


def test_rates_alone_decide_by_rows() -> None:
    figures = statistics({"a": {"rate": 100}, "b": {"rate": 1}, "c": {"rate": 10}})
    plan = choose_plan(three(), planning=Planning(figures))
    assert orders(plan) == [(0, 1, 2), (1, 2, 0), (2, 1, 0)]
    assert plan.choices[-1].by == "by_rows"
    (note,) = plan.notes
    assert note == "not known: " + ", ".join(f"the distinct values of {name}.k" for name in "abc")
    assert "results" not in explain(plan, forecast(plan, figures)).split("state")[1]


def test_one_absent_rate_is_not_a_rate_of_zero() -> None:
    """With zero, stream b would be visited first by all others."""
    plan = choose_plan(three(), planning=Planning(known(a=1, c=1)))
    assert plan.choices[-1].by == "by_window"
    assert orders(plan)[2] == (2, 0, 1)
    assert plan.notes == ("not known: the rate of b, the distinct values of b.k",)


def test_statistics_decide_the_order() -> None:
    plan = choose_plan(three(), planning=Planning(known(a=100, b=1, c=10)))
    assert orders(plan) == [(0, 1, 2), (1, 2, 0), (2, 1, 0)]
    choice = plan.choices[-1]
    assert (choice.by, choice.skipped) == ("exhaustive", "")
    assert {other.what for other in choice.alternatives} == ORDER_OPTIMIZERS.keys() - {"exhaustive"}
    assert choice.cost is not None
    assert all(other.cost >= choice.cost for other in choice.alternatives)


@pytest.mark.parametrize("name", sorted(ORDER_OPTIMIZERS))
def test_an_optimizer_by_name_is_the_one_that_decides(name: str) -> None:
    plan = choose_plan(three(), planning=Planning(known(a=100, b=1, c=10), optimizer=name))
    assert plan.choices[-1].by == name
    if name == "as_written":
        assert orders(plan) == [(0, 1, 2), (1, 0, 2), (2, 0, 1)]
        assert orders(choose_plan(three(), planning=Planning(optimizer=name))) == orders(plan)


def test_too_few_search_steps_are_told() -> None:
    plan = choose_plan(three(), planning=Planning(known(a=100, b=1, c=10), search_steps=5))
    choice = plan.choices[-1]
    assert choice.by != "exhaustive"
    assert choice.skipped == "exhaustive and augmented: more than 5 steps"
    assert "not searched: exhaustive and augmented: more than 5 steps" in explain(plan)


def test_an_optimizer_without_statistics_says_what_it_lacks() -> None:
    plan = choose_plan(three(), planning=Planning(optimizer="by_size"))
    assert plan.choices[-1].skipped == 'optimizer "by_size" needs statistics'


def test_large_batches_may_lead_with_another_window() -> None:
    figures = statistics(
        {"a": {"rate": 1000, "distinct": 100}, "b": {"rate": 0.1, "distinct": 100}}, batch="1 hour"
    )
    plan = choose_plan(query_of(["k"], a=10, b=30), planning=Planning(figures))
    assert orders(plan)[0] == (1, 0)
    assert "a  from all of b -> a[k]" in explain(plan)


def test_the_cheaper_tree_is_taken_and_the_other_shown() -> None:
    """Joining b and c first makes next to nothing; the default would begin with a and b."""
    query = query_of(["a.x = b.x", "b.y = c.y"], a=10, b=10, c=10)
    figures = statistics(
        {
            "a": {"rate": 100, "distinct": {"x": 2}},
            "b": {"rate": 100, "distinct": {"x": 2, "y": 10_000}},
            "c": {"rate": 1, "distinct": {"y": 10_000}},
        }
    )
    unaware, aware = choose_plan(query), choose_plan(query, planning=Planning(figures))
    assert unaware.root.inputs[1].streams == (0, 1)
    assert aware.root.inputs[1].streams == (1, 2)
    assert [other.what for other in aware.choices[0].alternatives] == ["(c (a b))"]


def test_a_tree_that_cannot_count_rows_is_not_taken() -> None:
    """Rows counted per key have to be joined last, however cheap another tree would be."""
    query = query_of(["a.x = b.x", "b.y = c.y"], a=10, b=10, c=RowWindow(3, per_key=True))
    figures = statistics(
        {
            "a": {"rate": 100, "distinct": {"x": 2}},
            "b": {"rate": 100, "distinct": {"x": 2, "y": 10_000}},
            "c": {"rate": 1, "distinct": {"y": 10_000}},
        }
    )
    assert choose_plan(query, planning=Planning(figures)).root.inputs[0] == Source(2)


def test_a_plan_that_could_not_run_is_refused() -> None:
    query = query_of(["a.x = b.x", "c.ts <= a.ts"], a=10, b=10, c=10)
    plan = choose_plan(query, planning=Planning(routing="replicated"))
    assert plan.root.replicated == {2}
    paths = (plan.root.paths[0], plan.root.paths[1], ProbePath(2, (0, 1)))
    broken = Operator(plan.root.inputs, plan.root.key, plan.root.replicated, paths, plan.root.conditions)
    with pytest.raises(InvalidPlanning, match="start from rows without a key") as raised:
        refuse_what_cannot_run(Plan(query, broken))
    assert 'optimizer="auto"' in raised.value.hint
    per_key = query_of(["a.x = b.x", "b.y = c.y"], a=10, b=RowWindow(3, per_key=True), c=10)
    with pytest.raises(InvalidQuery, match="cannot be counted per key") as refused:
        choose_plan(per_key)
    assert "wm.rows(n)" in refused.value.hint


@pytest.mark.parametrize("batch", [None, "1 hour"])
@pytest.mark.parametrize("name", ["auto", *ORDER_OPTIMIZERS])
def test_any_optimizer_plans_inputs_without_a_key(name: str, batch: str | None) -> None:
    query = query_of(["a.x = b.x", "c.ts <= a.ts"], a=10, b=10, c=10)
    figures = statistics({n: {"rate": 5, "distinct": 10} for n in "ab"} | {"c": {"rate": 1}}, batch=batch)
    plan = choose_plan(query, planning=Planning(figures, optimizer=name))
    assert all(path.sequence[0] != 2 for path in plan.root.paths)
    assert plan.notes == ("taken to hold always, so figures are upper bounds: c.ts <= a.ts",)


def test_matches_of_some_pairs_are_too_little_to_plan_by() -> None:
    figures = statistics({name: {"rate": 10} for name in "abc"}, matches={("a", "b"): 0.01, ("b", "c"): 0.01})
    plan = choose_plan(three(), planning=Planning(figures))
    assert plan.choices[-1].by == "by_rows"
    assert plan.notes == ("not known: the distinct values of a.k, the distinct values of c.k",)
    all_pairs = {("a", "b"): 0.01, ("b", "c"): 0.01, ("a", "c"): 0.5}
    known_all = statistics({name: {"rate": 10} for name in "abc"}, matches=all_pairs)
    assert choose_plan(three(), planning=Planning(known_all)).notes == ()


def test_an_optimizer_that_could_not_work_is_told_without_being_asked() -> None:
    text = explain(choose_plan(three(), planning=Planning(optimizer="by_size")))
    assert 'not searched: optimizer "by_size" needs statistics' in text


def test_planning_with_many_frequencies_is_quick_enough() -> None:
    """Seven streams with ten thousand listed values each: sets are not compared for every order."""
    spread = dict.fromkeys(range(10000), 0.0001)
    names = "abcdefg"
    query = query_of(["k"], **dict.fromkeys(names, 10))
    figures = statistics({n: {"rate": 10, "frequencies": {"k": spread}} for n in names}, batch="5 seconds")
    plan = choose_plan(query, planning=Planning(figures))
    assert plan.choices[-1].by == "exhaustive"
    assert forecast(plan, figures).output.number == pytest.approx(7 * 10 * (100 / 10_000) ** 6)
