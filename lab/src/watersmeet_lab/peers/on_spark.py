"""Each row on Spark: as a query of ours, and as a chain of Spark's own joins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from watersmeet_lab.apart import session_apart
from watersmeet_lab.peers.data import Data
from watersmeet_lab.peers.outcome import Outcome
from watersmeet_lab.peers.query import Query, Side, between, rewritten
from watersmeet_lab.peers.rows import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DRIVER_JAVA = "spark.driver.extraJavaOptions"
# The same Java for all: the collector that leaves two cores most of their time.
_JAVA = "-XX:+UseParallelGC"
_ONE_FILE = {"maxFilesPerTrigger": "1"}


def ours(row: Row, data: Data, cores: int, scratch: Path) -> Outcome:
    """As a user would write it, with the settings of `wm.configure` and nothing else."""
    from watersmeet.spark.settings import recommended_settings

    spark = _session(data, cores, recommended_settings(cores=cores))
    sources = {side.name: _our_source(spark, data, side) for side in row.query.sides}
    return _run(our_join(row.query, sources), data, scratch)


def chain(row: Row, data: Data, cores: int, scratch: Path) -> Outcome:
    """Spark's binary joins, chained, with its state store as it comes."""
    return _chain(row, data, cores, scratch, {"spark.sql.streaming.join.stateFormatVersion": "2"})


def chain_rocksdb(row: Row, data: Data, cores: int, scratch: Path) -> Outcome:
    """The same with RocksDB and the newest format of the state of joins."""
    from watersmeet.spark.settings import ROCKSDB

    settings = {
        "spark.sql.streaming.join.stateFormatVersion": "4",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    return _chain(row, data, cores, scratch, settings)


def _chain(row: Row, data: Data, cores: int, scratch: Path, settings: dict[str, str]) -> Outcome:
    spark = _session(data, cores, {"spark.sql.shuffle.partitions": str(cores), **settings})
    sources = {side.name: _chain_source(spark, data, side) for side in row.query.sides}
    return _run(chained(row.query, sources), data, scratch)


def our_join(query: Query, sources: Mapping[str, DataFrame]) -> DataFrame:
    """Our join of the sides' DataFrames."""
    import watersmeet as wm

    window = f"{query.window_s} seconds" if query.window_s else None
    streams = [
        wm.stream(
            side.name,
            sources[side.name],
            time="ts",
            window=wm.tumbling(f"{query.slot_s} seconds") if query.slot_s else window,
        )
        for side in query.sides
    ]
    on = [*query.conditions]
    for side in query.sides:
        on += query.equalities(side)
        if not query.window_s:
            on += [between(f"{side.name}.ts", f"{near.other}.ts", near, _interval) for near in side.near]
    how = "semi" if query.slot_s else "inner"
    return wm.join(*streams, on=on, select=list(query.select), how=how).to_dataframe()


def chained(query: Query, sources: Mapping[str, DataFrame]) -> DataFrame:
    """Spark's own joins of the sides' DataFrames, in their order."""
    from pyspark.sql import functions as F

    def named(stream: str, column: str) -> str:
        return f"{stream}_{column}"

    joined: DataFrame | None = None
    for number, side in enumerate(query.sides):
        source = sources[side.name].withWatermark("ts", "1 milliseconds")
        right = source.select(*(F.col(name).alias(f"{side.name}_{name}") for name, _ in side.columns))
        if query.slot_s:
            slot = F.window(f"{side.name}_ts", f"{query.slot_s} seconds")
            right = _without_watermark(right.withColumn(f"{side.name}_slot", slot), [f"{side.name}_ts"])
        if joined is None:
            joined = right
            continue
        anchor = side.near[0].other if side.near else query.sides[0].name
        others = [f"{one.name}_ts" for one in query.sides[:number] if one.name != anchor]
        joined = _without_watermark(joined, others)
        on = [rewritten(text, named) for text in query.equalities(side)]
        on += [between(f"{side.name}_ts", f"{near.other}_ts", near, _interval) for near in side.near]
        if query.slot_s:
            on.append(f"{anchor}_slot = {side.name}_slot")
        joined = joined.join(right, F.expr(" AND ".join(on)), "leftsemi" if query.slot_s else "inner")
    assert joined is not None
    for condition in query.conditions:
        # Spark moves conditions to where they save most.
        joined = joined.where(rewritten(condition, named))
    return joined.select(*(rewritten(name, named) for name in query.select))


def _without_watermark(df: DataFrame, names: list[str]) -> DataFrame:
    """Spark refuses an input with two columns of event time; a round trip through integers keeps one."""
    from pyspark.sql import functions as F

    return df.withColumns({name: F.timestamp_micros(F.unix_micros(name)) for name in names})


def _run(result: DataFrame, data: Data, scratch: Path) -> Outcome:
    """Run to the end of the input, and count what comes out."""
    from pyspark.sql import functions as F

    counted = result.observe("sink", F.count(F.lit(1)).alias("results"))
    writer = counted.writeStream.format("noop").option("checkpointLocation", str(scratch / "checkpoint"))
    started = datetime.now(UTC)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    seconds = (datetime.now(UTC) - started).total_seconds()
    results = sum(one.observedMetrics["sink"]["results"] for one in query.recentProgress)
    ends = [
        (datetime.fromisoformat(one.timestamp) - started).total_seconds()
        + one.durationMs["triggerExecution"] / 1000
        for one in query.recentProgress
        if one.numInputRows
    ]
    # Spark counts files where the workers open them; all batches are of one size.
    reached = [(0.0, 0), *((end, round(data.rows * (n + 1) / len(ends))) for n, end in enumerate(ends))]
    result.sparkSession.stop()
    return Outcome(results, seconds, reached)


def _interval(seconds: int) -> str:
    return f"INTERVAL {seconds} SECONDS"


def _our_source(spark: SparkSession, data: Data, side: Side) -> DataFrame:
    import watersmeet as wm

    if not data.servers:
        return wm.files(spark, data.batches(side.name), schema=side.schema, options=_ONE_FILE)
    return wm.kafka(
        spark,
        servers=data.servers,
        topics=side.name,
        schema=side.schema,
        options={"maxOffsetsPerTrigger": data.batch_rows(side.name)},
    )


def _chain_source(spark: SparkSession, data: Data, side: Side) -> DataFrame:
    from pyspark.sql import functions as F

    if not data.servers:
        reader = spark.readStream.schema(side.schema).options(**_ONE_FILE)
        return reader.parquet(data.batches(side.name))
    options = {
        "kafka.bootstrap.servers": data.servers,
        "subscribe": side.name,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(data.batch_rows(side.name)),
    }
    raw = spark.readStream.format("kafka").options(**options).load()
    return raw.select(F.from_json(F.col("value").cast("string"), side.schema).alias("r")).select("r.*")


def _session(data: Data, cores: int, settings: dict[str, str]) -> SparkSession:
    java = " ".join(dict.fromkeys([*_JAVA.split(), *settings.get(_DRIVER_JAVA, "").split()]))
    more = {"spark.jars": data.jars} if data.jars else {}
    return session_apart(cores, {**settings, **more, "spark.driver.memory": "6g", _DRIVER_JAVA: java})
