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
    from watersmeet.spark.settings import recommended_settings

    spark = _session(case, {**recommended_settings(cores=case.cores), **case.options})
    streams = [
        wm.stream(f"s{i}", _source(spark, case, i), time="ts", window=f"{case.window_s} seconds")
        for i in range(case.workload.streams)
    ]
    if case.optional:
        streams[1:] = [wm.optional(stream) for stream in streams[1:]]
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
        # A stream that is missing bounds nothing: chained outer joins compare with the first alone.
        bounds = [
            f"t{m} <= t{i} + {window} AND t{i} <= t{m} + {window}"
            for m in (range(1) if case.optional else range(i))
        ]
        how = "left" if case.optional else "inner"
        joined = joined.join(side, F.expr(" AND ".join([f"k0 = k{i}", *bounds])), how)
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


def duckdb_left(case: Case) -> Outcome:
    """DuckDB over the whole data at once: a chain of LEFT JOINs with the overlap as one more condition.

    `results` are those that have left when the watermark has followed all rows: combinations without nulls,
    and others that have closed.
    """
    import duckdb

    window = round(case.window_s * 1e6)
    connection = duckdb.connect()
    connection.execute(f"SET threads = {case.cores}")
    newest = []
    for i in range(case.workload.streams):
        connection.execute(
            f"CREATE VIEW s{i} AS SELECT {case.key} AS k, epoch_us(ts) AS t FROM '{case.path(i)}/*.parquet'"  # noqa: S608
        )
        newest.append(f"(SELECT max(t) FROM s{i})")  # noqa: S608
    sql = f"SELECT k, t AS a, t + {window} AS b, t + {window} AS closes, false AS lacks FROM s0"  # noqa: S608
    for i in range(1, case.workload.streams):
        sql = (
            f"SELECT q.k, greatest(q.a, coalesce(s{i}.t, q.a)) AS a, "  # noqa: S608
            f"least(q.b, coalesce(s{i}.t + {window}, q.b)) AS b, closes, lacks OR s{i}.t IS NULL AS lacks "
            f"FROM ({sql}) q LEFT JOIN s{i} ON s{i}.k = q.k AND s{i}.t <= q.b AND s{i}.t + {window} >= q.a"
        )
    start = time.perf_counter()
    # As Spark's watermark: whole milliseconds, and one less.
    watermark = f"least({', '.join(newest)}) // 1000 * 1000 - 1000"
    left = f"SELECT count(*) FROM ({sql}) WHERE NOT lacks OR closes <= {watermark}"  # noqa: S608
    row = connection.execute(left).fetchone()
    assert row is not None
    return Outcome(row[0], time.perf_counter() - start)


SYSTEMS = {"duckdb_left": duckdb_left, "ours": ours, "native": native, "duckdb": duckdb}


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
