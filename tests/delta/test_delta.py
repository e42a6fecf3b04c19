"""Delta tables as sources, as a sink, and merged into by `result_id`; the writers are killed in the middle.

Would catch: a table that has a batch twice, in part or not at all after a kill, a source that does not repeat
itself.
"""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm
from harness import programs
from harness.delta import delta_settings
from harness.killed import committed, kill_at, planned
from harness.scenario import Scenario
from harness.streaming import result_values
from oracles.reference import assert_same_rows

IDS = "result_id"
SETTINGS = [f"{name}={value}" for name, value in delta_settings().items()]


def results_of(table: DataFrame) -> DataFrame:
    return table.select("s0", "s1", "s2", "result_time")


def test_tables_are_read_joined_and_written(spark: SparkSession, tmp_path: Path) -> None:
    """Two starts: rows that come to the tables in between are joined with those of before."""
    scenario = Scenario(tmp_path)
    for _ in range(2):
        scenario.feed(1)
        for number, feed in enumerate(scenario.feeds):
            newest = sorted(feed.folder.glob("*.parquet"))[-1]
            rows = spark.read.parquet(str(newest)).coalesce(1)
            rows.write.format("delta").mode("append").save(str(tmp_path / f"table{number}"))
        streams = [
            wm.stream(
                f"s{number}",
                spark.readStream.format("delta").load(str(tmp_path / f"table{number}")),
                time="ts",
                window=f"{scenario.windows[number]} us",
                lateness=f"{scenario.lateness[number]} us",
            )
            for number in range(3)
        ]
        results = wm.join(*streams, on=["h", "k"], buckets=2).to_dataframe()
        writer = results.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "c"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
        query.awaitTermination()
    found = spark.read.format("delta").load(str(tmp_path / "out"))
    assert_same_rows(result_values(results_of(found)), scenario.expected())


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["merge", "delta batches"])
def test_a_table_that_was_written_and_not_committed(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    """Killed twice when a batch has reached the table and Spark does not know it."""
    scenario = Scenario(tmp_path)
    scenario.feed(3)
    arguments = ("harness.delivery", tmp_path, sink, "local[2]", *SETTINGS)
    for batch in (0, 2):
        (tmp_path / "hold").write_text(str(batch))
        written = tmp_path / "written"
        kill_at(lambda written=written: written.exists() or None, tmp_path / "log", *arguments)
        assert committed(tmp_path) < planned(tmp_path) == batch
        written.unlink()
    (tmp_path / "hold").unlink()
    programs.run(*arguments, log=tmp_path / "log")
    assert_exactly_once(spark, tmp_path, scenario)


@pytest.mark.slow
def test_the_delta_sink_of_spark_killed_when_a_batch_is_in_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed(4)
    arguments = ("harness.delivery", tmp_path, "delta", "local[2]", *SETTINGS)

    def in_the_table() -> int | None:
        """As soon as a batch is in the table, and before Spark knows it, if that can be caught."""
        batch = planned(tmp_path)
        written = len(list((tmp_path / "out" / "_delta_log").glob("*.json"))) > batch
        return batch if written and batch > committed(tmp_path) and batch >= 1 else None

    kill_at(in_the_table, tmp_path / "log", *arguments)
    programs.run(*arguments, log=tmp_path / "log")
    assert_exactly_once(spark, tmp_path, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["delta", "delta batches", "merge"])
def test_a_table_killed_when_it_has_files_that_its_log_does_not_name(
    spark: SparkSession, tmp_path: Path, sink: str
) -> None:
    """Rows of a batch lie in the folder of the table, and the table does not know them."""
    scenario = Scenario(tmp_path)
    scenario.feed(4)
    arguments = ("harness.delivery", tmp_path, sink, "local[2]", *SETTINGS)
    table = tmp_path / "out"

    def in_a_later_batch() -> list[Path] | None:
        return nameless_files(table) or None if committed(tmp_path) >= 0 else None

    kill_at(in_a_later_batch, tmp_path / "log", *arguments)
    left = nameless_files(table)
    assert committed(tmp_path) < planned(tmp_path)
    programs.run(*arguments, log=tmp_path / "log")
    assert set(left) <= set(nameless_files(table)), "what a killed batch has left is never named"
    assert_exactly_once(spark, tmp_path, scenario)


def nameless_files(table: Path) -> list[Path]:
    """Complete files with rows in the folder of a table that no entry of its log names."""
    # First the files: an entry that comes in between names them.
    files = [file for file in table.glob("*.parquet") if file.read_bytes().endswith(b"PAR1")]
    named = "".join(entry.read_text() for entry in (table / "_delta_log").glob("*.json"))
    # Files without rows are never named.
    return [file for file in files if file.name not in named and pq.read_metadata(file).num_rows]


def assert_exactly_once(spark: SparkSession, folder: Path, scenario: Scenario) -> None:
    found = spark.read.format("delta").load(str(folder / "out"))
    assert found.select(IDS).distinct().count() == found.count()
    assert_same_rows(result_values(results_of(found)), scenario.expected())
