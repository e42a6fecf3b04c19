"""Records that cannot be used are set aside, and say where they stand.

Would catch: a malformed record called a row without a time, or one that moves the watermark; one that a
filter hides; tombstones and malformed records that nobody counts.
"""

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness.broker import Broker
from harness.streaming import to_memory
from harness.topics import SCHEMA, Topics, record

pytestmark = pytest.mark.kafka

ORDERS = {
    record(1): None,
    '{"id": 2, "ts": "2026-05-01T12:00:02Z", "amount": "many"}': "malformed",
    "no JSON": "malformed",
    None: "tombstone",
    '{"id": 3, "amount": 1}': "null time",
    '{"ts": "2026-05-01T12:00:03Z", "amount": 1}': "null key",
    record(4, amount=-1): None,
    record(5): None,
}


def test_beside_the_results_with_where_they_stand(spark: SparkSession, broker: Broker) -> None:
    topics = Topics(broker, "aside")
    broker.send(topics.orders, ORDERS)
    broker.send(topics.payments, [record(1), record(5), None])
    frame = wm.kafka(spark, servers=broker.servers, topics=topics.orders, schema=SCHEMA)
    # The user's own selection, as long as it keeps the column.
    frame = frame.select("id", "ts", "amount", "kafka_offset", "kafka_partition", "kafka_problem")
    orders = wm.stream("orders", frame, time="ts", window="10 seconds")
    payments = topics.stream(spark, "payments")
    query = wm.join(orders, payments, on=["orders.id = payments.id", "orders.amount > 0"], buckets=2)
    assert "kafka_problem" not in query.to_dataframe().select("orders.*").columns
    running, rows = to_memory(query.to_dataframe(set_aside=True))
    assert sorted(row.id for row in rows.filter("set_aside IS NULL").select("orders.id").collect()) == [1, 5]
    found = {}
    for one in rows.select("set_aside.*").filter("stream = 'orders'").collect():
        content = json.loads(one.content)
        raw = list(ORDERS)[content["kafka_offset"]]
        if one.reason in ("malformed", "tombstone"):
            assert content["kafka_problem"] == {"reason": one.reason, "text": raw, "base64": None}
            assert one.time is None
        found[raw] = one.reason
    assert found == {raw: reason for raw, reason in ORDERS.items() if reason}
    totals: Counter[str] = Counter()
    for progress in running.recentProgress:
        for name, stream in wm.metrics(progress)[0].streams.items():
            totals[f"{name} malformed"] += stream.malformed
            totals[f"{name} tombstones"] += stream.tombstones
            totals[f"{name} null times"] += stream.null_times
    assert totals == {
        "orders malformed": 2,
        "orders tombstones": 1,
        "orders null times": 1,
        "payments malformed": 0,
        "payments tombstones": 1,
        "payments null times": 0,
    }


def test_they_do_not_move_the_watermark(spark: SparkSession, broker: Broker) -> None:
    """Even where the time is that of the record, which they have."""
    topics = Topics(broker, "aside_watermark")
    broker.send(topics.orders, ["no JSON", None])
    broker.send(topics.payments, [record(1)])
    made = [topics.stream(spark, name, time="kafka_time", max_future=None) for name in ("orders", "payments")]
    running, rows = to_memory(wm.join(*made, on="id", buckets=1).to_dataframe(set_aside=True))
    assert sorted(row.reason for row in rows.select("set_aside.*").collect()) == ["malformed", "tombstone"]
    found = [wm.metrics(progress)[0].streams for progress in running.recentProgress]
    assert {one["orders"].newest for one in found} == {None}
    assert sum(one["orders"].rows for one in found) == 2
    assert found[-1]["payments"].newest is not None


def test_where_rows_are_counted_they_do_not_count(spark: SparkSession, broker: Broker) -> None:
    topics = Topics(broker, "aside_counted")
    # Payments come at second 3, when the two newest orders are 1 and 2, whatever else is in the topic.
    broker.send(topics.orders, [record(1), *["no JSON"] * 3, record(2), None, None, record(8, 100)])
    broker.send(topics.payments, [record(1, 3), record(2, 3), record(9, 100)])
    made = [
        topics.stream(spark, "orders", window=wm.rows(2)),
        topics.stream(spark, "payments", window="1 second"),
    ]
    _, rows = to_memory(wm.join(*made, on="id", select=["orders.id"], buckets=1).to_dataframe())
    assert sorted(row.id for row in rows.collect()) == [1, 2]


def test_between_sites_they_are_counted(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topics = Topics(broker, "aside_sites")
    broker.send(topics.orders, [record(1), "no JSON", None, record(20)])
    broker.send(topics.payments, [record(1), record(20)])
    made = [topics.stream(spark, "orders", site="tokyo"), topics.stream(spark, "payments", site="oslo")]
    running = wm.join(*made, on="id", select=["orders.id"]).deploy(
        str(tmp_path / "out"), checkpoint=tmp_path / "checkpoint", mailbox=tmp_path / "mail"
    )
    try:
        running.finish("2 minutes")
        assert running.status["tokyo"].aside == {"orders": 2}
        assert running.status["tokyo"].rows == {"orders": 2}
    finally:
        running.stop()
    assert sorted(row.id for row in spark.read.parquet(str(tmp_path / "out")).collect()) == [1, 20]
