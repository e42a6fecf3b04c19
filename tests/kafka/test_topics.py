"""What happens to topics while a query runs: silence, new partitions, a broker that is away, expired records.

Would catch: a silent topic that holds results back for ever, a partition nobody reads, results lost or
doubled when the broker is away, records that are gone without a word.
"""

import datetime as dt
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from harness.broker import Broker
from harness.streaming import sink_rows, start_sink, to_sink
from harness.topics import Topics, record, records, run_again
from watersmeet.spark.endpoints import Endpoint, write_stream
from watersmeet.spark.sink import two_sinks

pytestmark = pytest.mark.kafka

AWAY_S = 20


def ids(spark: SparkSession, folder: Path) -> list[int]:
    return sorted(row.id for row in sink_rows(spark, folder).collect())


def test_others_go_on_without_an_idle_topic(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topics = Topics(broker, "idle")
    made = [topics.stream(spark, "orders"), topics.stream(spark, "payments", idle="2 seconds")]
    query = wm.join(*made, on="id", how="left", select=["orders.id", "payments.amount"], buckets=1)
    broker.send(topics.payments, [record(0)])
    running = start_sink(query.to_dataframe(), tmp_path)
    try:
        was_idle = False
        # An order that no payment came for closes only when the watermark passes it, and payments are silent.
        for second in range(0, 600, 20):
            broker.send(topics.orders, [record(second)])
            running.processAllAvailable()
            was_idle |= any(
                one.streams["payments"].idle
                for progress in running.recentProgress
                for one in wm.metrics(progress)
            )
            if was_idle and sink_rows(spark, tmp_path).filter("amount IS NULL").count():
                break
            time.sleep(1)
        assert was_idle
        found = sink_rows(spark, tmp_path).orderBy("id").collect()
        assert [(row.id, row.amount) for row in found][:2] == [(0, 1), (20, None)]
    finally:
        running.stop()


def test_a_partition_that_is_added(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topics = Topics(broker, "grown")
    topics.send(range(10))
    running = start_sink(topics.joined(spark), tmp_path)
    try:
        running.processAllAvailable()
        assert ids(spark, tmp_path) == list(range(10))
        for topic in (topics.orders, topics.payments):
            broker.add_partitions(topic, 2)
        topics.send(range(10, 20), partition=1)
        topics.send(range(20, 30), partition=0)
        running.processAllAvailable()
        assert ids(spark, tmp_path) == list(range(30))
        assert not any(wm.kafka_lost(progress) for progress in running.recentProgress)
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("options", "expected"), [({}, [1, 2]), ({"kafka.isolation.level": "read_committed"}, [1])]
)
def test_records_of_a_transaction_that_was_aborted(
    spark: SparkSession, broker: Broker, tmp_path: Path, options: dict[str, str], expected: list[int]
) -> None:
    """They are in the topic, and it is Kafka's rule that who reads says whether they count."""
    topics = Topics(broker, f"aborted_{len(options)}")
    topics.send([1])
    broker.give_up(topics.orders, records([2]))
    broker.send(topics.payments, records([2]))
    to_sink(topics.joined(spark, options=options), tmp_path)
    assert ids(spark, tmp_path) == expected


@pytest.mark.slow
def test_a_broker_that_is_away(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """The query waits, or fails and is started again; nothing is lost and nothing comes twice."""
    topics = Topics(broker, "away", partitions=2)

    def start() -> StreamingQuery:
        return start_sink(topics.joined(spark), tmp_path)

    topics.send(range(1_000))
    running = start()
    try:
        running.processAllAvailable()
        topics.send(range(1_000, 1_500))
        broker.kill()
        try:
            time.sleep(AWAY_S)
        finally:
            broker.start()
        topics.send(range(1_500, 2_000))
        running = run_again(start, running)
        assert ids(spark, tmp_path) == list(range(2_000))
    finally:
        running.stop()


def test_records_that_have_expired(
    spark: SparkSession, broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics = Topics(broker, "expired", partitions=2)
    topics.send(range(10), partition=0)
    topics.send(range(10, 20), partition=1)
    to_sink(topics.joined(spark), tmp_path)
    topics.send(range(20, 60), partition=0)
    topics.send(range(60, 70), partition=1)
    # Gone are 20 to 39 of orders.
    broker.delete(topics.orders, {0: 30})

    with pytest.raises(StreamingQueryException):
        to_sink(topics.joined(spark), tmp_path)
    assert ids(spark, tmp_path) == list(range(20))

    with caplog.at_level(logging.WARNING, "watersmeet"):
        running = to_sink(topics.joined(spark, fail_on_data_loss=False), tmp_path)
        lost = [wm.kafka_lost(progress) for progress in running.recentProgress]
        assert [one for one in lost if one] == [{topics.orders: 20}]
        wait_for(lambda: "no longer has 20 of the records" in caplog.text)
    assert ids(spark, tmp_path) == [*range(20), *range(40, 70)]


def test_lost_records_are_counted_where_two_sinks_read_a_batch(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topics = Topics(broker, "expired_two_sinks")

    def run() -> StreamingQuery:
        made = [topics.stream(spark, name, {"fail_on_data_loss": False}) for name in ("orders", "payments")]
        query = wm.join(*made, on="id", select=["orders.id"], buckets=1)
        sinks = [Endpoint("parquet", str(tmp_path / name)) for name in ("results", "aside")]
        running = write_stream(
            query.to_dataframe(set_aside=True),
            two_sinks(*sinks),
            name="expired",
            checkpoint=str(tmp_path / "checkpoint"),
            every=None,
            available_now=True,
        )
        running.awaitTermination()
        return running

    topics.send(range(10))
    run()
    topics.send(range(10, 30))
    broker.delete(topics.payments, {0: 15})
    assert [one for one in map(wm.kafka_lost, run().recentProgress) if one] == [{topics.payments: 5}]


def test_results_as_records_with_key_and_value(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topics = Topics(broker, "sink")
    results = broker.create("sink_results")
    topics.send(range(10))
    found = topics.joined(spark).selectExpr("CAST(id AS STRING) AS key", "to_json(struct(*)) AS value")
    writer = found.writeStream.format("kafka").option("kafka.bootstrap.servers", broker.servers)
    writer = writer.option("topic", results).option("checkpointLocation", str(tmp_path / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    read = broker.read(results)
    assert sorted(int(key) for key, _ in read) == list(range(10))
    assert all(json.loads(value)["id"] == int(key) for key, value in read)
    # And on from there: what was written is a topic like any other.
    again = wm.kafka(spark, servers=broker.servers, topics=results, schema="id BIGINT", streaming=False)
    assert sorted(row.id for row in again.collect()) == list(range(10))


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_query_may_start_at_the_end_or_at_a_time(spark: SparkSession, broker: Broker) -> None:
    topic = broker.create("starting")
    broker.send(topic, records(range(5)))
    time.sleep(0.01)
    frame = wm.kafka(spark, servers=broker.servers, topics=topic, schema="id BIGINT", streaming=False)
    last = max(row.kafka_time for row in frame.collect())
    after = last.replace(tzinfo=dt.UTC) + dt.timedelta(milliseconds=1)
    time.sleep(0.01)
    broker.send(topic, records(range(5, 8)))
    later = wm.kafka(
        spark, servers=broker.servers, topics=topic, schema="id BIGINT", streaming=False, starting=after
    )
    assert sorted(row.id for row in later.collect()) == [5, 6, 7]
