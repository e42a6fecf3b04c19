"""A program of its own that writes the results of a scenario to a sink: to be killed in the middle.

    python -m harness.delivery <folder> <sink> <master or remote> [<setting>=<value> ...]

A file "hold" in the folder has the number of a batch: when that is written, and before Spark knows it, the
program says so with a file "written" and waits to be killed. A sink "kafka <servers> <topic>" is a topic.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from harness.scenario import Scenario
from harness.streaming import build_session
from watersmeet.spark.endpoints import Endpoint
from watersmeet.spark.sink import write_batch

WriteBatch = Callable[[DataFrame, int], None]


def main() -> None:
    folder, sink, master, *settings = sys.argv[1:]
    more = dict(setting.split("=", 1) for setting in settings)
    spark = build_session(Path(folder) / "scratch", master, more)
    deliver(spark, Path(folder), sink)
    spark.stop()


def deliver(spark: SparkSession, folder: Path, sink: str) -> None:
    """Write all results that are still missing."""
    results = Scenario(folder).query(spark).to_dataframe(result_id=True)
    writer = results.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    out = str(folder / "out")
    # What Spark itself knows how to write once.
    if sink in ("parquet", "delta"):
        writer = writer.format(sink).option("path", out)
    else:
        write = to_topic(*sink.split()[1:]) if sink.startswith("kafka ") else WRITERS[sink](out)
        writer = writer.foreachBatch(held(folder, write))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    query.stop()


def held(folder: Path, write: WriteBatch) -> WriteBatch:
    """Write a batch, and wait where the test wants it."""

    def written(batch: DataFrame, number: int) -> None:
        write(batch, number)
        hold = folder / "hold"
        if hold.exists() and int(hold.read_text()) == number:
            (folder / "written").write_text(str(number))
            while True:
                time.sleep(1)

    return written


def once_per_batch(kind: str) -> Callable[[str], WriteBatch]:
    """As deployed joins and job files with a second sink write: by the number of the batch."""

    def to(out: str) -> WriteBatch:
        return lambda batch, number: write_batch(batch, Endpoint(kind, out), "results", number)

    return to


def appended(out: str) -> WriteBatch:
    """As to a sink that knows nothing of batches, such as a topic or a queue."""
    return lambda batch, _: batch.write.mode("append").parquet(out)


def to_topic(servers: str, topic: str) -> WriteBatch:
    """As records of Kafka, whose keys are the ids of results."""

    def write(batch: DataFrame, _: int) -> None:
        values = "struct(s0.value AS s0, s1.value AS s1, s2.value AS s2, unix_micros(result_time) AS time)"
        records = batch.selectExpr("result_id AS key", f"to_json({values}) AS value")
        records.write.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": topic}).save()

    return write


def merged(out: str) -> WriteBatch:
    """Into a Delta table: only what it has not."""

    def write(batch: DataFrame, _: int) -> None:
        from delta.tables import DeltaTable

        spark = batch.sparkSession
        table = DeltaTable.createIfNotExists(spark).location(out).addColumns(batch.schema).execute()
        new = batch.alias("new")
        table.alias("old").merge(new, "old.result_id = new.result_id").whenNotMatchedInsertAll().execute()

    return write


WRITERS: dict[str, Callable[[str], WriteBatch]] = {
    "folder": once_per_batch("parquet"),
    "append": appended,
    "delta batches": once_per_batch("delta"),
    "merge": merged,
}


if __name__ == "__main__":
    main()
