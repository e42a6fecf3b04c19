"""The systems under test: each joins the relations as they arrive and counts what it has found, and when."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import watersmeet as wm
from watersmeet.spark.settings import recommended_settings
from watersmeet_lab.apart import answer, session_apart
from watersmeet_lab.progressive.memory import Peak, usage
from watersmeet_lab.progressive.workload import NAMES, SCHEMA, Relations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NATIVE = "spark"
_MOST_SECONDS = 900
_CORES = 2
_IDLE_BATCHES = 4


@dataclass(frozen=True)
class Case:
    """What to run: a progressive algorithm, or Spark's own join."""

    system: str
    relations: Relations
    root: str
    memory: int


@dataclass
class Outcome:
    """What came of a run.

    `curve` has seconds after the start and results found until then. Memory is in bytes.
    """

    curve: list[tuple[float, int]] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    seconds: float = 0.0
    results: int = 0
    checksum: int = 0
    idle: int = 0
    peak: int = 0
    java_idle: int = 0
    java_peak: int = 0


class Feed:
    """Files appear in the folders the query reads when they are due."""

    def __init__(self, case: Case, folder: Path) -> None:
        """Start with empty folders."""
        self.case, self.folder = case, folder
        for name in NAMES:
            (folder / name).mkdir(parents=True)

    def send(self, number: int) -> None:
        """One more file of each relation."""
        for name in NAMES:
            file = f"{number:05}.parquet"
            hidden = self.folder / name / f".{file}"
            shutil.copyfile(Path(self.case.root) / name / file, hidden)
            hidden.rename(self.folder / name / file)

    def run(self, start: float, sent: list[float]) -> None:
        """Send everything, by the clock."""
        for number, due in enumerate(self.case.relations.schedule()):
            time.sleep(max(0.0, start + due - time.perf_counter()))
            if number > 0:
                self.send(number)
            sent.append(time.perf_counter() - start)


def started(results: DataFrame, outcome: Outcome, start: list[float], checkpoint: Path) -> StreamingQuery:
    """The query, counting what it finds."""
    from pyspark.sql import functions as F

    checksum = F.sum((F.col("a_id") * 1000003 + F.col("b_id")) % 1000000007)

    def keep(batch: DataFrame, _number: int) -> None:
        row = batch.agg(F.count("*").alias("results"), checksum.alias("checksum")).collect()[0]
        outcome.results += row["results"]
        outcome.checksum += row["checksum"] or 0
        outcome.curve.append((time.perf_counter() - start[0], outcome.results))

    return results.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint)).start()


def query_of(spark: SparkSession, case: Case, folder: Path) -> wm.Query:
    """The join in bounded memory."""
    streams = [
        wm.stream(name, _source(spark, folder / name), time="ts", window=wm.UNBOUNDED) for name in NAMES
    ]
    return wm.join(*streams, on="k", memory=case.memory).plan_memory(algorithm=case.system)


def native(spark: SparkSession, folder: Path) -> DataFrame:
    """Spark's own join of the same streams, which keeps everything."""
    a, b = (_source(spark, folder / name).alias(name) for name in NAMES)
    from pyspark.sql import functions as F

    return a.join(b, F.expr("a.k = b.k")).selectExpr("a.id AS a_id", "b.id AS b_id", "a.payload", "b.payload")


def _source(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _measure(spark: SparkSession, case: Case, folder: Path) -> Outcome:
    outcome = Outcome()
    feed = Feed(case, folder)
    start = [time.perf_counter()]
    query = None if case.system == NATIVE else query_of(spark, case, folder)
    results = (
        native(spark, folder)
        if query is None
        else query.to_dataframe().selectExpr("a.id AS a_id", "b.id AS b_id", "a.payload", "b.payload")
    )
    with Peak() as peak:
        running = started(results, outcome, start, folder / "checkpoint")
        # Nothing has arrived yet: workers have loaded everything and hold nothing.
        if query is not None:
            _until(running, lambda: len(outcome.curve) >= _IDLE_BATCHES)
        idle = usage()
        outcome.idle, outcome.java_idle = idle.workers, idle.java
        outcome.curve.clear()
        # The first file starts everything up; the clock starts after it.
        feed.send(0)
        _until(running, lambda: len(outcome.curve) > 0)
        outcome.curve.clear()
        start[0] = time.perf_counter()
        sender = threading.Thread(target=feed.run, args=(start[0], outcome.sent), daemon=True)
        sender.start()
        sender.join()
        if query is None:
            running.processAllAvailable()
        else:
            query.finish(running, timeout=_MOST_SECONDS)
        outcome.seconds = time.perf_counter() - start[0]
    outcome.peak, outcome.java_peak = peak.workers, peak.java
    running.stop()
    return outcome


def _until(running: StreamingQuery, done: Any) -> None:
    until = time.monotonic() + _MOST_SECONDS
    while not done():
        error = running.exception()
        if error is not None:
            raise error
        if time.monotonic() > until:
            raise TimeoutError("the query does not get going")
        time.sleep(0.05)


def _run(values: dict[str, Any]) -> dict[str, Any]:
    case = Case(**{**values, "relations": Relations(**values["relations"])})
    spark = session_apart(_CORES, recommended_settings(cores=_CORES))
    with tempfile.TemporaryDirectory() as folder:
        outcome = _measure(spark, case, Path(folder))
    spark.stop()
    return asdict(outcome)


if __name__ == "__main__":
    answer(_run)
