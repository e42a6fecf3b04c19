"""What is refused before any row is read, and what the user is told: a fact, a detail, a hint.

Would catch: a mistake that is accepted and fails later, or loses rows, or is reported without the name of
the culprit or the valid choices.
"""

from datetime import timedelta
from typing import Any

import pytest

from watersmeet.errors import InvalidQuery, InvalidStream, WatersmeetError
from watersmeet.optimize.choose import choose_plan
from watersmeet.plan import ProbePath
from watersmeet.query import Column, JoinQuery, Stream
from watersmeet.query.common_window import HoppingWindow, SessionWindow, hopping, session
from watersmeet.query.duration import parse_duration
from watersmeet.query.join import On, join_query
from watersmeet.query.predicate import ColumnsOnly

HOPS, SESSIONS = hopping("10 minutes", every="5 minutes"), session("5 minutes")
COLUMNS = {"order_id": "bigint", "ts": "timestamp", "amount": "double"}


def stream(name: str = "orders", columns: dict[str, str] | None = None, **options: Any) -> Stream:
    listed = tuple(Column(column, kind) for column, kind in (columns or COLUMNS).items())
    return Stream(name, listed, **{"time": "ts", "window": timedelta(minutes=1)} | options)


def join(
    *streams: Any,
    on: On = "order_id",
    select: list[str] | None = None,
    how: str = "inner",
    memory: int | None = None,
) -> JoinQuery:
    return join_query(streams, on, select, how, ColumnsOnly(), memory=memory)


def test_the_columns_these_tests_use_make_a_fine_join() -> None:
    query = join(stream(), stream("payments"), select=["orders.amount", "payments.*"])
    assert query.kept == (("amount",), ("order_id", "ts", "amount"))


@pytest.mark.parametrize(
    ("options", "fact", "detail", "hint"),
    [
        (
            {"time": "when"},
            'stream "orders" has no column "when"',
            "",
            'its columns are "order_id", "ts", "amount"',
        ),
        (
            {"time": "amount"},
            'time column "amount" of stream "orders" is not a timestamp',
            "double",
            "cast",
        ),
        (
            {"columns": {"ts": "timestamp_ntz"}},
            'time column "ts" of stream "orders" is not a timestamp',
            "timestamp_ntz",
            "cast",
        ),
        (
            {"window": -timedelta(seconds=5)},
            'window of stream "orders" is negative',
            "-5 s",
            "the same instant",
        ),
        (
            {"window": SessionWindow(timedelta(0))},
            'window of stream "orders" is not positive',
            "0 s",
            'wm.session("5 minutes")',
        ),
        (
            {"window": HoppingWindow(timedelta(minutes=10), timedelta(0))},
            'window of stream "orders" is not positive',
            "0 s",
            "wm.hopping",
        ),
        (
            {"window": HoppingWindow(timedelta(minutes=10), timedelta(minutes=4))},
            'slots of stream "orders" are no multiple of their hop',
            "a slot of 10 min begins every 4 min",
            'wm.hopping("10 minutes", every="5 minutes")',
        ),
        (
            {"window": HoppingWindow(timedelta(minutes=4), timedelta(minutes=10))},
            'slots of stream "orders" are no multiple of their hop',
            "a slot of 4 min begins every 10 min",
            "a multiple of the hop",
        ),
        (
            {"window": HoppingWindow(timedelta(days=1), timedelta(seconds=1))},
            'a row of stream "orders" would stand in 86,400 slots',
            "stored once for each of them",
            "a longer hop",
        ),
        ({"lateness": -timedelta(seconds=5)}, 'lateness of stream "orders" is negative', "-5 s", "0 seconds"),
        (
            {"max_future": -timedelta(seconds=5)},
            'max_future of stream "orders" is negative',
            "-5 s",
            "None",
        ),
        ({"name": "my orders"}, 'stream name "my orders" is not usable', "column", "letters"),
        ({"name": ""}, 'stream name "" is not usable', "column", "letters"),
        ({"name": "1st"}, 'stream name "1st" is not usable', "column", "letters"),
        ({"name": "result_time"}, 'stream name "result_time" is reserved', "", "another name"),
        ({"name": "Result_Time"}, 'stream name "Result_Time" is reserved', "", "another name"),
        ({"name": "window_start"}, 'stream name "window_start" is reserved', "", "another name"),
        ({"name": "__metrics"}, 'stream name "__metrics" is reserved', "", "another name"),
        (
            {"columns": {"ts": "timestamp", "Id": "int", "id": "int"}},
            'column "id" of stream "orders" is ambiguous',
            '"Id"',
            "rename",
        ),
    ],
)
def test_a_stream_that_cannot_be_joined(options: dict[str, Any], fact: str, detail: str, hint: str) -> None:
    with pytest.raises(InvalidStream) as caught:
        stream(**options)
    assert_says(caught.value, fact, detail, hint)
    assert isinstance(caught.value, ValueError)


