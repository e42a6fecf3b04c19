"""What a topic has after a batch was sent twice: nothing lost, and nothing twice after dropping repeats.

Would catch: ids that change when a batch runs again in another process, a result that none sends.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness import programs
from harness.broker import Broker
from harness.kafka_jars import session_jars
from harness.killed import committed, kill_when_written
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
    sink = f"kafka {broker.servers} {topic}"
    arguments = ("harness.delivery", tmp_path, sink, "local[2]", f"spark.jars={session_jars()}")
    kill_when_written(tmp_path, 1, *arguments)
    programs.run(*arguments, log=tmp_path / "log")
    assert committed(tmp_path) >= 3
    sent = wm.kafka(
        spark,
        servers=broker.servers,
        topics=topic,
        schema="s0 BIGINT, s1 BIGINT, s2 BIGINT, time BIGINT",
        streaming=False,
    )
    once = sent.dropDuplicates(["kafka_key"])
    assert sent.count() > once.count(), "a batch was sent twice"
    found = once.select("s0", "s1", "s2", "time").collect()
    assert_same_rows([tuple(row) for row in found], scenario.expected())
