"""The same query where executors are processes of their own, and through Spark Connect.

Would catch: code that needs the driver's memory or its Java gateway, files of one host taken for granted on
another, state that does not follow a bucket to another executor.
"""

import os
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from harness import programs
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows
from oracles.reference import assert_same_rows


def spark_home(folder: Path) -> Path:
    """Spark under another name: a standalone worker writes into the folder it was started from."""
    home = folder / "spark"
    home.mkdir()
    for entry in Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0]).iterdir():
        (home / entry.name).symlink_to(entry)
    return home


@pytest.mark.slow
def test_executors_in_processes_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed(3)
    programs.run(
        "harness.application",
        tmp_path,
        "8,5,10",
        "2,0,3",
        "local-cluster[2,1,1024]",
        "spark.executor.memory=1g",
        f"spark.executorEnv.PYTHONPATH={programs.SOURCE}",
        log=tmp_path / "application.log",
        SPARK_HOME=str(spark_home(tmp_path)),
    )
    executors = {path.name for path in (tmp_path / "spark" / "work").glob("app-*/*")}
    assert executors == {"0", "1"}
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


@pytest.mark.slow
def test_spark_connect(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed(3)
    output = programs.run(
        "harness.application",
        tmp_path,
        "8,5,10",
        "2,0,3",
        "remote:local[2]",
        log=tmp_path / "application.log",
        # A free port instead of the usual one.
        SPARK_TESTING="1",
    )
    assert "session: pyspark.sql.connect" in output
    expected = scenario.expected()
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), expected)
    # The session has its own way to send what was observed.
    assert f"results: {len(expected)}\n" in output
    assert "measured over" in output
