"""What a topic has after a batch was sent twice: nothing lost, and nothing twice after dropping repeats.

Would catch: ids that change when a batch runs again in another process, a result that none sends, a batch
of which a part was sent and the rest never is.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness import programs
from harness.broker import Broker
from harness.kafka_jars import session_jars
from harness.killed import committed, kill_at, kill_when_written, planned
from harness.scenario import Scenario
from oracles.reference import assert_same_rows

pytestmark = pytest.mark.kafka


@pytest.mark.slow
def test_a_topic_killed_between_writing_and_committing(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create("delivered")
    scenario = Scenario(tmp_path)
    scenario.feed(4)
    arguments = writer(tmp_path, f"batches to kafka {broker.servers} {topic}")
    kill_when_written(tmp_path, 1, *arguments)
    programs.run(*arguments, log=tmp_path / "log")
    assert committed(tmp_path) >= 3
    assert_once_by_key(spark, broker, topic, scenario)


@pytest.mark.slow
def test_a_topic_killed_when_it_has_a_part_of_a_batch(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Spark's own sink: some records of the second batch are in the topic, and others are not."""
    topic = broker.create("delivered_in_part", partitions=2)
    scenario = Scenario(tmp_path)
    scenario.feed(1)
    first = len(scenario.expected())
    scenario.feed(1)
    both = len(scenario.expected())
    arguments = writer(tmp_path, f"kafka {broker.servers} {topic}")
    # Values are numbers that go on from batch to batch.
    second = min(row.value for rows in scenario.batches[1] for row in rows)
    (tmp_path / "slow").write_text(f"greatest(s0.value, s1.value, s2.value) >= {second}")

    def in_part() -> int | None:
        if not committed(tmp_path) == 0 < planned(tmp_path):
            return None
        sent = broker.size(topic)
        return sent if first + 10 <= sent < both else None

    kill_at(in_part, tmp_path / "log", *arguments)
    before = broker.size(topic)
    assert first < before < both
    (tmp_path / "slow").unlink()
    scenario.feed(2)
    programs.run(*arguments, log=tmp_path / "log")
    assert committed(tmp_path) >= 3
    assert_once_by_key(spark, broker, topic, scenario, repeats=before - first)


def writer(folder: Path, sink: str) -> tuple[object, ...]:
    """The program that writes to a sink."""
    return ("harness.delivery", folder, sink, "local[2]", f"spark.jars={session_jars()}")


def assert_once_by_key(
    spark: SparkSession, broker: Broker, topic: str, scenario: Scenario, repeats: int | None = None
) -> None:
    """All results are in a topic, with repeats, and once after dropping these."""
    schema = "s0 BIGINT, s1 BIGINT, s2 BIGINT, time BIGINT"
    sent = wm.kafka(spark, servers=broker.servers, topics=topic, schema=schema, streaming=False)
    once = sent.dropDuplicates(["kafka_key"])
    assert sent.count() - once.count() == repeats if repeats else sent.count() > once.count()
    found = once.select("s0", "s1", "s2", "time").collect()
    assert_same_rows([tuple(row) for row in found], scenario.expected())
