"""Joins without windows, in bounded memory: streams that fall silent, stop and end.

Would catch: a pair lost or found twice over silence, restarts and the end; rows taken after an end marker;
runs that are only in memory when a query stops; a join of plain inputs that differs.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from harness import programs
from harness.harm import HARMS, run_files
from harness.relations import Relations
from watersmeet.errors import InvalidQuery, InvalidSettings
from watersmeet.plan.progressive import Bounded
from watersmeet.spark.host.memory_limit import refuse_large_batch


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
                # A new one, since another thread may be looking at the old one.
                self.pairs = self.pairs + pairs
                self.batches.add(batch)

        writer = results.writeStream.foreachBatch(keep).option("checkpointLocation", str(self.checkpoint))
        return writer.start()


@contextmanager
def unwritable(folders: set[Path]) -> Iterator[None]:
    """As on a full disk: nothing can be written there."""
    aside = {folder: folder.with_suffix(".aside") for folder in folders}
    for folder, other in aside.items():
        folder.rename(other)
        folder.write_text("not a folder")
    yield
    for folder, other in aside.items():
        folder.unlink()
        other.rename(folder)


def wait_until(running: StreamingQuery, done: Callable[[], bool], *, fails: bool = False) -> None:
    for _ in range(2400):
        if done():
            return
        error = running.exception()
        if error is not None and not fails:
            raise error
        time.sleep(0.1)
    raise AssertionError(f"not done: {running.lastProgress}")


@pytest.mark.slow
@pytest.mark.usefixtures("long_ways")
def test_silence_restarts_and_the_end(spark: SparkSession, tmp_path: Path) -> None:
    relations = Relations(tmp_path)
    found = Found(tmp_path / "checkpoint")
    relations.send("a", "b")
    query = relations.query(spark)
    running = found.start(query.to_dataframe())
    wait_until(running, lambda: len(found.batches) > 0)
    relations.send("a", "b")
    relations.send("a")
    # Memory holds a part of the rows only; what is on disk is found in silence.
    wait_until(running, lambda: found.pairs == relations.expected())
    assert "measured over" in query.explain(analyze=running)
    assert query.analyze(running).planning.statistics.of("a").rate.is_known
    running.stop()
    files = run_files(spark, running.id)
    for number, file in enumerate(files):
        HARMS[number % len(HARMS)](file)
    # Another object, as after a restart of the application.
    query = relations.query(spark)
    relations.send("b")
    with unwritable({file.parent for file in files}):
        running = found.start(query.to_dataframe())
        wait_until(running, lambda: not running.isActive, fails=True)
        assert "rows that do not fit in memory cannot be written to disk" in str(running.exception())
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


@pytest.mark.soak
def test_a_batch_that_is_run_twice_finds_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """As where a sink counts what it has written; batches go on after a snapshot of the state was taken."""
    relations = Relations(tmp_path, keys=100)
    found: Counter[tuple[int, int]] = Counter()
    batches: list[tuple[int, int]] = []

    def keep(some: DataFrame, _batch: int) -> None:
        pairs = Relations.pairs(some)
        found.update(pairs)
        batches.append((pairs.total(), some.count()))

    query = relations.query(spark)
    writer = query.to_dataframe().writeStream.foreachBatch(keep)
    running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    for number in range(5):
        relations.send("a", "b")
        wait_until(running, lambda number=number: len(batches) >= 4 * number + 4)
    query.finish(running, timeout=120)
    running.stop()
    assert [one for one, _ in batches] == [other for _, other in batches]
    assert found == relations.expected()


@pytest.mark.soak
def test_a_killed_application_goes_on(tmp_path: Path) -> None:
    relations = Relations(tmp_path)
    relations.send("a", "b")
    process = programs.start("harness.relations", tmp_path, "run", log=tmp_path / "first.log")
    commits = tmp_path / "checkpoint" / "commits"

    def wait_for_batches(count: int) -> None:
        seen = len(list(commits.glob("[0-9]*")))
        for _ in range(2400):
            if len(list(commits.glob("[0-9]*"))) >= seen + count:
                return
            assert process.poll() is None, (tmp_path / "first.log").read_text()[-4000:]
            time.sleep(0.05)
        raise AssertionError("no batch is run")

    try:
        wait_for_batches(2)
        relations.send("a", "b")
        # Rows on disk, and half way through what was found there in silence.
        wait_for_batches(2)
        relations.send("a")
        wait_for_batches(1)
    finally:
        programs.kill(process)
    relations.send("b")
    programs.run("harness.relations", tmp_path, "finish", log=tmp_path / "second.log")
    table = pq.read_table(written(tmp_path / "results"))
    found = Counter(zip(*(table.column(name).to_pylist() for name in ("a", "b")), strict=True))
    assert found == relations.expected()


def written(folder: Path) -> list[str]:
    """The files that Spark's sink says are complete."""
    files: set[str] = set()
    for log in sorted((folder / "_spark_metadata").glob("[0-9]*")):
        for line in log.read_text().splitlines()[1:]:
            files.add(json.loads(line)["path"].removeprefix("file://"))
    return sorted(files)


