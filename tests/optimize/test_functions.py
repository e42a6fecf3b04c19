"""Plans for queries with Python functions.

Would catch: a dear function asked before cheap conditions, or about pairs that no other stream wants; a join
without a key that stores rows twice where it need not; figures about functions that the planner ignores.
"""

import json
from datetime import timedelta
from typing import Any

import pytest

from watersmeet.errors import InvalidPlanning, InvalidPredicate, InvalidQuery
from watersmeet.kernel.operator import kernel_for
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.identity import difference, identity
from watersmeet.plan.layout import layouts
from watersmeet.plan.plan import operators
from watersmeet.query import Column, JoinQuery, RowWindow, Stream
from watersmeet.query.function import predicate
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.stats.given import statistics

COLUMNS = (
    Column("ts", "timestamp"),
    *(Column(name, "bigint") for name in ("x", "y", "v")),
    Column("image", "binary"),
)


def alike(left: Any, right: Any) -> Any:
    return left == right


def query_of(on: list[Any], **windows: Any) -> JoinQuery:
    streams = [
        Stream(name, COLUMNS, "ts", timedelta(seconds=window) if isinstance(window, int) else window)
        for name, window in windows.items()
    ]
    return join_query(streams, on, [f"{stream.name}.v" for stream in streams], "inner", ColumnsOnly())


def steps(plan: Plan, head: int = 0) -> list[list[str]]:
    """What is judged after each step of a path."""
    operator = plan.root
    found = operator.evaluated(plan.query, operator.paths[head])
    return [[plan.query.conditions[number].text for number in numbers] for numbers in found]


def test_streams_linked_by_functions_meet_two_at_a_time_and_in_slices() -> None:
    on = [predicate(alike, f"{left}.image", f"{right}.image") for left, right in ("ab", "bc")]
    plan = choose_plan(query_of(on, a=10, b=10, c=10))
    assert [operator.sliced for operator in operators(plan.root)] == [True, True]
    assert [operator.streams for operator in operators(plan.root)] == [(0, 1), (0, 1, 2)]
    assert plan.deployed is not None
    assert plan.deployed.orders == ((1, 2), (0, 2), (1, 0))


def test_equalities_come_before_functions() -> None:
    on = [predicate(alike, "a.image", "b.image"), "b.x = c.x"]
    plan = choose_plan(query_of(on, a=10, b=10, c=10))
    below, above = operators(plan.root)
    assert (below.streams, below.key, below.sliced) == ((1, 2), (0,), False)
    assert above.sliced
    assert plan.deployed is not None
    assert plan.deployed.orders[1] == (2, 0)


def test_cheap_conditions_are_judged_before_functions() -> None:
    on = [predicate(alike, "a.image", "b.image"), "abs(a.v - b.v) < 3"]
    plan = choose_plan(query_of(on, a=10, b=10))
    layout = layouts(plan)[plan.root]
    kernel = kernel_for(plan, plan.root, layout, lambda: "")
    (stage,) = kernel.routes.along(plan.root.paths[0]).stages
    assert [type(one).__name__ for one in stage.conditions] == ["ExpressionHolds", "FunctionsHold"]


def test_a_function_waits_where_few_pairs_find_the_others() -> None:
    on = ["a.x = b.x", "b.x = c.x", predicate(alike, "a.image", "b.image")]
    query = query_of(on, a=10, b=10, c=10)
    rates = {"a": {"rate": 100, "distinct": 100}, "b": {"rate": 100, "distinct": 100}}
    few = statistics({**rates, "c": {"rate": 1, "distinct": 100}})
    many = statistics({**rates, "c": {"rate": 1000, "distinct": 100}})
    assert choose_plan(query, planning=Planning(few)).root.late == (0,)
    assert choose_plan(query, planning=Planning(many)).root.late == ()
    # Of unknown streams it is assumed that a key has few rows.
    plan = choose_plan(query)
    assert plan.root.late == (0,)
    assert steps(plan)[-1] == ["alike(a.image, b.image)"]


def test_the_order_of_joins_follows_what_functions_cost_and_keep() -> None:
    on = [
        predicate(alike, "a.image", "b.image", name="rough", cost="1 us", selectivity=0.5),
        predicate(alike, "b.image", "c.image", name="fine", cost="1 ms", selectivity=0.001),
    ]
    query = query_of(on, a=10, b=10, c=10)
    rates = {name: {"rate": 10} for name in "abc"}

    def first(**more: Any) -> tuple[int, ...]:
        plan = choose_plan(query, planning=Planning(statistics(rates, **more)))
        return operators(plan.root)[0].streams

    # Rough pairs first would mean to ask the fine one about fifty times as many.
    assert first() == (1, 2)
    # What was measured counts more than what was declared.
    measured = {"rough(a.image, b.image)": 0.0001, "fine(b.image, c.image)": 0.9}
    assert first(conditions=measured) == (0, 1)


def test_rows_counted_per_key_are_not_followed_by_another_join() -> None:
    on = ["a.x = b.x", predicate(alike, "b.image", "c.image")]
    plan = choose_plan(query_of(on, a=RowWindow(3, per_key=True), b=10, c=10))
    assert plan.root.replicated == {2}


