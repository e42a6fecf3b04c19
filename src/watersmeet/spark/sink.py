"""Where the results of a batch go.

A batch may run again after a failure. Files are written into a folder of the batch, which is written over
then, so that results are there exactly once; its name reads as the column `watersmeet_batch`. Delta tables
know batches by number. Other sinks, and functions, may see a batch twice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.spark.endpoints import Endpoint, InvalidEndpoint
from watersmeet.spark.host.set_aside import SET_ASIDE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A folder for Parquet files, any sink of Spark, or a function that takes a DataFrame of results and a batch
# number.
Sink = str | Path | Endpoint | Callable[["DataFrame", int], None]

_FILES = ("parquet", "json", "csv", "orc", "avro")


def refuse_unusable_sink(sink: Any) -> None:
    """Stop before anything runs whose results would have no place to go."""
    if not isinstance(sink, str | Path | Endpoint) and not callable(sink):
        raise InvalidEndpoint(
            "results cannot be written",
            f"the sink is {sink!r}.",
            "give a folder, or a function that takes a DataFrame and the number of a batch.",
        )


def write_batch(results: DataFrame, sink: Sink, writer: str, batch: int) -> None:
    """Write the results of a batch.

    Args:
        results: The results.
        sink: Where to.
        writer: Who writes: several applications may write into one folder.
        batch: The number of the batch.
    """
    if isinstance(sink, str | Path):
        sink = Endpoint("parquet", str(sink))
    if not isinstance(sink, Endpoint):
        sink(results, batch)
        return
    write = results.write.format(sink.format).options(**sink.options)
    if sink.format in _FILES and sink.path is not None:
        folder = f"{sink.path.rstrip('/')}/watersmeet_batch={writer}-{batch:012d}"
        write.mode("overwrite").save(folder)
        return
    write = write.mode("append")
    if sink.format == "delta":
        write = write.option("txnAppId", f"watersmeet {writer}").option("txnVersion", str(batch))
        # Delta leaves out a batch that it has already, and asks for no row of it. The join has to run
        # nevertheless: Spark fails a batch, now and at every start, whose state was not written.
        results.persist()
        results.count()
    try:
        write.save(sink.path) if sink.path else write.save()
    finally:
        if sink.format == "delta":
            results.unpersist()


def two_sinks(sink: Sink, aside: Sink, writer: str = "results") -> Callable[[DataFrame, int], None]:
    """A function of batches that writes results, and rows that were set aside, each to their place."""

    def write(batch: DataFrame, number: int) -> None:
        from pyspark.sql import functions as F

        # Both sinks read it; the join runs once.
        batch.persist()
        try:
            write_batch(batch.filter(F.col(SET_ASIDE).isNull()).drop(SET_ASIDE), sink, writer, number)
            rows = batch.filter(F.col(SET_ASIDE).isNotNull()).select(f"{SET_ASIDE}.*")
            write_batch(rows, aside, writer, number)
        finally:
            batch.unpersist()

    return write
