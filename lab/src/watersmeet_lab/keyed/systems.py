"""The systems under test: each takes a case and returns its outcome."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from watersmeet_lab.apart import session_apart
from watersmeet_lab.keyed.case import Case, Outcome, stream_through

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The same Java for both: the collector that leaves two cores most of their time.
_JAVA = "-XX:+UseParallelGC"


def ours(case: Case) -> Outcome:
    """Watersmeet with its recommended settings."""
    import watersmeet as wm

    spark, result = our_join(case)

    def held(progress: Any) -> int | None:
        counts = [stream.live for join in wm.metrics(progress) for stream in join.streams.values()]
        return None if None in counts else sum(count for count in counts if count is not None)

    return stream_through(spark, result, held)


def our_join(case: Case) -> tuple[SparkSession, DataFrame]:
    """The join on a session of its own, by nothing but what any version of us has."""
    import watersmeet as wm

    settings = wm.recommended_settings(cores=case.cores)
    spark = _session(case, {**settings, **case.options})
    streams = [
        wm.stream(f"s{i}", _source(spark, case, i), time="ts", window=f"{case.window_s} seconds")
        for i in range(case.workload.streams)
    ]
    # One bucket per core: more would only serve a larger machine.
    return spark, wm.join(*streams, on="key", buckets=case.cores).to_dataframe()


def native(case: Case) -> Outcome:
    """Spark's own binary joins, chained, in the setting that serves them best."""
    from pyspark.sql import functions as F

    spark = _session(
        case,
        {
            "spark.sql.shuffle.partitions": str(case.cores),
            "spark.sql.streaming.join.stateFormatVersion": "2",
            **case.options,
        },
    )
    window = f"INTERVAL {case.window_s} SECONDS"
    joined: DataFrame | None = None
    for i in range(case.workload.streams):
        side = (
            _source(spark, case, i)
            .withWatermark("ts", "1 milliseconds")
            .select(
                F.struct("key", "ts", "payload").alias(f"s{i}"),
                F.col("key").alias(f"k{i}"),
                F.col("ts").alias(f"t{i}"),
            )
        )
        if joined is None:
            joined = side
            continue
        # Spark refuses an input with two event-time columns; a round trip through integers keeps one.
        joined = joined.withColumns(
            {f"t{m}": F.timestamp_micros(F.unix_micros(f"t{m}")) for m in range(1, i)}
        )
        bounds = [f"t{m} <= t{i} + {window} AND t{i} <= t{m} + {window}" for m in range(i)]
        joined = joined.join(side, F.expr(" AND ".join([f"k0 = k{i}", *bounds])))
    assert joined is not None
    return stream_through(spark, joined.select(*[f"s{i}" for i in range(case.workload.streams)]))


def duckdb(case: Case) -> Outcome:
    """DuckDB over the whole data at once."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {case.cores}")
    tables = []
    for i in range(case.workload.streams):
        source = f"(SELECT {case.key} AS key, ts, payload FROM '{case.path(i)}/*.parquet') s{i}"  # noqa: S608
        bounds = [
            f"abs(epoch_us(s{m}.ts) - epoch_us(s{i}.ts)) <= {round(case.window_s * 1e6)}" for m in range(i)
        ]
        tables.append(
            source if i == 0 else f"JOIN {source} ON {' AND '.join([f's0.key = s{i}.key', *bounds])}"
        )
    # Payloads are summed up, so that no column of the result can be skipped.
    payloads = " + ".join(f"length(s{i}.payload)" for i in range(case.workload.streams))
    start = time.perf_counter()
    row = connection.execute(f"SELECT count(*), sum({payloads}) FROM {' '.join(tables)}").fetchone()  # noqa: S608
    assert row is not None
    return Outcome(row[0], time.perf_counter() - start)


SYSTEMS = {"ours": ours, "native": native, "duckdb": duckdb}


def _session(case: Case, settings: dict[str, str]) -> SparkSession:
    name = "spark.driver.extraJavaOptions"
    java = " ".join(dict.fromkeys([*_JAVA.split(), *settings.get(name, "").split()]))
    return session_apart(case.cores, {**settings, "spark.driver.memory": "6g", name: java})


def _source(spark: SparkSession, case: Case, stream: int) -> DataFrame:
    files = (
        spark.readStream.schema(case.workload.schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(case.path(stream))
    )
    return files.selectExpr(f"{case.key} AS key", "ts", "payload")
