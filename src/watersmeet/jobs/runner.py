"""Running a job: the streams are read, joined and written until somebody stops it or all is done."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from watersmeet.jobs.job import AVAILABLE_NOW, Endpoint, Job
from watersmeet.jobs.settings import InvalidJob
from watersmeet.query.duration import parse_duration
from watersmeet.spark.api import Query, join, sql, stream
from watersmeet.terminal.interrupts import Interrupts, interrupts
from watersmeet.terminal.progress import Progress
from watersmeet.terminal.session import SparkFailed, essence, spark_session, workspace
from watersmeet.terminal.table import batch_line, plain_table, streams_table, watermark_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_POLL_SECONDS = 0.25
_CONSOLE_ROWS = 20


def explain_job(job: Job) -> str:
    """The plan of a job."""
    with workspace() as folder, spark_session(folder, job.cores, job.spark, brief=True) as spark:
        return _query(job, spark).explain()


def run_job(job: Job, console: Console) -> None:
    """Run a job until it ends.

    Raises:
        watersmeet.terminal.interrupts.Interrupted: Somebody stopped it; it can go on later.
        watersmeet.terminal.session.SparkFailed: Spark did not start, or the query failed.
    """
    with contextlib.ExitStack() as at_the_end:
        interrupted = at_the_end.enter_context(interrupts())
        folder = at_the_end.enter_context(workspace())
        brief = job.trigger == AVAILABLE_NOW
        spark = at_the_end.enter_context(spark_session(folder, job.cores, job.spark, brief=brief))
        interrupted.check()
        query = _query(job, spark)
        console.print(Text(query.explain()), soft_wrap=True)
        progress = Progress.of(query.query.names)
        running = _start(job, query.to_dataframe(), console, str(folder / "checkpoint"))
        try:
            with _shown(progress, console):
                _watch(running, progress, interrupted, console)
        finally:
            running.stop()
        if error := running.exception():
            raise SparkFailed("the query failed", essence(str(error)))
        console.print(
            Text(f"{progress.results:,} results from {progress.rows:,} rows in {progress.seconds:.1f} s")
        )


def _query(job: Job, spark: SparkSession) -> Query:
    streams = {settings.name: _stream(job, settings.name, spark) for settings in job.streams}
    if job.sql is not None:
        return sql(job.sql, streams, buckets=job.buckets)
    return join(*streams.values(), on=job.on, select=job.select, cross=job.cross, buckets=job.buckets)


def _stream(job: Job, name: str, spark: SparkSession) -> Any:
    settings = next(one for one in job.streams if one.name == name)
    from pyspark.errors import PySparkException

    reader = spark.readStream.format(settings.source.format).options(**settings.source.options)
    try:
        if settings.schema is not None:
            reader = reader.schema(settings.schema)
        df = reader.load(settings.source.path) if settings.source.path else reader.load()
        names = [field.name for field in df.schema.fields]
    except PySparkException as error:
        raise InvalidJob(
            f'stream "{name}" cannot be read',
            essence(str(error), 1),
            "check its format, path, schema and options.",
        ) from None
    if settings.time is None:
        if job.sql is not None:
            return df
        raise InvalidJob(
            f'stream "{name}" has no time', f"its columns are {', '.join(names)}.", 'say time = "<column>".'
        )
    return stream(
        name,
        df,
        time=settings.time,
        window=settings.window,
        lateness=settings.lateness,
        max_future=None if settings.max_future == "none" else settings.max_future,
    )


def _start(job: Job, results: DataFrame, console: Console, scratch: str) -> StreamingQuery:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    writer = results.writeStream.queryName(job.name).options(**job.sink.options)
    if job.sink.format == "console":
        writer = writer.foreachBatch(lambda batch, number: _print_rows(batch, number, console))
    else:
        writer = writer.format(job.sink.format)
    writer = writer.option("checkpointLocation", job.checkpoint or scratch)
    if job.trigger == AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    elif job.trigger is not None:
        seconds = parse_duration(job.trigger).total_seconds()
        writer = writer.trigger(processingTime=f"{seconds * 1000:.0f} milliseconds")
    try:
        return writer.start(job.sink.path) if _has_path(job.sink) else writer.start()
    except (PySparkException, Py4JError) as error:
        raise InvalidJob(
            "the results cannot be written",
            essence(str(error), 1),
            "check the sink's format, path and options.",
        ) from None


def _has_path(sink: Endpoint) -> bool:
    return sink.path is not None and sink.format != "console"


def _watch(running: StreamingQuery, progress: Progress, interrupted: Interrupts, console: Console) -> None:
    active = True
    while active:
        interrupted.check()
        time.sleep(_POLL_SECONDS)
        active = running.isActive  # asked before the progress, so that the last batch is not missed
        if progress.update(running) and not console.is_terminal:
            console.print(batch_line(progress), soft_wrap=True)
    progress.ended = time.monotonic()


@contextlib.contextmanager
def _shown(progress: Progress, console: Console) -> Iterator[None]:
    """On a terminal the progress stays at the bottom and moves."""
    if not console.is_terminal:
        yield
        return

    def view() -> Group:
        totals = Text.assemble(
            (f"{progress.results:,}", "bold"), f" results after batch {progress.batches}, "
        )
        return Group(streams_table(progress), totals.append(watermark_text(progress)))

    with Live(console=console, get_renderable=view, refresh_per_second=4):
        yield


def _print_rows(batch: DataFrame, number: int, console: Console) -> None:
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
