"""One demo, from the first line on the screen to the verdict."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from watersmeet.demo.asked import AskedProgress
from watersmeet.demo.replay import read_feed, write_files
from watersmeet.demo.scenario import Scenario
from watersmeet.demo.screen import FIRST_RESULTS, Screen
from watersmeet.plan.plan import DEFAULT_BUCKETS
from watersmeet.spark.api import join, stream
from watersmeet.spark.query import Query
from watersmeet.spark.session import spark_session, workspace
from watersmeet.terminal.interrupts import Interrupts, interrupts
from watersmeet.terminal.progress import StreamTotals
from watersmeet.terminal.watch import watch


def run(scenario: Scenario, cores: int | None = None) -> bool:
    """Show a scenario; returns whether the answer was right.

    Args:
        scenario: What to show.
        cores: How many cores to use; None takes all.

    Raises:
        watersmeet.terminal.interrupts.Interrupted: Somebody stopped it.
        watersmeet.spark.session.SparkFailed: Spark did not start, or the query failed.
    """
    screen = Screen()
    screen.introduce(scenario)
    with contextlib.ExitStack() as at_the_end:
        interrupted = at_the_end.enter_context(interrupts())
        folder = at_the_end.enter_context(workspace())
        with screen.busy("Starting Spark"):
            write_files(scenario, folder / "streams")
            spark = at_the_end.enter_context(spark_session(folder, cores, brief=True))
        interrupted.check()
        query = _query(scenario, spark, folder)
        screen.plan(query.explain())
        progress = AskedProgress({feed.name: StreamTotals() for feed in scenario.feeds}, scenario.rows)
        with screen.watching(progress, scenario):
            answer = _execute(query, progress, screen, interrupted, folder)
    return _conclude(scenario, progress, answer, screen)


def _query(scenario: Scenario, spark: Any, folder: Path) -> Query:
    streams = [
        stream(
            feed.name,
            read_feed(spark, feed, folder / "streams"),
            time=scenario.time,
            window=scenario.window,
            lateness=feed.lateness,
        )
        for feed in scenario.feeds
    ]
    # As many as can be worked on at once. A query that may one day move to more cores needs more.
    buckets = min(spark.sparkContext.defaultParallelism, DEFAULT_BUCKETS)
    return join(*streams, on=scenario.on, buckets=buckets)


def _execute(
    query: Query, progress: AskedProgress, screen: Screen, interrupted: Interrupts, folder: Path
) -> pa.Table:
    """Run the join over everything there is; returns its results in the order they came."""
    answer: dict[int, pa.Table] = {}

    def keep(batch: Any, number: int) -> None:
        # A batch that is repeated replaces its first attempt.
        answer[number] = batch.toArrow()

    writer = query.to_dataframe().writeStream.foreachBatch(keep)
    running = (
        writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )
    watch(running, progress, interrupted, lambda _: screen.batch_ended(progress))
    return pa.concat_tables([answer[number] for number in sorted(answer)])


def _conclude(scenario: Scenario, progress: AskedProgress, answer: pa.Table, screen: Screen) -> bool:
    # A batch gives its results in no particular order.
    earliest = answer.slice(0, 100_000).sort_by("result_time").slice(0, FIRST_RESULTS)
    screen.totals(progress, scenario)
    screen.first_results(scenario, earliest.drop_columns("result_time").to_pylist())
    with screen.busy("Checking"):
        checks = scenario.check(answer)
    screen.verdict(progress, checks)
    if kept := scenario.keepsake(answer):
        screen.kept(kept)
    return all(one.holds for one in checks)
