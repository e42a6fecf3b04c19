"""Where the results of a batch go.

A batch may run again after a failure. Files are written into a folder of the batch, which is written over
then, so that results are there exactly once. Delta tables know batches by number. Other sinks, and
functions, may see a batch twice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from watersmeet.spark.endpoints import Endpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A folder for Parquet files, any sink of Spark, or a function that takes a DataFrame of results and a batch
# number.
Sink = str | Endpoint | Callable[["DataFrame", int], None]

_FILES = ("parquet", "json", "csv", "orc", "avro")


def write_batch(results: DataFrame, sink: Sink, writer: str, batch: int) -> None:
    """Write the results of a batch.

    Args:
        results: The results.
        sink: Where to.
        writer: Who writes: several applications may write into one folder.
        batch: The number of the batch.
    """
    if isinstance(sink, str):
        sink = Endpoint("parquet", sink)
    if not isinstance(sink, Endpoint):
        sink(results, batch)
        return
    write = results.write.format(sink.format).options(**sink.options)
    if sink.format in _FILES and sink.path is not None:
        write.mode("overwrite").save(str(Path(sink.path) / f"from={writer}" / f"batch={batch:012d}"))
        return
    if sink.format == "delta":
        write = write.option("txnAppId", f"watersmeet {writer}").option("txnVersion", str(batch))
    write = write.mode("append")
    write.save(sink.path) if sink.path else write.save()
