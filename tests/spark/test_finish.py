"""Ending streams by hand, as users do it: with filters, twice, one of two, after a change of settings.

Would catch: an end marker that overtakes rows or is believed by another run, a wait that never ends, ticks
that stop after a change, batches that grow beyond memory.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import watersmeet as wm
from harness.relations import SCHEMA, Relations
from watersmeet.errors import InvalidQuery

pytestmark = pytest.mark.slow


class Ended:
    """A join of two relations that come one file per batch."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.relations = Relations(root, keys=60, rows=150)
        self.found: list[tuple[int, int]] = []

    def query(self, condition: str = "true", tick: float = 0.4) -> wm.Query:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        streams = [
            wm.stream(
                name,
                reader.parquet(str(self.root / name)).filter(condition),
                time="ts",
                window=wm.UNBOUNDED,
            )
            for name in ("a", "b")
        ]
        return wm.join(*streams, on="k", memory="2 MB", buckets=2).plan_memory(tick=tick)

    def start(self, query: wm.Query, checkpoint: str, **trigger: bool) -> StreamingQuery:
        def keep(batch: DataFrame, _number: int) -> None:
            rows = batch.selectExpr("a.v", "b.v AS w").collect()
            self.found += [(row[0], row[1]) for row in rows]

        writer = query.to_dataframe().writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(self.root / checkpoint))
        return (writer.trigger(**trigger) if trigger else writer).start()

    def right(self, least: int = 0) -> bool:
        """Whether all pairs were found, of rows whose number is not below the least."""
        sent = self.relations.sent
        expected = [
            (v, w)
            for v, one in enumerate(sent["a"])
            for w, other in enumerate(sent["b"])
            if one == other and min(v, w) >= least
        ]
        return sorted(self.found) == expected


@pytest.mark.soak
def test_files_without_rows_are_not_the_end(spark: SparkSession, tmp_path: Path) -> None:
    ended = Ended(spark, tmp_path)
    for _ in range(4):
        ended.relations.send("a", "b")
    query = ended.query("v >= 450")
    running = ended.start(query, "first")
    query.finish(running, timeout=120)
    assert ended.right(450)
    # The same again, into another checkpoint: nothing of the first run is believed.
    query.finish(running, timeout=30)
    running.stop()
    query.finish(running)
    ended.found.clear()
    running = ended.start(query, "second")
    # Any query of these streams can end it.
    ended.query().finish(running, timeout=120)
    running.stop()
    assert ended.right(450)


@pytest.mark.soak
def test_one_stream_ends_while_the_other_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    ended = Ended(spark, tmp_path)
    ended.relations.send("a", "b")
    query = ended.query()
    running = ended.start(query, "kept")
    stopped = threading.Event()

    def send() -> None:
        while not stopped.wait(0.3):
            ended.relations.send("b")

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        query.finish(running, "a", timeout=60)
    finally:
        stopped.set()
        sender.join()
    query.finish(running, timeout=120)
    running.stop()
    assert ended.right()


@pytest.mark.usefixtures("one_partition")
def test_available_now_and_another_tick(spark: SparkSession, tmp_path: Path) -> None:
    ended = Ended(spark, tmp_path)
    for _ in range(3):
        ended.relations.send("a", "b")
    running = ended.start(ended.query(), "kept", availableNow=True)
    running.awaitTermination()
    assert running.lastProgress.batchId >= 2
    assert max(progress.numInputRows for progress in running.recentProgress) <= 2 * 150 + 2
    query = ended.query(tick=1.5)
    running = ended.start(query, "kept")
    query.finish(running, timeout=120)
    running.stop()
    assert ended.right()


def test_mistakes(spark: SparkSession, tmp_path: Path) -> None:
    query = Ended(spark, tmp_path).query()
    for wrong, fact in (
        (lambda: query.finish(None), "not a streaming query"),
        (lambda: query.finish(SimpleRun(), timeout=-1), "timeout is not a duration"),
    ):
        made: Callable[[], None] = wrong
        with pytest.raises(InvalidQuery, match=fact):
            made()


class SimpleRun:
    """Looks like a streaming query, as far as it is looked at."""

    recentProgress: tuple[()] = ()  # noqa: N815 - Spark's name
