"""A program of its own that writes the results of a scenario to a sink: to be killed in the middle.

    python -m harness.delivery <folder> <sink> <master or remote> [<setting>=<value> ...]

A file "hold" in the folder has the number of a batch: when that is written, and before Spark knows it, the
program says so with a file "written" and waits to be killed. A file "slow" has a condition: results that meet
it take their time one by one, so that others of their batch are written before them.

Spark itself writes the sinks "parquet", "delta" and "kafka <servers> <topic>"; the others are written in
`foreachBatch`, "batches to kafka <servers> <topic>" among them.
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
    results = slowed(Scenario(folder).query(spark).to_dataframe(result_id=True), folder)
    out = str(folder / "out")
    if sink in ("parquet", "delta"):
        writer = results.writeStream.format(sink).option("path", out)
    elif sink.startswith("kafka "):
        writer = records(results).writeStream.format("kafka").options(**topic_options(sink))
    elif sink.startswith("batches to kafka "):
        writer = results.writeStream.foreachBatch(held(folder, to_topic(sink)))
    else:
        writer = results.writeStream.foreachBatch(held(folder, WRITERS[sink](out)))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    query.stop()


def slowed(results: DataFrame, folder: Path) -> DataFrame:
    """The same results, some of them slowly: a tenth of a second for each."""
    slow = folder / "slow"
    if not slow.exists():
        return results
    wait = "java_method('java.lang.Thread', 'sleep', 100L)"
    return results.filter(f"CASE WHEN {slow.read_text()} THEN {wait} ELSE 'at once' END IS NOT NULL")


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


def records(results: DataFrame) -> DataFrame:
    """Results as records of Kafka, whose keys are their ids."""
    values = "struct(s0.value AS s0, s1.value AS s1, s2.value AS s2, unix_micros(result_time) AS time)"
    return results.selectExpr("result_id AS key", f"to_json({values}) AS value")


def topic_options(sink: str) -> dict[str, str]:
    """Where a sink that ends with "kafka <servers> <topic>" writes to, in the words of the connector."""
    *_, servers, topic = sink.split()
    return {"kafka.bootstrap.servers": servers, "topic": topic}


def to_topic(sink: str) -> WriteBatch:
    """As records of Kafka, a batch at a time."""
    return lambda batch, _: records(batch).write.format("kafka").options(**topic_options(sink)).save()


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
