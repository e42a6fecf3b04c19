"""The systems under test: each joins the cameras' images and keeps which of them were found."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import watersmeet as wm
from watersmeet.spark.settings import recommended_settings
from watersmeet_lab.apart import answer, session_apart
from watersmeet_lab.collected import collected
from watersmeet_lab.generic.busy import busy_seconds, event_log
from watersmeet_lab.generic.by_hand import ByHand
from watersmeet_lab.generic.workload import SCHEMA, Cameras, similar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_SECONDS = 1800


@dataclass
class Batch:
    """One micro-batch; rows held are None where nobody counts them."""

    seconds: float
    pairs: int = 0
    asked_seconds: float = 0.0
    held: int | None = None


@dataclass
class Outcome:
    """What came of a run: the images that were found together, and what it took.

    `busy` is how long tasks were at work from the second batch on, when everything has started.
    """

    seconds: float
    busy: float
    found: list[tuple[int, ...]]
    batches: list[Batch] = field(default_factory=list)
    second_batch: float = 0.0


@dataclass(frozen=True)
class Case:
    """What to run."""

    system: str
    cameras: Cameras
    root: str
    cores: int


def query_of(spark: SparkSession, case: Case) -> wm.Query:
    """Neighbouring cameras have to see the same."""
    names = case.cameras.names
    streams = [
        wm.stream(name, _source(spark, case, name), time="ts", window=f"{case.cameras.window_s} seconds")
        for name in names
    ]
    on = [
        wm.predicate(similar, f"{one}.image", f"{other}.image", stacked=True, cost="50 us")
        for one, other in pairwise(names)
    ]
    # One slice per core: more would only serve a larger machine.
    return wm.join(*streams, on=on, select=[f"{name}.id" for name in names], buckets=case.cores)


def sliced(spark: SparkSession, case: Case) -> Outcome:
    """A streaming DataFrame, its windows in slices."""
    return _streamed(query_of(spark, case))


def aligned(spark: SparkSession, case: Case) -> Outcome:
    """The same, its rows aligned by segments of time."""
    segment = f"{4 * case.cameras.window_s} seconds"
    return _streamed(query_of(spark, case).plan_with(routing="aligned", segment=segment))


def deployed(spark: SparkSession, case: Case) -> Outcome:
    """Any number of streams in rounds, every row stored once."""
    found: list[tuple[int, ...]] = []
    batches: list[Batch] = []
    moments = [time.perf_counter()]
    query = query_of(spark, case)

    def keep(results: DataFrame, _number: int) -> None:
        found.extend(_ids(results.toArrow(), len(case.cameras.names)))

    with tempfile.TemporaryDirectory() as folder:
        running = query.deploy(keep, mailbox=f"{folder}/mail", checkpoint=f"{folder}/checkpoint")
        seen = 0
        while not running.ended and running.query.isActive:
            progress = [one for one in running.query.recentProgress if one.batchId >= seen]
            for one in progress:
                held = sum(site.held + site.waiting for site in running.status.values())
                batches.append(Batch(one.durationMs["triggerExecution"] / 1000, held=held))
                seen = one.batchId + 1
            if seen >= case.cameras.batches:
                running.finish(_MOST_SECONDS)
            time.sleep(0.02)
        running.wait(_MOST_SECONDS)
        asked = [one for site in running.status.values() for one in site.predicates.values()]
        # They are only known in all, so the last batch stands for all of them.
        batches[-1].pairs, batches[-1].asked_seconds = (
            sum(one.pairs for one in asked),
            sum(one.seconds for one in asked),
        )
    return Outcome(time.perf_counter() - moments[0], 0.0, found, batches)


def by_hand(spark: SparkSession, case: Case) -> Outcome:
    """A cross join in `foreachBatch` over windows kept as files."""
    sources = {name: _source(spark, case, name) for name in case.cameras.names}
    with tempfile.TemporaryDirectory() as folder:
        join = ByHand(spark, case.cameras, Path(folder), case.cores)
        seconds = join.run(sources)
        return Outcome(seconds, 0.0, join.found, [Batch(one) for one in join.seconds])


SYSTEMS: dict[str, Callable[[SparkSession, Case], Outcome]] = {
    "sliced": sliced,
    "aligned": aligned,
    "deployed": deployed,
    "by hand": by_hand,
}


def _streamed(query: wm.Query) -> Outcome:
    ended = collected(query.to_dataframe())
    progress = ended.query.recentProgress
    second = datetime.fromisoformat(progress[1].timestamp.replace("Z", "+00:00")).timestamp()
    found = _ids(ended.results, len(query.query.streams))
    return Outcome(ended.seconds, 0.0, found, [_batch(one) for one in progress], second)


def _batch(progress: Any) -> Batch:
    joins = wm.metrics(progress)
    asked = [one for join in joins for one in join.predicates.values()]
    live = [stream.live for join in joins for stream in join.streams.values()]
    return Batch(
        progress.durationMs["triggerExecution"] / 1000,
        sum(one.pairs for one in asked),
        sum(one.seconds for one in asked),
        None if None in live else sum(count for count in live if count is not None),
    )


def _ids(table: Any, streams: int) -> list[tuple[int, ...]]:
    return list(zip(*(table.column(i).to_pylist() for i in range(streams)), strict=True))


def _source(spark: SparkSession, case: Case, name: str) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(Path(case.root) / name))


def _run(values: dict[str, Any]) -> dict[str, Any]:
    case = Case(**{**values, "cameras": Cameras(**values["cameras"])})
    with tempfile.TemporaryDirectory() as log:
        settings = {**recommended_settings(cores=case.cores), **event_log(log)}
        spark = session_apart(case.cores, settings)
        outcome = SYSTEMS[case.system](spark, case)
        spark.stop()
        outcome.busy = busy_seconds(Path(log), outcome.second_batch)
    return asdict(outcome)


if __name__ == "__main__":
    answer(_run)
