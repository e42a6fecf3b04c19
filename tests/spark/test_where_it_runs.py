"""Where users run it: spark-submit, a standalone cluster that loses a worker, a Spark Connect server.

Would catch: settings that a place refuses or that override its own, code that needs files of one machine,
a session that is warned of what it cannot change.
"""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness import programs
from harness.cluster import connect_server, standalone, submit
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows
from oracles.reference import assert_same_rows

ROOT = Path(__file__).parents[2]

_SUBMITTED = """
from pyspark.sql import SparkSession

import watersmeet as wm

spark = wm.configure(SparkSession.builder).getOrCreate()
left = spark.sql("SELECT 1 AS id, TIMESTAMP '2026-05-01 12:00:00' AS ts")
right = spark.sql("SELECT 1 AS id, TIMESTAMP '2026-05-01 12:04:00' AS ts")
streams = [wm.stream(name, df, time="ts", window="1 hour") for name, df in (("a", left), ("b", right))]
print("results:", wm.join(*streams, on="id").to_dataframe().count())
for name in ("spark.sql.shuffle.partitions", "spark.python.daemon.module"):
    print(name, spark.conf.get(name))
print("late options:", "Tier4" in spark.conf.get("spark.driver.extraJavaOptions", ""))
"""


@pytest.mark.soak
def test_a_script_with_spark_submit(tmp_path: Path) -> None:
    """What spark-submit was told counts, and Java options that come too late are not set."""
    script = tmp_path / "script.py"
    script.write_text(_SUBMITTED)
    options = ["--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=3"]
    printed = submit(*options, "--conf", "spark.ui.enabled=false", str(script), log=tmp_path / "log")
    assert printed.splitlines() == [
        "results: 1",
        "spark.sql.shuffle.partitions 3",
        "spark.python.daemon.module watersmeet.spark.daemon",
        "late options: False",
    ]


@pytest.mark.soak
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    """As they stand there, but for the port of the cluster."""
    here, there = re.findall(
        r"^\$ spark-submit (.+)$", (ROOT / "docs" / "deployment.md").read_text(), re.MULTILINE
    )
    with standalone(tmp_path) as cluster:
        there = there.replace("spark://127.0.0.1:7077", cluster.master)
        for number, command in enumerate((here, there)):
            words = [
                str(ROOT / word) if word.startswith("examples/") else word for word in shlex.split(command)
            ]
            printed = submit("--conf", "spark.ui.enabled=false", *words, log=tmp_path / f"{number}.log")
            assert "join of 2 streams" in printed
            assert "|number" in printed


@pytest.mark.soak
def test_a_worker_of_a_standalone_cluster_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    """With it go its local files, the state it had open, and half of the memory."""
    scenario = Scenario(tmp_path / "data")
    scenario.feed(8)
    with standalone(tmp_path) as cluster:
        application = programs.start(
            "harness.application",
            scenario.folder,
            "8,5,10",
            "2,0,3",
            cluster.master,
            "memory=64 MB",
            "spark.executor.memory=512m",
            log=tmp_path / "application.log",
        )
        try:
            _wait_for_batch(scenario.folder, 2, application)
            local = tmp_path / "worker-0" / "local"
            assert any(local.rglob("watersmeet-*")), "there are no local runs to be lost"
            cluster.lose_worker(0)
            assert application.wait(400) == 0, (tmp_path / "application.log").read_text()[-4000:]
        finally:
            programs.kill(application)
    printed = (tmp_path / "application.log").read_text()
    assert "executors: 1\n" in printed
    assert_same_rows(result_values(sink_rows(spark, scenario.folder)), scenario.expected())


# As many programs end: with a query that runs, and a session that nobody stops.
_NEVER_STOPPED = """
import sys
import time

from pyspark.sql import SparkSession

import watersmeet as wm

spark = wm.configure(SparkSession.builder.remote(sys.argv[1]), cores=2).getOrCreate()
df = spark.readStream.format("rate").load()
streams = [wm.stream(name, df, time="timestamp", window="1 minute") for name in ("a", "b")]
query = wm.join(*streams, on="value", buckets=2).to_dataframe().writeStream.format("noop").start()
while query.lastProgress is None:
    time.sleep(0.1)
print("the end")
"""


def _wait_for_batch(folder: Path, number: int, application: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if (folder / "checkpoint" / "commits" / str(number)).exists():
            assert not (folder / "checkpoint" / "commits" / "7").exists(), "too late to lose anything"
            return
        assert application.poll() is None, "it ended before the worker was lost"
        time.sleep(0.3)
    raise AssertionError(f"batch {number} was not committed")


@pytest.mark.soak
def test_all_of_it_through_a_spark_connect_server(tmp_path: Path) -> None:
    """The server has its own settings; the client sets what a session can, and hears of nothing else."""
    (tmp_path / "client").mkdir()
    with connect_server(tmp_path, "spark.python.daemon.module=watersmeet.spark.daemon") as address:
        printed = programs.run(
            "harness.connected", tmp_path / "client", address, log=tmp_path / "client.log", timeout=500
        )
        command = [sys.executable, "-W", "default", "-c", _NEVER_STOPPED, address]
        ended = programs.launch(command, tmp_path / "other.log", programs.environment())
        try:
            assert ended.wait(100) == 0
        finally:
            programs.kill(ended)
    assert (tmp_path / "other.log").read_text() == "the end\n"
    for said in ("partitions: 2", "batch: exact", "stream: exact", "metrics: exact", "deploy: exact"):
        assert f"{said}\n" in printed
    assert "does not suit joins" not in printed
    assert "Warning" not in printed