def test_aligned_rows_need_windows_of_time() -> None:
    query = query_of([predicate(alike, "a.image", "b.image")], a=10, b=RowWindow(5))
    with pytest.raises(InvalidPlanning, match="cannot be aligned by time"):
        choose_plan(query, planning=Planning(routing="aligned"))
    other = query_of([predicate(alike, "a.image", "b.image")], a=10, b=20)
    assert choose_plan(other, planning=Planning(routing="aligned")).root.segment == 8 * 20_000_000


@pytest.mark.parametrize(
    ("cost", "rate", "buckets"), [("50 us", 100, 8), ("1 us", 1, 2), (None, 100, 8), ("2 us", 5, 5)]
)
def test_the_number_of_slices_follows_the_cost(cost: str | None, rate: float, buckets: int) -> None:
    """With 50 us for each of 1,000 pairs, sending is nothing; with 1 us for each of 10, it is most."""
    query = query_of([predicate(alike, "a.image", "b.image", cost=cost)], a=10, b=10)
    known = statistics({name: {"rate": rate, "row_bytes": 400} for name in "ab"})
    assert choose_plan(query, planning=Planning(known)).buckets == buckets
    assert choose_plan(query, buckets=3, planning=Planning(known)).buckets == 3


@pytest.mark.parametrize(
    ("planning", "fact"),
    [
        ({"routing": "everywhere"}, 'there is no routing "everywhere"'),
        ({"segment": timedelta(0)}, "a segment is not above zero"),
        ({"spread": 9}, "windows cannot be spread over so many buckets"),
        ({"spread": 0}, "windows cannot be spread over so many buckets"),
    ],
)
def test_planning_that_makes_no_sense(planning: dict[str, Any], fact: str) -> None:
    query = query_of([predicate(alike, "a.image", "b.image")], a=10, b=10)
    with pytest.raises(InvalidPlanning) as raised:
        choose_plan(query, planning=Planning(**planning))
    assert raised.value.fact == fact


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        (["a.image", "b.picture"], InvalidQuery),
        (["a.image", "d.image"], InvalidQuery),
        (["a.image", "a.x"], InvalidPredicate),
        (["a.image", "lower(b.image)"], InvalidPredicate),
        ([], InvalidPredicate),
    ],
)
def test_columns_that_are_not_there(columns: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        query_of([predicate(alike, *columns)], a=10, b=10)


def test_an_operator_without_a_key_may_be_sliced() -> None:
    plan = Operator((Source(0), Source(1)), (), frozenset(), (), sliced=True)
    assert plan.streams == (0, 1)


@pytest.mark.parametrize(
    "planning",
    [
        Planning(routing="replicated"),
        Planning(routing="aligned"),
        Planning(routing="aligned", segment=timedelta(seconds=7)),
    ],
)
def test_a_checkpoint_knows_where_rows_lie(planning: Planning) -> None:
    """Rows in slices are not where another routing looks for them."""
    query = query_of([predicate(alike, "a.image", "b.image")], a=10, b=10)

    def written(planning: Planning) -> str:
        plan = choose_plan(query, planning=planning)
        return json.dumps(identity(plan, plan.root, layouts(plan)[plan.root]))

    assert "rows lay in slices and now lie in" in difference(written(Planning()), written(planning))
    assert difference(written(planning), written(planning)) == ""
    assert difference(written(Planning(spread=2)), written(Planning(spread=5))) == ""


def test_a_checkpoint_knows_cells_to_the_last_digit() -> None:
    one, other = (query_of([f"abs(a.v - b.v) <= {most}"], a=10, b=10) for most in (1234567, 1234568))
    texts = []
    for query in (one, other):
        plan = choose_plan(query)
        texts.append(json.dumps(identity(plan, plan.root, layouts(plan)[plan.root])))
    assert "rows were found by" in difference(*texts)


def test_functions_of_one_name_are_refused() -> None:
    on = [predicate(lambda left, right, most=most: left - right < most, "a.v", "b.v") for most in (1, 2)]
    with pytest.raises(InvalidPredicate, match="two predicates are called") as raised:
        query_of(on, a=10, b=10)
    assert "name=" in raised.value.hint


def test_a_function_without_columns_of_its_own() -> None:
    with pytest.raises(InvalidQuery, match="is not a condition yet") as raised:
        query_of([alike], a=10, b=10)
    assert "wm.predicate" in raised.value.hint
    with pytest.raises(InvalidPredicate, match=r'"a\.\*" is not a column'):
        query_of([predicate(alike, "a.*", "b.v")], a=10, b=10)


def test_whatever_has_no_key_can_be_deployed() -> None:
    three = predicate(lambda *values: values[0] > 0, "a.v", "b.v", "c.v", name="three")
    assert choose_plan(query_of([three], a=10, b=10, c=10)).deployed is not None
    assert choose_plan(query_of(["a.x = b.x"], a=10, b=10)).deployed is None
