"""Four live streams, joined by one system in a process of its own: how long its batches take."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from watersmeet_lab.apart import answer, run_apart, session_apart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEPT = "spark.sql.streaming.numRecentProgressUpdates"


@dataclass(frozen=True)
class Live:
    """What is run.

    Attributes:
        system: "ours" or "chain".
        rate: Rows per second, all streams together.
        triggers: Measured batches.
        warm: Batches before them.
        streams: How many streams.
        window_s: How long a row waits for partners, seconds.
        cores: Cores and shuffle partitions.
    """

    system: str
    rate: int
    triggers: int = 200
    warm: int = 30
    streams: int = 4
    window_s: int = 10
    cores: int = 2


@dataclass(frozen=True)
class Waited:
    """What came of it: batches in milliseconds, and how many results each second had."""

    p50_ms: float
    p95_ms: float
    rows_per_second: float
    results_per_second: float


def waited(live: Live) -> Waited:
    """Run it."""
    return Waited(**run_apart(__name__, asdict(live)))


def _source(spark: SparkSession, live: Live, stream: int) -> DataFrame:
    """Rows as they come, with as many keys as a window has rows: about one match per row and stream."""
    per_second = live.rate // live.streams
    keys = per_second * live.window_s
    rows = spark.readStream.format("rate").option("rowsPerSecond", per_second).load()
    return rows.selectExpr(
        f"pmod(xxhash64(value, {stream}), {keys}) AS key",
        "timestamp AS ts",
        "concat('payload of forty bytes for the number ', value % 10) AS payload",
    )


def _ours(live: Live) -> DataFrame:
    import watersmeet as wm

    spark = session_apart(live.cores, _settings(live), ours=True)
    streams = [
        wm.stream(f"s{i}", _source(spark, live, i), time="ts", window=f"{live.window_s} seconds")
        for i in range(live.streams)
    ]
    return wm.join(*streams, on="key").to_dataframe()


def _chain(live: Live) -> DataFrame:
    from pyspark.sql import functions as F

    settings = {
        **_settings(live),
        "spark.sql.shuffle.partitions": str(live.cores),
        # The same collector for both.
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    }
    spark = session_apart(live.cores, settings)
    window = f"INTERVAL {live.window_s} SECONDS"
    joined: DataFrame | None = None
    for i in range(live.streams):
        source = _source(spark, live, i).withWatermark("ts", "1 milliseconds")
        side = source.select(*(F.col(name).alias(f"{name}{i}") for name in ("key", "ts", "payload")))
        if joined is None:
            joined = side
            continue
        # Spark refuses an input with two event-time columns; a round trip through integers keeps one.
        joined = joined.withColumns(
            {f"ts{m}": F.timestamp_micros(F.unix_micros(f"ts{m}")) for m in range(1, i)}
        )
        near = [f"ts{m} BETWEEN ts{i} - {window} AND ts{i} + {window}" for m in range(i)]
        joined = joined.join(side, F.expr(" AND ".join([f"key0 = key{i}", *near])))
    assert joined is not None
    return joined


def _settings(live: Live) -> dict[str, str]:
    return {_KEPT: str(live.warm + live.triggers + 50), "spark.driver.memory": "6g"}


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    from pyspark.sql import functions as F

    live = Live(**spec)
    joined = {"ours": _ours, "chain": _chain}[live.system](live)
    spark = joined.sparkSession
    counted = joined.observe("sink", F.count(F.lit(1)).alias("results"))
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as checkpoint:
        writer = counted.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime="0 seconds").start()
        while query.isActive and _batches(query) < live.warm + live.triggers:
            time.sleep(1)
        if query.exception() is not None:
            raise RuntimeError(str(query.exception()))
        progress = [one for one in query.recentProgress if one.numInputRows]
        query.stop()
        spark.stop()
    measured = progress[live.warm : live.warm + live.triggers]
    took = [one.durationMs["triggerExecution"] for one in measured]
    seconds = sum(took) / 1000
    return asdict(
        Waited(
            median(took),
            quantiles(took, n=20)[-1],
            sum(one.numInputRows for one in measured) / seconds,
            sum(one.observedMetrics["sink"]["results"] for one in measured) / seconds,
        )
    )


def _batches(query: Any) -> int:
    """How many batches have ended; those without rows are few."""
    last = query.lastProgress
    return 0 if last is None else int(last.batchId)


if __name__ == "__main__":
    answer(_run)
