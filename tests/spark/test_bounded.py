"""Joins with windows that do not fit in memory, on Spark, with a restart and damaged files.

Would catch: a row lost or doubled when windows are looked into piece by piece, runs that stay open beyond the
budget, what was learnt about runs lost at a restart or kept for ever.
"""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm
from harness.streaming import Feed, sink_rows, to_sink

NAMES = ("a", "b", "c")
SCHEMA = "k bigint, ts timestamp, v bigint, text string"
ARROW = pa.schema(
    [("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("v", pa.int64()), ("text", pa.string())]
)
START_US = 1_700_000_000_000_000
ROWS, BATCHES, KEYS = 250, 8, 100
MEMORY = 2_000_000


class Streams:
    """Three streams with a row per second each, and windows of most of what is sent."""

    def __init__(self, root: Path) -> None:
        self.random = np.random.default_rng(3)
        self.feeds = [Feed(root / name, SCHEMA, ARROW) for name in NAMES]
        self.tables: list[list[pa.Table]] = [[] for _ in NAMES]
        self.sent = 0

    def send(self, batches: int) -> None:
        for _ in range(batches):
            for feed, tables in zip(self.feeds, self.tables, strict=True):
                ids = np.arange(self.sent, self.sent + ROWS)
                rows = [
                    {"k": int(key), "ts": START_US + int(i) * 1_000_000, "v": int(i), "text": f"{i:0300}"}
                    for key, i in zip(self.random.integers(0, KEYS, ROWS), ids, strict=True)
                ]
                feed.add(rows)
                tables.append(pa.Table.from_pylist(rows, ARROW))
            self.sent += ROWS

    def results(self, spark: SparkSession) -> DataFrame:
        streams = [
            wm.stream(name, feed.stream(spark), time="ts", window="20 minutes", lateness="10 seconds")
            for name, feed in zip(NAMES, self.feeds, strict=True)
        ]
        query = wm.join(
            *streams, on=["a.k = b.k", "b.k = c.k", "a.v % 3 <> c.v % 3"], memory=MEMORY, buckets=4
        )
        assert "memory of an executor: 2 MB" in query.explain()
        return query.to_dataframe().selectExpr("a.v AS a", "b.v AS b", "c.v AS c", "length(b.text) AS size")

    def expected(self) -> list[tuple[int, ...]]:
        connection = duckdb.connect()
        for name, tables in zip(NAMES, self.tables, strict=True):
            connection.register(name, pa.concat_tables(tables))
        return connection.execute(
            "SELECT a.v, b.v, c.v, length(b.text) FROM a, b, c "
            "WHERE a.k = b.k AND b.k = c.k AND a.v % 3 <> c.v % 3 "
            "AND greatest(a.ts, b.ts, c.ts) - least(a.ts, b.ts, c.ts) <= INTERVAL 20 MINUTES"
        ).fetchall()


def test_windows_larger_than_memory(spark: SparkSession, tmp_path: Path) -> None:
    streams = Streams(tmp_path)
    reports = []
    for batches in (BATCHES // 2, BATCHES - BATCHES // 2):
        streams.send(batches)
        query = to_sink(streams.results(spark), tmp_path)
        reports += [report for progress in query.recentProgress for report in wm.metrics(progress)]
    found = [tuple(row) for row in sink_rows(spark, tmp_path).collect()]
    assert sorted(found) == sorted(streams.expected())
    assert len(found) > 5000
    full = [one for one in reports if all(s.memory_bytes is not None for s in one.streams.values())]
    state, memory = (
        max(sum(getattr(stream, name) for stream in one.streams.values()) for one in full)
        for name in ("state_bytes", "memory_bytes")
    )
    # A quarter of the memory is for runs that stay open.
    assert 0 < memory <= MEMORY // 4 < state
    assert all(one.worker_bytes is None or one.worker_bytes > 0 for one in reports)
