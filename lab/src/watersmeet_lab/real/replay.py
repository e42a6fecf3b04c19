"""Tables as streams: files cut at the same moments, which Spark reads one per batch.

The rows come in the order of their times, so none is late and the answer is the whole answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from watersmeet.spark.endpoints import Endpoint, read_stream
from watersmeet_lab.files import write_batch
from watersmeet_lab.real.datasets import Dataset

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import DataFrame, SparkSession


def write_batches(connection: DuckDBPyConnection, dataset: Dataset, folder: Path, batches: int) -> None:
    """Write every stream of a data set as one file per batch, `folder/<stream>/00000.parquet` first.

    Args:
        connection: Where the tables are.
        dataset: Whose streams to write.
        folder: Where to.
        batches: Into how many spans of equal length the time of the data set is cut.
    """
    times = " UNION ALL ".join(f"SELECT us FROM {stream}" for stream in dataset.streams)  # noqa: S608
    first, last = connection.sql(f"SELECT min(us), max(us) FROM ({times})").fetchall()[0]  # noqa: S608
    cuts = [first + (last + 1 - first) * number // batches for number in range(batches + 1)]
    for stream in dataset.streams:
        for number in range(batches):
            rows = connection.sql(
                f"SELECT * EXCLUDE (us), make_timestamptz(us) AS ts FROM {stream} "  # noqa: S608
                "WHERE us >= ? AND us < ? ORDER BY us, id",
                params=cuts[number : number + 2],
            ).to_arrow_table()
            write_batch(rows, folder / stream, number)


def read_batches(spark: SparkSession, dataset: Dataset, folder: Path) -> Mapping[str, DataFrame]:
    """The streams of a data set, from what `write_batches` wrote; each takes one file per batch."""
    found = {}
    for stream in dataset.streams:
        files = Endpoint("parquet", str(folder / stream), {"maxFilesPerTrigger": "1"})
        found[stream] = read_stream(spark, stream, files, spark.read.parquet(str(folder / stream)).schema)
    return found
