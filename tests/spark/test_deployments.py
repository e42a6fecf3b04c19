"""The same query through Spark Connect, where executors are processes of their own.

Would catch: code that needs the driver's memory or its Java gateway, files of one host taken for granted on
another, state that does not follow a bucket to another executor.
"""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness import programs
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows
from oracles.reference import assert_same_rows


@pytest.mark.soak
def test_spark_connect_with_executors_in_processes_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """Both at once, since starting all these processes is what takes the time."""
    scenario = Scenario(tmp_path, late_rows=True)
    scenario.feed(3)
    output = programs.run(
        "harness.application",
        tmp_path,
        "8,5,10",
        "2,0,3",
        "remote:local-cluster[2,1,1024]",
        "spark.executor.memory=1g",
        f"spark.executorEnv.PYTHONPATH={programs.SOURCE}",
        log=tmp_path / "application.log",
        # A free port instead of the usual one, and a temporary folder for the files of executors.
        SPARK_TESTING="1",
    )
    assert "session: pyspark.sql.connect" in output
    assert "executors: 2\n" in output
    expected = scenario.expected()
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), expected)
    # The session has its own way to send what was observed.
    assert f"results: {len(expected)}\n" in output
    assert "measured over" in output
    # And its own way to be listened to.
    late = next(name for name, rows in enumerate(scenario.late()) if rows)
    assert re.search(
        rf"query \S+: \d+ rows? of s{late} came up to", (tmp_path / "application.log").read_text()
    )
