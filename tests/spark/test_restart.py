"""Whatever ends a query, the next start goes on with exactly the rows that were missing.

Would catch: state saved before or after the batch it belongs to, runs that are lost, stored twice or read
from a stale or damaged local file, state that depends on settings of the session.
The sink writes each batch exactly once, so a lost or doubled row has no other explanation than the join.
"""

import os
import shutil
import time
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from harness import programs
from harness.harm import HARMS, run_files
from harness.killed import committed, kill_at, kill_workers, planned, wait_for
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows, start_sink, to_sink
from oracles.reference import assert_same_rows
from watersmeet.spark import dataframe
from watersmeet.spark.master import ONE_HOST

WINDOWS, LATENESS = (8, 5, 10), (2, 0, 3)


def test_a_query_that_is_stopped_goes_on_under_other_settings(spark: SparkSession, tmp_path: Path) -> None:
    """The session has another number of partitions each time; Spark keeps to that of the first start."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS, late_rows=True)
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)
    try:
        for partitions in (2, 5, 1):
            spark.conf.set(setting, partitions)
            scenario.feed(2)
            query = to_sink(scenario.query(spark).to_dataframe(), tmp_path)
            assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
            operators = [each for progress in query.recentProgress for each in progress.stateOperators]
            assert {each.numShufflePartitions for each in operators} == {2}, f"the session has {partitions}"
    finally:
        spark.conf.set(setting, before)
    assert sum(scenario.late()) > 10


@pytest.mark.soak
@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_query_killed_in_the_middle_of_a_batch_loses_nothing(
    spark: SparkSession, tmp_path: Path, how: str
) -> None:
    """Twice: as soon as a batch has begun, and after its state is written but the batch is not complete."""
    windows, lateness = (WINDOWS, LATENESS) if how == "inner" else (WINDOWS[:2], LATENESS[:2])
    scenario = Scenario(tmp_path, windows, lateness)
    scenario.feed(7)
    state = tmp_path / "checkpoint" / "state" / "0"

    def begun() -> int | None:
        batch = planned(tmp_path)
        return batch if batch > committed(tmp_path) and batch >= 1 else None

    def state_written() -> int | None:
        batch = planned(tmp_path)
        written = any(state.glob(f"*/{batch + 1}.*"))
        return batch if written and batch > committed(tmp_path) and batch >= 2 else None

    for moment in (begun, state_written):
        numbers = (",".join(map(str, windows)), ",".join(map(str, lateness)))
        arguments = ("harness.application", tmp_path, *numbers, "local[2]", f"how={how}")
        kill_at(moment, tmp_path / "application.log", *arguments)
        assert committed(tmp_path) < planned(tmp_path), "no batch was in progress"

    to_sink(scenario.query(spark, how=how).to_dataframe(), tmp_path)
    assert committed(tmp_path) >= 6
    expected = scenario.expected() if how == "inner" else scenario.expected_full()
    assert (how == "full") == any(None in row for row in expected)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), expected)


@pytest.mark.soak
def test_workers_killed_in_the_middle_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """While they read, pack, or write runs; enough rows for packed ones to lie in files."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS, groups=1500)
    for pause in (0.0, 0.3):
        scenario.feed(3)
        # The batch after the first, which finds workers.
        next_but_one = planned(tmp_path) + 2
        log = tmp_path / "application.log"
        process = programs.start("harness.application", tmp_path, "8,5,10", "2,0,3", "local[2]", log=log)
        try:
            wait_for(lambda until=next_but_one: planned(tmp_path) >= until or None, process, log)
            time.sleep(pause)
            assert kill_workers(process) > 0
            # It fails, or starts others.
            process.wait(200)
        finally:
            programs.kill(process)
    to_sink(scenario.query(spark).to_dataframe(), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


@pytest.mark.usefixtures("long_ways")
def test_local_files_of_a_running_query_are_never_needed_and_never_trusted(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Workers that have the files open, one kind of harm after the other."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    query = start_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    scenario.feed(2)
    query.processAllAvailable()
    for harm in HARMS:
        files = run_files(spark, query.id)
        assert len(files) >= 4
        for file in files:
            harm(file)
        scenario.feed()
        query.processAllAvailable()
        assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
    query.stop()


@pytest.mark.usefixtures("long_ways")
def test_local_files_of_a_restarted_query_are_never_needed_and_never_trusted(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All kinds of harm at once while the query is down, each to some of the files."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    for _ in range(3):
        scenario.feed()
        query = to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
        assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
        files = run_files(spark, query.id)
        assert len(files) > len(HARMS)
        for number, file in enumerate(files):
            HARMS[number % len(HARMS)](file)


@pytest.mark.usefixtures("long_ways")
def test_a_local_folder_that_cannot_be_written_costs_no_results(spark: SparkSession, tmp_path: Path) -> None:
    """As on a full disk: files cannot be made, so runs stay in memory and in the state store."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    scenario.feed()
    query = start_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    query.processAllAvailable()
    for folder in {file.parent for file in run_files(spark, query.id)}:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        folder.write_text("not a folder")
    scenario.feed(2)
    query.processAllAvailable()
    query.stop()
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


@pytest.mark.usefixtures("short_ways")
def test_files_beside_the_checkpoint_are_needed_and_not_trusted(spark: SparkSession, tmp_path: Path) -> None:
    """They are the state: whatever happens to one is noticed before a wrong row comes out."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    scenario.feed()
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    kept = shutil.copytree(tmp_path / "checkpoint", tmp_path / "kept")
    for harm in HARMS:
        for file in files_beside(tmp_path / "checkpoint"):
            harm(file)
        scenario.feed()
        with pytest.raises(StreamingQueryException, match="is missing or damaged"):
            to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
        shutil.rmtree(tmp_path / "checkpoint" / "watersmeet")
        shutil.copytree(kept / "watersmeet", tmp_path / "checkpoint" / "watersmeet")
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


@pytest.mark.usefixtures("short_ways")
def test_rows_can_be_taken_back_into_the_state(spark: SparkSession, tmp_path: Path) -> None:
    """For a checkpoint that is to go elsewhere: no file is needed once all windows have passed."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    scenario.feed()
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    assert files_beside(tmp_path / "checkpoint")
    spark.conf.set(ONE_HOST, "false")
    try:
        for _ in range(5):
            scenario.feed()
            to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
        assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
        shutil.rmtree(tmp_path / "checkpoint" / "watersmeet")
        scenario.feed()
        to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    finally:
        spark.conf.unset(ONE_HOST)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


@pytest.mark.usefixtures("short_ways")
def test_a_place_where_nobody_knows_the_checkpoint_says_what_to_do(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a cluster, or Spark Connect, with a checkpoint of one machine; with no file it goes on anywhere."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    scenario.feed()
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(dataframe, "notes_folder", lambda _: None)
        scenario.feed()
        with pytest.raises(
            StreamingQueryException, match=r"(?s)lie in files beside it.*oneHost=false, until"
        ):
            to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


@pytest.mark.usefixtures("short_ways")
def test_files_stay_as_long_as_spark_keeps_states_that_name_them(spark: SparkSession, tmp_path: Path) -> None:
    """And no longer; nor does what a worker had half written that was killed."""
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "2")
    try:
        scenario = Scenario(tmp_path, WINDOWS, LATENESS)
        counts, drafts = [], []
        for _ in range(4):
            scenario.feed(6)
            to_sink(scenario.query(spark, buckets=1).to_dataframe(), tmp_path)
            counts.append(len(files_beside(tmp_path / "checkpoint")))
            if not drafts:
                (folder,) = (tmp_path / "checkpoint" / "watersmeet").iterdir()
                drafts = [folder / ".of-today", folder / ".of-long-ago"]
                for draft in drafts:
                    draft.write_bytes(b"half")
                os.utime(drafts[1], (1e9, 1e9))
    finally:
        spark.conf.unset("spark.sql.streaming.minBatchesToRetain")
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
    assert counts[-1] < 3 * counts[0], counts
    assert [draft.exists() for draft in drafts] == [True, False]


@pytest.mark.usefixtures("short_ways")
def test_first_batches_that_fail_leave_no_files_to_pile_up(spark: SparkSession, tmp_path: Path) -> None:
    """As of a program that is started again and again."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    scenario.feed()

    def fail(batch: DataFrame, _: int) -> None:
        batch.collect()
        raise RuntimeError("no room")

    found = []
    for _ in range(2):
        writer = scenario.query(spark, buckets=2).to_dataframe().writeStream.foreachBatch(fail)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        with pytest.raises(StreamingQueryException, match="no room"):
            writer.trigger(availableNow=True).start().awaitTermination()
        found.append(files_beside(tmp_path / "checkpoint"))
    assert len(found[0]) == 2
    assert sorted(found[1]) == sorted(found[0])
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    assert sorted(files_beside(tmp_path / "checkpoint")) == sorted(found[0])
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


@pytest.mark.usefixtures("short_ways")
def test_two_joins_of_one_kind_do_not_share_files(spark: SparkSession, tmp_path: Path) -> None:
    """Neither one that is used twice, nor one that is written twice."""
    scenario = Scenario(tmp_path, WINDOWS, LATENESS)
    for _ in range(2):
        scenario.feed(2)
        once, again = (scenario.query(spark, buckets=1).to_dataframe() for _ in range(2))
        to_sink(once.union(once).union(again), tmp_path)
    assert len(list((tmp_path / "checkpoint" / "watersmeet").iterdir())) == 3
    found = result_values(sink_rows(spark, tmp_path))
    assert_same_rows(found, [row for row in scenario.expected() for _ in range(3)])


@pytest.mark.usefixtures("short_ways")
@pytest.mark.parametrize("name", ["c%20d", "c#1", "c d ü"])
def test_files_lie_beside_the_checkpoint_whatever_its_name(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Also where a sink has jobs of its own, in a group of its own."""
    scenario = Scenario(tmp_path / name, WINDOWS, LATENESS)
    (tmp_path / "out").mkdir()

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(f"{tmp_path}/out/batch={number}")
        spark.sparkContext.setJobGroup("mine", "of mine")

    for _ in range(2):
        scenario.feed(2)
        writer = scenario.query(spark, buckets=2).to_dataframe().writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(tmp_path / name / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
    assert files_beside(tmp_path / name / "checkpoint")
    results = spark.read.parquet(str(tmp_path / "out")).drop("batch")
    assert_same_rows(result_values(results), scenario.expected())


def files_beside(checkpoint: Path) -> list[Path]:
    """The files of runs of a checkpoint."""
    return [path for path in checkpoint.glob("watersmeet/*/run*") if path.is_file()]
