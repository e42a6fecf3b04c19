"""What a checkpoint remembers decides which query may go on with it.

Would catch: a change that makes stored rows mean something else and is let through, a harmless one that is
refused, a reason that does not say what changed.
"""

import json
from datetime import timedelta
from typing import Any

import pytest

from watersmeet.optimize.choose import choose_plan
from watersmeet.plan.identity import difference, identity
from watersmeet.plan.layout import layouts
from watersmeet.query import Column, RowWindow, Stream, Window
from watersmeet.query.common_window import hopping, session
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import WindowLike, latest, tumbling

PAYMENTS = {"id": "bigint", "ts": "timestamp", "method": "string"}


def query_identity(
    *,
    names: tuple[str, str] = ("orders", "payments"),
    payments: dict[str, str] = PAYMENTS,
    window: int = 60,
    lateness: int = 0,
    time: str = "ts",
    on: Any = "id",
    select: list[str] | None = None,
    buckets: int = 8,
) -> str:
    orders = (Column("id", "bigint"), Column("ts", "timestamp"), Column("amount", "double"))
    columns = tuple(Column(name, kind) for name, kind in payments.items())
    streams = [
        Stream(names[0], orders, "ts", timedelta(seconds=60)),
        Stream(names[1], columns, time, timedelta(seconds=window), timedelta(seconds=lateness)),
    ]
    plan = choose_plan(join_query(streams, on, select, "inner", ColumnsOnly()), buckets=buckets)
    return json.dumps(identity(plan, plan.root, layouts(plan)[plan.root]))


@pytest.mark.parametrize(
    "harmless",
    [
        {},
        {"lateness": 5},
        {"payments": PAYMENTS | {"note": "string"}},
        {"payments": {"new": "int"} | PAYMENTS},
    ],
    ids=["nothing", "lateness", "a column added at the end", "a column added in front"],
)
def test_a_query_may_go_on(harmless: dict[str, Any]) -> None:
    assert difference(query_identity(), query_identity(**harmless)) == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"names": ("orders", "refunds")},
            "the streams were orders, payments and are now orders, refunds",
        ),
        ({"window": 61}, 'the window of stream "payments" was 1 min and is now 61 s'),
        (
            {"on": ["id", "ts"]},
            'the key of stream "orders" was id bigint and is now id bigint, ts timestamp',
        ),
        (
            {"payments": {"id": "bigint", "ts": "timestamp", "method": "int"}},
            'the stored columns of stream "payments" were id bigint, ts timestamp, method string '
            "and are now id bigint, ts timestamp, method int",
        ),
        (
            {"payments": {"id": "bigint", "ts": "timestamp"}},
            'the stored columns of stream "payments" were id bigint, ts timestamp, method string '
            "and are now id bigint, ts timestamp",
        ),
        (
            {"select": ["orders.amount"]},
            'the stored columns of stream "orders" were id bigint, ts timestamp, amount double '
            "and are now amount double",
        ),
        (
            {"payments": PAYMENTS | {"booked": "timestamp"}, "time": "booked"},
            'the time column of stream "payments" was ts and is now booked',
        ),
        ({"buckets": 4}, "the number of buckets was 8 and is now 4"),
    ],
)
def test_another_query_may_not(change: dict[str, Any], reason: str) -> None:
    assert difference(query_identity(), query_identity(**change)) == reason


def test_another_window_of_all_streams_is_another_query() -> None:
    def both(window: Window) -> str:
        columns = (Column("id", "bigint"), Column("ts", "timestamp"))
        streams = [Stream(name, columns, "ts", window) for name in ("a", "b")]
        plan = choose_plan(join_query(streams, "id", None, "inner", ColumnsOnly()))
        return json.dumps(identity(plan, plan.root, layouts(plan)[plan.root]))

    windows = [
        latest(),
        RowWindow(1, per_key=True),
        tumbling("10 minutes"),
        hopping("10 minutes", every="10 minutes"),
        hopping("10 minutes", every="5 minutes"),
        session("10 minutes"),
        session("5 minutes"),
    ]
    for window in windows:
        for other in windows:
            reason = difference(both(window), both(other))
            assert (reason == "") == (window == other), (window, other)
            assert reason == "" or reason.startswith('the window of stream "a" was ')


def test_a_key_of_another_type_is_another_query() -> None:
    def by_method(kind: str) -> str:
        return query_identity(
            payments=PAYMENTS | {"method": kind}, on={"orders": "amount", "payments": "method"}
        )

    reason = difference(by_method("double").replace("double", "float"), by_method("double"))
    assert reason == 'the key of stream "orders" was amount float and is now amount double'


def test_state_of_another_format_is_refused() -> None:
    newer = json.loads(query_identity())
    newer["format"] += 1
    assert "format" in difference(json.dumps(newer), query_identity())


def graph_identity(*on: str, first: WindowLike = timedelta(minutes=1)) -> str:
    """Of the last operator of a tree over streams a, b, c."""
    columns = (Column("ts", "timestamp"), Column("x", "int"), Column("y", "int"), Column("z", "int"))
    windows = {"a": first, "b": timedelta(minutes=1), "c": timedelta(minutes=1)}
    streams = [Stream(name, columns, "ts", window) for name, window in windows.items()]
    plan = choose_plan(join_query(streams, list(on), ["a.x"], "inner", ColumnsOnly()))
    return json.dumps(identity(plan, plan.root, layouts(plan)[plan.root]))


TREE = ("a.x = b.x", "b.z = c.z")


def test_conditions_that_stored_rows_had_to_fulfil_cannot_change() -> None:
    """Intermediate results were filtered by them, and rows without a value were never stored."""
    before = graph_identity(*TREE, "a.y = b.y")
    assert difference(before, graph_identity(*TREE))
    assert difference(graph_identity(*TREE), before)
    assert "a.y < b.y" in difference(graph_identity(*TREE, "a.y < b.y"), graph_identity(*TREE))
    assert "b.y > 3" in difference(graph_identity(*TREE), graph_identity(*TREE, "b.y > 3"))


@pytest.mark.parametrize("other", [RowWindow(2), RowWindow(1, per_key=True), None])
def test_a_window_of_rows_is_remembered_also_where_conditions_bound_the_stream(other: WindowLike) -> None:
    on = ("a.x = b.x", "b.x = c.x", "b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 SECONDS", "c.ts <= a.ts")
    reason = difference(graph_identity(*on, first=RowWindow(1)), graph_identity(*on, first=other))
    assert 'the window of stream "a" was last 1 rows, 5 s' in reason
