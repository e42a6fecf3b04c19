"""Four streams, one inner and two outer joins: what Spark's chain of joins loses.

An order and its payment; parcels count from the order, refunds from the payment. Spark refuses an input with
two event times. Who makes a plain column of one of them, as all do, loses every row that lacks a partner by
it: nothing tells the last join when such a row is over.
"""

from collections import Counter
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.graphs import SECOND, START
from harness.streaming import Feed, to_memory
from oracles.reference import Result, assert_same_rows

NAMES = ("orders", "payments", "parcels", "refunds")
# Who follows whom within a minute.
FOLLOWS = {"payments": "orders", "parcels": "orders", "refunds": "payments"}
ARROW = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.int64())])


def within_a_minute(name: str, dot: str = ".") -> str:
    first, other = f"{FOLLOWS[name]}{dot}", f"{name}{dot}"
    return (
        f"{first}id = {other}id AND {other}ts >= {first}ts AND {other}ts <= {first}ts + INTERVAL 60 SECONDS"
    )


@pytest.fixture
def feeds(tmp_path: Path) -> dict[str, Feed]:
    """Four batches, and two more so late that everything closes, in any chain of joins."""
    random = Random(4)  # noqa: S311
    found = {name: Feed(tmp_path / name, "id bigint, ts timestamp, value bigint", ARROW) for name in NAMES}
    for batch in range(7):
        for number, feed in enumerate(found.values()):
            rows = [(random.randrange(9), 60 * batch + random.randrange(60)) for _ in range(12 - 3 * number)]
            if batch > 3:
                rows = [(-batch, 4000 * batch)]
            feed.add(
                [
                    {"id": id_, "ts": START + ts * SECOND, "value": 10_000 * number + 100 * batch + n}
                    for n, (id_, ts) in enumerate(rows)
                ]
            )
    return found


def right(spark: SparkSession, feeds: dict[str, Feed]) -> list[Result]:
    """What SQL means by these joins."""
    with duckdb.connect() as connection:
        for name, feed in feeds.items():
            connection.register(name, feed.plain(spark).filter("id >= 0").toArrow())
        on = {name: within_a_minute(name) for name in FOLLOWS}
        return connection.execute(
            "SELECT orders.value, payments.value, parcels.value, refunds.value FROM orders "  # noqa: S608
            f"JOIN payments ON {on['payments']} LEFT JOIN parcels ON {on['parcels']} "
            f"LEFT JOIN refunds ON {on['refunds']}"
        ).fetchall()


def chain(spark: SparkSession, feeds: dict[str, Feed], keep: tuple[str, str, str]) -> DataFrame:
    """Spark's joins, one after the other; `keep` says whose time is left an event time before each."""
    joined: DataFrame | None = None
    for number, (name, feed) in enumerate(feeds.items()):
        side = feed.stream(spark).withWatermark("ts", "0 seconds")
        side = side.select(*(F.col(column).alias(f"{name}_{column}") for column in side.columns))
        if joined is None:
            joined = side
            continue
        plain = [f"{one}_ts" for one in NAMES[:number] if keep[number - 1] not in (one, "all")]
        joined = joined.withColumns({time: F.timestamp_micros(F.unix_micros(time)) for time in plain})
        how = "inner" if name == "payments" else "left"
        joined = joined.join(side, F.expr(within_a_minute(name, "_")), how)
    assert joined is not None
    return joined.filter("orders_id >= 0").select(*(f"{name}_value" for name in NAMES))


@pytest.mark.slow
@pytest.mark.usefixtures("one_partition")
def test_one_inner_and_two_outer_joins(spark: SparkSession, feeds: dict[str, Feed]) -> None:
    expected = right(spark, feeds)
    lacking = [row for row in expected if None in row]
    assert min(len(lacking), len(expected) - len(lacking)) > 2

    streams = {name: wm.stream(name, feed.stream(spark), time="ts") for name, feed in feeds.items()}
    query = wm.join(
        streams["orders"],
        streams["payments"],
        wm.optional(streams["parcels"]),
        wm.optional(streams["refunds"]),
        on=[within_a_minute(name) for name in FOLLOWS],
        buckets=2,
    )
    _, ours = to_memory(
        query.to_dataframe().filter("orders.id >= 0").select(*(f"{name}.value" for name in NAMES))
    )
    assert_same_rows([tuple(row) for row in ours.collect()], expected)

    with pytest.raises(StreamingQueryException, match=r"(?i)multiple_event_time|more than one event time"):
        to_memory(chain(spark, feeds, ("orders", "all", "all")))
    _, theirs = to_memory(chain(spark, feeds, ("orders", "orders", "orders")))
    found = [tuple(row) for row in theirs.collect()]
    assert Counter(found) < Counter(expected)
    assert all(refund is not None for *_, refund in found)
    # What docs/semantics.md says.
    assert (len(expected), len(lacking), len(found)) == (57, 41, 22)
