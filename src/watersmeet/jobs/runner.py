"""Running a job: the streams are read, joined and written until somebody stops it or all is done."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from watersmeet.errors import WatersmeetError, choices
from watersmeet.jobs.job import AVAILABLE_NOW, TO_THE_END, Job, StreamSettings
from watersmeet.jobs.kafka import with_connector
from watersmeet.jobs.plot import refuse_bad_plot, save_plot
from watersmeet.jobs.settings import InvalidJob
from watersmeet.jobs.sites import run_sites
from watersmeet.optimize.idle_settings import refuse_idle_settings
from watersmeet.query.duration import parse_duration
from watersmeet.query.kind import optional
from watersmeet.spark.api import join, sql, stream
from watersmeet.spark.endpoints import Endpoint, typed_stream, write_stream
from watersmeet.spark.files import read_files
from watersmeet.spark.query import Query
from watersmeet.spark.session import spark_session, workspace
from watersmeet.spark.sink import two_sinks
from watersmeet.terminal.curve import curve_lines
from watersmeet.terminal.interrupts import interrupts
from watersmeet.terminal.progress import Progress
from watersmeet.terminal.table import batch_line, plain_table, streams_table, watermark_text
from watersmeet.terminal.watch import watch

_CONSOLE_ROWS = 20


def explain_job(job: Job, *, verbose: bool = False, form: str = "text") -> str:
    """The plan of a job."""
    settings = with_connector(job.spark, job.endpoints)
    with workspace() as folder, spark_session(folder, job.cores, settings, brief=True) as spark:
        return _query(job, spark).explain(verbose=verbose, form=form)


def run_job(job: Job, console: Console, site: str | None = None, plot: Path | None = None) -> None:
    """Run a job until it ends.

    Args:
        job: The job.
        console: Where to tell about it.
        site: The site to run, of a job whose streams arrive at several; None runs all.
        plot: Where to save a plot of the results found so far when it ends, or somebody stops it.

    Raises:
        watersmeet.terminal.interrupts.Interrupted: Somebody stopped it; it can go on later.
        watersmeet.spark.session.SparkFailed: Spark did not start, or the query failed.
    """
    if plot is not None:
        refuse_bad_plot(plot)
    with contextlib.ExitStack() as at_the_end:
        interrupted = at_the_end.enter_context(interrupts())
        folder = at_the_end.enter_context(workspace())
        to_the_end = job.trigger == AVAILABLE_NOW
        settings = with_connector(job.spark, job.endpoints)
        spark = at_the_end.enter_context(spark_session(folder, job.cores, settings, brief=to_the_end))
        interrupted.check()
        query = _query(job, spark, site)
        console.print(Text(query.explain()), soft_wrap=True)
        if job.mailbox is not None:
            run_sites(job, query, _sink(job, console), console, interrupted, site)
            return
        running = write_stream(
            query.to_dataframe(set_aside=job.set_aside is not None, result_id=job.result_id),
            _sink(job, console) if job.set_aside is None else two_sinks(_sink(job, console), job.set_aside),
            name=job.name,
            checkpoint=job.checkpoint or str(folder / "checkpoint"),
            every=None if job.trigger in (None, AVAILABLE_NOW, TO_THE_END) else parse_duration(job.trigger),
            available_now=to_the_end,
        )
        progress = Progress.of(query.query.names)
        if plot is not None:
            at_the_end.callback(lambda: save_plot(plot, job.name, progress.curve))
        if job.trigger == TO_THE_END:
            Thread(target=_finish, args=(query, running), daemon=True).start()
        with _shown(progress, console, curve=job.endless):
            watch(running, progress, interrupted, partial(_tell, console))
        console.print(
            Text(f"{progress.results:,} results from {progress.rows:,} rows in {progress.seconds:.1f} s")
        )


def _finish(query: Query, running: Any) -> None:
    """Say that the streams have ended when all is read, and stop when all is found."""
    # Whatever stops the query is told by whoever watches it.
    with contextlib.suppress(WatersmeetError, Exception):
        query.finish(running)
        running.stop()


def _sink(job: Job, console: Console) -> Endpoint | Callable[[Any, int], None]:
    return partial(_print_rows, console) if job.sink.format == "console" else job.sink


def _query(job: Job, spark: Any, site: str | None = None) -> Query:
    # Without sites its windows may lie in slices: of these `deploy` says why none runs alone.
    slices = job.mailbox is not None and not job.sites
    if site is not None and site not in job.sites and not slices:
        raise InvalidJob(
            f'there is no site "{site}"',
            f"the streams arrive at {choices(job.sites) or 'no sites at all'}.",
            "name one of those, or run the whole job without --site.",
        )
    streams = {settings.name: _stream(job, settings, spark, site) for settings in job.streams}
    if job.sql is not None:
        query = sql(job.sql, streams, buckets=job.buckets, memory=job.memory)
    else:
        on = [*(job.on or ()), *job.predicates]
        query = join(
            *streams.values(),
            on=on,
            select=job.select,
            how=job.how,
            cross=job.cross,
            buckets=job.buckets,
            memory=job.memory,
        )
    planned = Query.of(query.query, job.buckets, job.planning, job.network)
    refuse_idle_settings(planned.plan.root, job.planning)
    return planned


def _stream(job: Job, settings: StreamSettings, spark: Any, site: str | None) -> Any:
    """A stream with its settings; in SQL, a DataFrame will do where the file names no time.

    A stream of another site need not be readable here: its types are all that is needed of it.
    """
    if site not in (None, settings.site) and settings.schema is not None:
        df = typed_stream(spark, settings.name, settings.schema)
    elif settings.kafka is not None:
        df = settings.kafka.read(spark, settings.schema, settings.source.options)
    else:
        df = read_files(spark, settings.name, settings.source, settings.schema)
    if settings.time is not None:
        made = stream(
            settings.name,
            df,
            time=settings.time,
            window=settings.window,
            lateness=settings.lateness,
            max_future=None if settings.max_future == "none" else settings.max_future,
            site=settings.site,
            idle=settings.idle,
        )
        return optional(made) if settings.optional else made
    if job.sql is not None:
        return df
    raise InvalidJob(
        f'stream "{settings.name}" has no time',
        f"its columns are {', '.join(df.columns)}.",
        'say time = "<column>".',
    )


def _tell(console: Console, progress: Progress) -> None:
    """A line per batch where there is no moving picture."""
    if not console.is_terminal:
        console.print(batch_line(progress), soft_wrap=True)


@contextlib.contextmanager
def _shown(progress: Progress, console: Console, *, curve: bool) -> Iterator[None]:
    """On a terminal the progress stays at the bottom and moves; with the curve of results, if wanted."""
    if not console.is_terminal:
        yield
        return

    def view() -> Group:
        totals = Text.assemble(
            (f"{progress.results:,}", "bold"), f" results after batch {progress.batches}, "
        )
        table = streams_table(progress, width=console.width)
        if not curve:
            return Group(table, totals.append(watermark_text(progress)))
        lines = curve_lines(progress.curve, width=max(20, min(100, console.width - 16)))
        return Group(table, totals.append("results so far"), *map(Text, lines))

    with Live(console=console, get_renderable=view, refresh_per_second=4):
        yield


def _print_rows(console: Console, batch: Any, number: int) -> None:
    rows = batch.limit(_CONSOLE_ROWS + 1).collect()
    if not rows:
        return
    table: Table = plain_table()
    for name in batch.columns:
        table.add_column(name, no_wrap=True)
    for row in rows[:_CONSOLE_ROWS]:
        table.add_row(*[_cell(value) for value in row])
    more = f", the first {_CONSOLE_ROWS}" if len(rows) > _CONSOLE_ROWS else ""
    console.print(Text(f"batch {number}{more}", "bold"))
    console.print(table)


def _cell(value: Any) -> str:
    return (
        ", ".join(f"{k}={v}" for k, v in value.asDict().items()) if hasattr(value, "asDict") else str(value)
    )
