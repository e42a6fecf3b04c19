"""Joins without windows, in bounded memory: streams that fall silent, stop and end.

Would catch: a pair lost or found twice over silence, restarts and the end; rows taken after an end marker;
runs that are only in memory when a query stops; a join of plain inputs that differs.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from watersmeet.errors import InvalidQuery, InvalidSettings
from watersmeet.plan.progressive import Bounded
from watersmeet.spark.progressive.budget import refuse_large_batch

SCHEMA = "k string, v bigint, ts timestamp"
START_US = 1_700_000_000_000_000


class Relations:
    """Two relations that arrive file by file, and what their join is."""

    def __init__(self, root: Path, *, keys: int, rows: int) -> None:
        self.root, self.keys, self.rows = root, keys, rows
        self.random = np.random.default_rng(7)
        self.sent: dict[str, list[int]] = {"a": [], "b": []}
        for name in self.sent:
            (root / name).mkdir()

    def send(self, *names: str) -> None:
        """One more file of each."""
        for name in names:
            first = len(self.sent[name])
            # Some keys are frequent on one side and rare on the other.
            drawn = self.random.random(self.rows) ** (2 if name == "a" else 0.5)
            keys = (drawn * self.keys).astype(int)
            self.sent[name] += keys.tolist()
            times = START_US + 1000 * np.arange(first, first + self.rows)
            table = pa.table(
                {
                    "k": pa.array([f"key {key}" for key in keys]),
                    "v": pa.array(np.arange(first, first + self.rows)),
                    "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                }
            )
            waiting = self.root / f"{name}.{first}"
            pq.write_table(table, waiting)
            waiting.rename(self.root / name / f"{first:09}.parquet")

    def query(self, spark: SparkSession, *, plain: bool = False, memory: str = "1100 kB") -> wm.Query:
        reader = spark.read.schema(SCHEMA) if plain else spark.readStream.schema(SCHEMA)
        streams = [
            wm.stream(name, reader.parquet(str(self.root / name)), time="ts", window=wm.UNBOUNDED)
            for name in self.sent
        ]
        query = wm.join(*streams, on="k", memory=memory, buckets=4)
        return query.plan_with(tick="0.2 seconds")

    @staticmethod
    def pairs(results: DataFrame) -> Counter[tuple[int, int]]:
        table = results.select("a.v", "b.v").toArrow()
        return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def expected(self, **most: int) -> Counter[tuple[int, int]]:
        """All pairs, of the first rows of a stream where it says how many."""
        by_key: dict[int, list[int]] = {}
        for row, key in enumerate(self.sent["b"][: most.get("b")]):
            by_key.setdefault(key, []).append(row)
        return Counter(
            (row, other)
            for row, key in enumerate(self.sent["a"][: most.get("a")])
            for other in by_key.get(key, [])
        )


class Found:
    """What a streaming query has found, over all its starts."""

    def __init__(self, checkpoint: Path) -> None:
        self.pairs: Counter[tuple[int, int]] = Counter()
        self.batches: set[int] = set()
        self.checkpoint = checkpoint

    def start(self, results: DataFrame) -> StreamingQuery:
        def keep(some: DataFrame, batch: int) -> None:
            pairs = Relations.pairs(some)
            # A batch that runs again gives the same rows again.
            if batch not in self.batches:
                self.pairs.update(pairs)
                self.batches.add(batch)

        writer = results.writeStream.foreachBatch(keep).option("checkpointLocation", str(self.checkpoint))
        return writer.start()


def wait_until(running: StreamingQuery, done: Callable[[], bool]) -> None:
    for _ in range(600):
        if done():
            return
        error = running.exception()
        if error is not None:
            raise error
        running.awaitTermination(0.1)
    raise AssertionError(f"not done: {running.lastProgress}")


@pytest.mark.slow
def test_silence_restarts_and_the_end(spark: SparkSession, tmp_path: Path) -> None:
    relations = Relations(tmp_path, keys=200, rows=1200)
    found = Found(tmp_path / "checkpoint")
    relations.send("a", "b")
    query = relations.query(spark)
    running = found.start(query.to_dataframe())
    wait_until(running, lambda: len(found.batches) > 0)
    relations.send("a", "b")
    relations.send("a")
    # Memory holds a part of the rows only; what is on disk is found in silence.
    wait_until(running, lambda: found.pairs == relations.expected())
    running.stop()
    # Another object, as after a restart of the application.
    query = relations.query(spark)
    relations.send("b")
    running = found.start(query.to_dataframe())
    relations.send("a")
    query.finish(running, "a", timeout=120)
    ended = len(relations.sent["a"])
    relations.send("a", "b")
    late = [0]

    def refused() -> bool:
        late[0] = sum(one.streams["a"].late for p in running.recentProgress for one in wm.metrics(p))
        return late[0] >= relations.rows

    wait_until(running, refused)
    query.finish(running, timeout=120)
    last = wm.metrics(running.lastProgress)[0]
    running.stop()
    assert found.pairs == relations.expected(a=ended)
    assert late[0] == relations.rows
    # Nothing is needed any more.
    assert [stream.state_bytes for stream in last.streams.values()] == [0, 0]


@pytest.mark.parametrize("algorithm", ["rpj", "hmj"])
def test_plain_inputs(spark: SparkSession, tmp_path: Path, algorithm: str) -> None:
    relations = Relations(tmp_path, keys=500, rows=9000)
    relations.send("a", "b")
    results = relations.query(spark, plain=True).plan_with(progressive=algorithm).to_dataframe()
    assert relations.pairs(results) == relations.expected()


def test_a_budget_that_does_not_hold_a_batch_says_what_would() -> None:
    bounded = Bounded(memory=10_000_000, tasks=2)
    refuse_large_batch(bounded, 400_000)
    with pytest.raises(InvalidSettings, match="too small for a batch") as raised:
        refuse_large_batch(bounded, 500_000)
    assert "at least 12,000,000 bytes" in raised.value.hint
    refuse_large_batch(replace(bounded, memory=12_000_000), 500_000)


def test_refusals(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 1L AS k, timestamp_seconds(0) AS ts")
    a, b, c = (wm.stream(name, rows, time="ts", window=wm.UNBOUNDED) for name in "abc")
    short = wm.stream("short", rows, time="ts", window="1 minute")
    for wrong, fact in (
        (lambda: wm.join(a, b, on="k"), "would fill the memory"),
        (lambda: wm.join(a, b, c, on="k", memory="1 GB"), "only two streams"),
        (lambda: wm.join(a, short, on="k", memory="1 GB"), "both must be unbounded"),
        (lambda: wm.join(a, b, on="a.k < b.k", memory="1 GB"), "needs an equality"),
        (lambda: wm.join(a, b, on="k", memory="lots"), "cannot be read"),
        (lambda: wm.join(a, b, on="k", memory="1 kB"), "too small"),
        (lambda: wm.join(a, b, on="k", memory="1 GB").finish(None, "c"), 'no stream "c"'),
        (lambda: wm.join(short, short, on="k", memory="1 GB"), "used twice"),
    ):
        with pytest.raises(InvalidQuery, match=fact):
            wrong()
