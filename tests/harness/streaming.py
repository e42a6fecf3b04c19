"""Streams for Spark from files, one file per batch, and queries that run until they have read them all."""

import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from oracles.reference import Result, Row
from watersmeet.spark.master import ONE_HOST
from watersmeet.spark.settings import FILE_MANAGER, SOCKETS, recommended_settings

_SPARKS_FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
)

_names = count()

# Workers open files and hand rows over by themselves, as by default on one machine. WATERSMEET_TEST_WAYS=long
# has all rows and all state go through Java instead, over TCP, and Spark write checkpoints in its own way, as
# on a cluster: make test-ways.
SHORT_WAYS = os.environ.get("WATERSMEET_TEST_WAYS") != "long"


def session_settings(scratch: Path) -> dict[str, str]:
    """What keeps a test session small and to itself."""
    recommended = recommended_settings(cores=2)
    java = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
    return {
        # Tests end before the second compiler would pay for itself.
        **{name: f"{recommended[name]} -XX:TieredStopAtLevel=1" for name in java},
        "spark.driver.memory": "1g",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        # Spark ships this type switched off; who switches it on may join on it.
        "spark.sql.timeType.enabled": "true",
        **({} if SHORT_WAYS else {ONE_HOST: "false", SOCKETS: "false", FILE_MANAGER: _SPARKS_FILE_MANAGER}),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # On a busy machine a batch may be long.
        "spark.sql.streaming.stopTimeout": "120s",
    }


def build_session(
    scratch: Path, master: str = "local[2]", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session of its own as users make it; a master "remote:<url>" is reached through Spark Connect."""
    builder = SparkSession.builder.appName("watersmeet tests")
    remote = master.removeprefix("remote:")
    builder = builder.remote(remote) if remote != master else builder.master(master)
    for key, value in (session_settings(scratch) | dict(settings or {})).items():
        builder = builder.config(key, value)
    session = wm.configure(builder, cores=2).getOrCreate()
    if remote == master:
        session.sparkContext.setLogLevel("ERROR")
    return session


class Feed:
    """A folder that Spark reads as a stream, one file per batch, or as a plain table.

    Files are taken in the order they were added: the file source sorts by time of modification.
    """

    def __init__(self, folder: Path, schema: str, arrow: pa.Schema) -> None:
        """Make the folder; `schema` is Spark's, `arrow` the same in Arrow."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._schema = schema
        self._arrow = arrow
        self._files = len(list(folder.glob("*.parquet")))

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """The next file; an empty one is a batch in which the stream is silent."""
        # Spark skips names that start with a dot, so the file appears at once and whole.
        hidden = self.folder / f".{self._files}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), self._arrow), hidden)
        os.utime(hidden, (1e9 + self._files, 1e9 + self._files))
        hidden.rename(self.folder / f"{self._files:04d}.parquet")
        self._files += 1

    def stream(self, spark: SparkSession, *, opened: bool = SHORT_WAYS) -> DataFrame:
        """As a stream; the workers open the files themselves, or Spark reads them."""
        once = {"maxFilesPerTrigger": "1"}
        if opened:
            return wm.files(spark, str(self.folder), schema=self._schema, options=once)
        return spark.readStream.schema(self._schema).options(**once).parquet(str(self.folder))

    def plain(self, spark: SparkSession) -> DataFrame:
        """As a plain DataFrame."""
        return spark.read.schema(self._schema).parquet(str(self.folder))


ROW_SCHEMA = "h int, k string, ts timestamp, value bigint"
ROW_ARROW = pa.schema(
    [("h", pa.int32()), ("k", pa.string()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.int64())]
)


def row_feeds(folder: Path, streams: int) -> list[Feed]:
    """One feed per stream for rows with a key of two columns, h and k."""
    return [Feed(folder / f"s{i}", ROW_SCHEMA, ROW_ARROW) for i in range(streams)]


def add_rows(feeds: Sequence[Feed], batch: Sequence[Sequence[Row]]) -> None:
    """One more batch: a file for every stream."""
    for feed, rows in zip(feeds, batch, strict=True):
        feed.add([{"h": r.key[0], "k": r.key[1], "ts": r.ts, "value": r.value} for r in rows])


def start_sink(
    results: DataFrame, folder: Path, checkpoint: str | None = None, **trigger: Any
) -> StreamingQuery:
    """Start writing parquet files, exactly once across restarts."""
    writer = results.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", checkpoint or str(folder / "checkpoint"))
    return (writer.trigger(**trigger) if trigger else writer).start()


def to_sink(results: DataFrame, folder: Path, checkpoint: str | None = None) -> StreamingQuery:
    """Read all that is there into the sink, and wait for the end."""
    query = start_sink(results, folder, checkpoint, availableNow=True)
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return query


def sink_rows(spark: SparkSession, folder: Path) -> DataFrame:
    """What has reached the sink."""
    return spark.read.parquet(str(folder / "out"))


def to_memory(results: DataFrame) -> tuple[StreamingQuery, DataFrame]:
    """Read all that is there; returns the ended query and its rows."""
    name = f"results_{next(_names)}"
    query = results.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return query, results.sparkSession.table(name)


def result_values(results: DataFrame) -> list[Result]:
    """The value of every stream and the result time in microseconds, as the oracles give them."""
    names = results.columns[:-1]
    flat = results.selectExpr(*(f"{name}.value AS {name}" for name in names), "unix_micros(result_time)")
    return list(zip(*(column.to_pylist() for column in flat.toArrow().columns), strict=True))
