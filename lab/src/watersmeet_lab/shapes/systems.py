"""Each shape as a query of ours, and as a chain of Spark's own joins, over the same sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watersmeet_lab.apart import session_apart
from watersmeet_lab.shapes.data import stream_folder
from watersmeet_lab.shapes.shapes import WINDOW_BATCHES, Shape

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Place:
    """Where the rows of a shape are: files in a folder, or topics `<prefix>0`, `<prefix>1`... of servers."""

    root: Path
    servers: str = ""
    prefix: str = ""
    jars: str = ""

    def topic(self, stream: int) -> str:
        """The topic of a stream."""
        return f"{self.prefix}{stream}"


def ours(shape: Shape, place: Place, cores: int) -> DataFrame:
    """As a user would write it, with the settings of `wm.configure` and nothing else."""
    import watersmeet as wm

    spark = session_apart(cores, _settings(place), ours=True)
    window = None if shape.condition == "band" else f"{WINDOW_BATCHES} seconds"
    streams = [
        wm.stream(f"s{i}", _our_source(spark, shape, place, i), time="ts", window=window)
        for i in range(shape.streams)
    ]
    conditions = [f"s{i}.{a} = s{j}.{b}" for i, a, j, b in shape.equalities()]
    if shape.condition == "band":
        conditions += [_follows(f"s{i - 1}.ts", f"s{i}.ts") for i in range(1, shape.streams)]
    on = "key" if shape.condition == "key" else conditions
    select = [f"s{i}.{name}" for i in range(shape.streams) for name in _columns(shape, i)]
    return wm.join(*streams, on=on, select=select).to_dataframe()


def chain(shape: Shape, place: Place, cores: int) -> DataFrame:
    """Spark's binary joins, chained in the order of the streams, in the setting that serves them best."""
    from pyspark.sql import functions as F

    from watersmeet.spark.class_archive import archive_options

    settings = {
        **_settings(place),
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.join.stateFormatVersion": "2",
        # The same Java for both: a collector that leaves two cores most of their time, and as quick a start.
        "spark.driver.extraJavaOptions": " ".join(["-XX:+UseParallelGC", *archive_options()]),
    }
    spark = session_apart(cores, settings)
    joined: DataFrame | None = None
    for i in range(shape.streams):
        source = _chain_source(spark, shape, place, i).withWatermark("ts", "1 milliseconds")
        side = source.select(*(F.col(name).alias(f"s{i}_{name}") for name in _columns(shape, i)))
        if joined is None:
            joined = side
            continue
        # Spark refuses an input with two event-time columns; a round trip through integers keeps one.
        joined = joined.withColumns(
            {f"s{m}_ts": F.timestamp_micros(F.unix_micros(f"s{m}_ts")) for m in range(1, i)}
        )
        equal = [f"s{m}_{a} = s{n}_{b}" for m, a, n, b in shape.equalities() if n == i]
        if shape.condition == "band":
            near = [_follows(f"s{i - 1}_ts", f"s{i}_ts")]
        else:
            near = [f"s{m}_ts BETWEEN s{i}_ts - {_WINDOW} AND s{i}_ts + {_WINDOW}" for m in range(i)]
        joined = joined.join(side, F.expr(" AND ".join([*equal, *near])))
    assert joined is not None
    return joined


SYSTEMS: dict[str, Callable[[Shape, Place, int], DataFrame]] = {"ours": ours, "chain": chain}

_ONE_FILE = {"maxFilesPerTrigger": "1"}
_WINDOW = f"INTERVAL {WINDOW_BATCHES} SECONDS"


def _columns(shape: Shape, stream: int) -> tuple[str, ...]:
    return (*shape.key_columns(stream), "ts", "payload")


def _follows(first: str, second: str) -> str:
    return f"{second} BETWEEN {first} AND {first} + {_WINDOW}"


def _our_source(spark: SparkSession, shape: Shape, place: Place, stream: int) -> DataFrame:
    import watersmeet as wm

    if not shape.topics:
        folder = str(stream_folder(place.root, stream))
        return wm.files(spark, folder, schema=shape.schema(stream), options=_ONE_FILE)
    return wm.kafka(
        spark,
        servers=place.servers,
        topics=place.topic(stream),
        schema=shape.schema(stream),
        options={"maxOffsetsPerTrigger": shape.stream_batch_rows},
    )


def _chain_source(spark: SparkSession, shape: Shape, place: Place, stream: int) -> DataFrame:
    from pyspark.sql import functions as F

    if not shape.topics:
        return _files(spark, shape, place, stream)
    options = {
        "kafka.bootstrap.servers": place.servers,
        "subscribe": place.topic(stream),
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(shape.stream_batch_rows),
    }
    raw = spark.readStream.format("kafka").options(**options).load()
    return raw.select(F.from_json(F.col("value").cast("string"), shape.schema(stream)).alias("r")).select(
        "r.*"
    )


def _files(spark: SparkSession, shape: Shape, place: Place, stream: int) -> DataFrame:
    reader = spark.readStream.schema(shape.schema(stream)).options(**_ONE_FILE)
    return reader.parquet(str(stream_folder(place.root, stream)))


def _settings(place: Place) -> dict[str, str]:
    return {"spark.driver.memory": "6g", **({"spark.jars": place.jars} if place.jars else {})}