@pytest.mark.parametrize("algorithm", ["rpj", "hmj"])
def test_plain_inputs(spark: SparkSession, tmp_path: Path, algorithm: str) -> None:
    relations = Relations(tmp_path, keys=500, rows=9000)
    relations.send("a", "b")
    results = relations.query(spark, plain=True).plan_memory(algorithm=algorithm).to_dataframe()
    assert relations.pairs(results) == relations.expected()


def test_a_budget_that_does_not_hold_a_batch_says_what_would() -> None:
    bounded = Bounded(memory=10_000_000, tasks=2)
    refuse_large_batch(bounded, 400_000)
    with pytest.raises(InvalidSettings, match="too small for a batch") as raised:
        refuse_large_batch(bounded, 500_000)
    assert "at least 15,600,000 bytes" in raised.value.hint
    refuse_large_batch(replace(bounded, memory=12_000_000), 500_000)


def test_refusals(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 1L AS k, timestamp_seconds(0) AS ts")
    a, b, c = (wm.stream(name, rows, time="ts", window=wm.UNBOUNDED) for name in "abc")
    short, other = (wm.stream(name, rows, time="ts", window="1 minute") for name in ("short", "other"))
    counted = wm.stream("counted", rows, time="ts", window=wm.rows(5))
    far = wm.stream("far", rows, time="ts", window=wm.UNBOUNDED, site="tokyo")
    for wrong, fact in (
        (lambda: wm.join(a, b, on="k"), "would fill the memory"),
        (lambda: wm.join(a, b, c, on="k", memory="1 GB"), "only two streams"),
        (lambda: wm.join(a, short, on="k", memory="1 GB"), "both must be unbounded"),
        (lambda: wm.join(a, b, on="a.k < b.k", memory="1 GB"), "needs an equality"),
        (lambda: wm.join(a, b, on="k", memory="lots"), "cannot be read"),
        (lambda: wm.join(a, b, on="k", memory="1 kB"), "too small"),
        (lambda: wm.join(a, b, on="k", memory="1 GB").finish(None, "c"), 'no stream "c"'),
        (lambda: wm.join(short, counted, on="k", memory="1 GB"), "windows of rows cannot be limited"),
        (lambda: wm.join(short, other, on="k", memory="1 GB").to_dataframe(), "plain DataFrames"),
        (lambda: wm.join(a, far, on="k", memory="1 GB"), "between sites"),
        (
            lambda: wm.join(a, b, on="k", memory="1 GB").deploy("out", mailbox="mail", checkpoint="kept"),
            "a deployed join",
        ),
    ):
        with pytest.raises(InvalidQuery, match=fact):
            wrong()
