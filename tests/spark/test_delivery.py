"""What a sink has after a batch has run twice: nothing lost, and nothing twice after dropping repeats by id.

Would catch: ids that change when a batch runs again, also in another process; a sink of ours that does not
write over what a killed batch has left. Spark's own Parquet sink is killed in `test_restart.py`.
"""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm
from harness import programs
from harness.killed import committed, kill_when_written
from harness.scenario import Scenario
from harness.streaming import result_values, to_memory
from oracles.reference import assert_same_rows
from watersmeet.errors import InvalidQuery

IDS = "result_id"


def test_a_batch_that_fails_after_writing_writes_the_same_ids_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed(2)
    written: list[list[tuple[object, ...]]] = []

    def write(batch: DataFrame, number: int) -> None:
        written.append([tuple(row) for row in batch.repartition(3).collect()])
        if number == 1 and len(written) == 2:
            raise RuntimeError("the sink is away")

    def run() -> None:
        results = scenario.query(spark).to_dataframe(result_id=True)
        writer = results.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "c"))
        writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="the sink is away"):
        run()
    run()
    assert len(written) >= 3
    assert Counter(written[1]) == Counter(written[2])
    assert len(written[1]) > 20
    once = [row for number, batch in enumerate(written) if number != 1 for row in batch]
    ids = {row[-1] for row in once}
    assert len(ids) == len(once) == len(scenario.expected())
    assert {len(str(one)) for one in ids} == {32}


def test_plain_joins_have_ids_and_rows_set_aside_have_none(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, late_rows=True)
    scenario.feed(3)
    plain = scenario.query(spark, plain=True).to_dataframe(result_id=True)
    ids = [row[IDS] for row in plain.select(IDS).collect()]
    assert len(set(ids)) == len(ids) > 20
    assert {row[IDS] for row in plain.select(IDS).collect()} == set(ids)
    join = scenario.query(spark, select=["s0.value"])
    _, rows = to_memory(join.to_dataframe(result_id=True, set_aside=True))
    assert rows.columns == ["value", "result_time", IDS, "set_aside"]
    assert rows.filter(f"({IDS} IS NULL) != (set_aside IS NOT NULL)").count() == 0
    assert rows.filter("set_aside IS NOT NULL").count() > 0


def test_where_there_can_be_no_id_it_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    names = ("s0", IDS)

    def join(window: object, **options: object) -> wm.Query:
        feeds = zip(names, scenario.feeds, strict=False)
        streams = [wm.stream(name, feed.plain(spark), time="ts", window=window) for name, feed in feeds]
        return wm.join(*streams, on="h", **options)

    with pytest.raises(InvalidQuery, match='has a column "result_id" already'):
        join("5 seconds").to_dataframe(result_id=True)
    names = ("s0", "s1")
    endless = join(wm.UNBOUNDED, memory="64 MB")
    with pytest.raises(InvalidQuery, match="without windows have no ids"):
        endless.to_dataframe(result_id=True)


@pytest.mark.soak
@pytest.mark.parametrize("sink", ["folder", "append", "append over Connect"])
def test_a_sink_killed_between_writing_and_committing(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    """Twice: each time a batch has reached the sink, and Spark does not know it."""
    scenario = Scenario(tmp_path)
    scenario.feed(5)
    master = "remote:local[2]" if sink.endswith("Connect") else "local[2]"
    arguments = ("harness.delivery", tmp_path, sink.split()[0], master)
    for batch in (1, 3):
        kill_when_written(tmp_path, batch, *arguments)
    programs.run(*arguments, log=tmp_path / "log")
    assert committed(tmp_path) >= 4
    found = spark.read.parquet(str(tmp_path / "out"))
    repeats = found.count() - found.select(IDS).distinct().count()
    assert (repeats > 0) == (sink != "folder")
    results = found.dropDuplicates([IDS]).select("s0", "s1", "s2", "result_time")
    assert_same_rows(result_values(results), scenario.expected())