def test_a_column_that_appears_twice_is_ambiguous() -> None:
    with pytest.raises(InvalidStream) as caught:
        Stream("s", (Column("ts", "timestamp"), Column("x", "int"), Column("x", "int")), "ts", timedelta(1))
    assert_says(caught.value, 'column "x" of stream "s" is ambiguous', "more than once", "rename")


@pytest.mark.parametrize(
    ("streams", "options", "fact", "detail", "hint"),
    [
        ([], {}, "a join needs at least two streams", "0 given", "wm.join("),
        ([stream()], {}, "a join needs at least two streams", "1 given", "wm.join("),
        (
            [stream(), stream()],
            {},
            'stream name "orders" is used twice',
            '"orders", "orders"',
            "same DataFrame may appear",
        ),
        (
            [stream(), stream("Orders")],
            {},
            'stream name "orders" is used twice',
            '"orders", "Orders"',
            "same DataFrame may appear",
        ),
        ([stream(), "payments"], {}, "a join takes streams, not str", "", "wm.stream("),
        (
            [stream(), stream("b")],
            {"how": "outer"},
            'there is no join "outer"',
            "",
            '"left", "right", "full"',
        ),
        ([stream(), stream("b")], {"on": []}, "the join has no condition", "every other", "on="),
        ([stream(), stream("b")], {"on": None}, "the join has no condition", "every other", "cross=True"),
        ([stream(), stream("b")], {"on": ["order_id", 3]}, "columns are given by name", "3", '"order_id"'),
        (
            [stream(), stream("b")],
            {"on": {"orders": "order_id"}},
            '"on" has no key for stream "b"',
            "every stream",
            '"b": <column>',
        ),
        (
            [stream(), stream("b")],
            {"on": {"orders": "order_id", "b": "order_id", "c": "x"}},
            '"on" names stream "c", which is not in the join',
            "",
            '"orders", "b"',
        ),
        (
            [stream(), stream("b")],
            {"on": {"orders": ["order_id", "amount"], "b": "order_id"}},
            "the keys have different numbers of columns",
            "orders: 2, b: 1",
            "same order",
        ),
        (
            [stream(), stream("b", {"order_id": "string", "ts": "timestamp"})],
            {},
            'key columns "orders.order_id" and "b.order_id" have different types',
            "bigint and string",
            "cast",
        ),
        (
            # Through the double, two different whole numbers would be equal.
            [stream(), stream("b"), stream("c", {"order_id": "double", "ts": "timestamp"})],
            {},
            'key columns "orders.order_id" and "b.order_id" and "c.order_id" have different types',
            "bigint and bigint and double",
            "two at a time",
        ),
        (
            [stream(window=HOPS), stream("b", window="10 minutes"), stream("c", window=None)],
            {},
            "hopping windows have to be the same in all streams of a query",
            "orders: hopping 10 min every 5 min, b: 10 min, c: none",
            "give every stream the window hopping 10 min every 5 min, or none of them",
        ),
        (
            [stream(window=HOPS), stream("b", window=hopping("10 minutes", every="2 minutes"))],
            {},
            "hopping windows have to be the same in all streams of a query",
            "b: hopping 10 min every 2 min",
            "give every stream",
        ),
        (
            [stream(window=session("1 minute")), stream("b", window=SESSIONS)],
            {},
            "session windows have to be the same in all streams of a query",
            "orders: session 1 min, b: session 5 min",
            "give every stream",
        ),
        (
            [stream(window=SESSIONS), stream("b", window=SESSIONS)],
            {"on": ["orders.amount < b.amount"]},
            "session windows need a key",
            '"orders", "b"',
            'on="user"',
        ),
        (
            [stream(window=HOPS), stream("b", window=HOPS), stream("c", window=HOPS)],
            {"on": ["orders.order_id = b.order_id", "c.amount < b.amount"]},
            "hopping windows need a key",
            '"c", "orders+b"',
            "an equality",
        ),
        (
            [stream(window=SESSIONS), stream("b", window=SESSIONS), stream("c", window=SESSIONS)],
            {"on": ["orders.order_id = b.order_id", "b.amount = c.amount"]},
            "sessions need one key that all streams share",
            "orders.order_id = b.order_id is not about all streams",
            "filter the DataFrame",
        ),
        (
            [stream(window=HOPS), stream("b", window=HOPS, site="oslo")],
            {},
            "hopping windows cannot be joined between sites",
            '"b" arrive at sites',
            "leave site= out",
        ),
        (
            [stream(window=SESSIONS), stream("b", window=SESSIONS)],
            {"memory": 1 << 30},
            "the memory of a join of sessions cannot be limited",
            "when it ends",
            "leave memory= out",
        ),
        (
            [stream(), stream("b")],
            {"select": ["amount"]},
            'cannot tell which stream "amount" belongs to',
            "stream.column",
            '"orders", "b"',
        ),
        (
            [stream(), stream("b")],
            {"select": ["c.amount"]},
            'cannot tell which stream "c.amount" belongs to',
            "stream.column",
            '"orders", "b"',
        ),
        (
            [stream(), stream("b")],
            {"on": ["orders.order_id = b.order_id", "struct(orders.*) = struct(b.*)"]},
            '"struct(orders.*) = struct(b.*)" has a star',
            "depends on what else the query keeps",
            "name the columns",
        ),
        (
            [stream(), stream("b")],
            {"select": ["b.amount", "b.*"]},
            '"b.amount" is selected twice',
            "",
            "once",
        ),
    ],
)
def test_streams_that_cannot_be_joined_as_asked(
    streams: list[Any], options: dict[str, Any], fact: str, detail: str, hint: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        join(*streams, **options)
    assert_says(caught.value, fact, detail, hint)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("options", [{"on": "id"}, {"on": ["order_id", "id"]}, {"select": ["orders.id"]}])
def test_an_unknown_column_lists_the_valid_ones(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidStream) as caught:
        join(stream(), stream("b"), **options)
    assert_says(
        caught.value, 'stream "orders" has no column "id"', "", 'its columns are "order_id", "ts", "amount"'
    )


def test_keys_that_spark_cannot_compare() -> None:
    columns = (
        Column("m", "map<string,int>", "Spark has no equality for map values"),
        Column("ts", "timestamp"),
    )
    a, b = (Stream(name, columns, "ts", timedelta(1)) for name in ("a", "b"))
    with pytest.raises(InvalidQuery) as caught:
        join(a, b, on="m")
    assert_says(
        caught.value,
        'key column "a.m" cannot be compared',
        "its type is map<string,int>; Spark has no equality for map values",
        "taken out of it",
    )


@pytest.mark.parametrize("buckets", [0, -1, 4097, 2.5, True, "8"])
def test_numbers_of_buckets_that_make_no_sense(buckets: Any) -> None:
    with pytest.raises(InvalidQuery) as caught:
        choose_plan(join(stream(), stream("b")), buckets=buckets)
    fact = "the number of buckets is not a whole number from 1 to 4096"
    assert_says(caught.value, fact, repr(buckets), "per core")


@pytest.mark.parametrize("order", [(), (1,), (1, 1), (0, 1), (1, 2, 3)])
def test_a_probe_path_visits_every_other_stream_once(order: tuple[int, ...]) -> None:
    if order in ((1,), (1, 2, 3), ()):
        assert ProbePath(0, order).order == order
    else:
        with pytest.raises(ValueError, match="must visit"):
            ProbePath(0, order)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty text"),
        ("10", "cannot read"),
        ("ten minutes", "cannot read"),
        ("10 minutes and a bit", "cannot read"),
        ("1 month", 'unknown unit "month"'),
        ("5 fortnights", 'unknown unit "fortnights"'),
        ("1 hour -30 minutes", "adds and subtracts"),
        ("40000 days", "longer than a hundred years"),
        ("9999999999 days", "longer than a hundred years"),
        (timedelta(days=999_999_999), "longer than a hundred years"),
    ],
)
def test_durations_that_cannot_be_read(text: str | timedelta, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("10 minutes", timedelta(minutes=10)),
        ("INTERVAL 2 days", timedelta(days=2)),
        ("1 hour 30 min", timedelta(minutes=90)),
        ("1h, 5s", timedelta(hours=1, seconds=5)),
        ("0.5 seconds", timedelta(milliseconds=500)),
        ("3 weeks", timedelta(weeks=3)),
        ("7 us", timedelta(microseconds=7)),
        (timedelta(seconds=3), timedelta(seconds=3)),
    ],
)
def test_durations_as_people_write_them(text: str | timedelta, duration: timedelta) -> None:
    assert parse_duration(text) == duration


def assert_says(error: WatersmeetError, fact: str, detail: str, hint: str) -> None:
    """The fact word for word; what the detail and the hint must mention."""
    assert error.fact == fact
    assert detail in error.detail
    assert hint in error.hint
    assert error.hint, "an error without a way out"
    assert str(error).splitlines()[0] == fact
