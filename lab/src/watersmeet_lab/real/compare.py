"""One query from start to verdict: run as a stream, written to files, read back, compared with DuckDB."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from watersmeet.spark.endpoints import Endpoint, write_stream
from watersmeet.terminal.interrupts import Interrupts
from watersmeet.terminal.progress import Progress
from watersmeet.terminal.watch import watch
from watersmeet_lab.real.queries import RealQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import DataFrame, SparkSession

# Of the rows that differ, so many are shown.
_SHOWN = 2


@dataclass(frozen=True)
class Difference:
    """Two bags of rows compared; equal rows count as often as they occur."""

    missing: int
    extra: int
    first_missing: tuple[tuple[Any, ...], ...] = ()
    first_extra: tuple[tuple[Any, ...], ...] = ()

    def __str__(self) -> str:
        """What differs.

        >>> print(Difference(0, 0))
        equal row for row
        >>> print(Difference(3, 1, ((1, "a"), (2, "b")), ((2, "c"),)))
        3 missing, 1 too many
        """
        sides = ((self.missing, "missing"), (self.extra, "too many"))
        return ", ".join(f"{count:,} {word}" for count, word in sides if count) or "equal row for row"


@dataclass(frozen=True)
class Outcome:
    """What came of a query; `answers` is how many results DuckDB has."""

    query: RealQuery
    results: int
    answers: int
    difference: Difference
    late: int
    batches: int
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the rows are DuckDB's, and as many as are known."""
        return self.difference == Difference(0, 0) and self.answers == self.query.known

    @property
    def verdict(self) -> str:
        """The comparison in words, with what may explain it."""
        parts = [str(self.difference)]
        if self.late:
            parts.append(f"{self.late:,} rows came too late")
        if self.answers != self.query.known:
            parts.append(f"DuckDB has {self.answers:,}: is this the data it should be?")
        return "; ".join(parts)


def compared(
    spark: SparkSession,
    connection: DuckDBPyConnection,
    query: RealQuery,
    rows: Mapping[str, DataFrame],
    folder: Path,
    interrupted: Interrupts,
) -> Outcome:
    """Run a query over its streams and compare the results.

    Args:
        spark: The session of the streams.
        connection: DuckDB, with the same rows as tables.
        query: What to run.
        rows: The streams by name.
        folder: For results and checkpoint; it does not exist yet.
        interrupted: Asked whether to stop.

    Raises:
        watersmeet.terminal.interrupts.Interrupted: Somebody stopped it.
        watersmeet.spark.session.SparkFailed: The query failed.
    """
    start = time.perf_counter()
    joined = query.over(rows).to_dataframe()
    # Through a sink and back: what counts is what a user would find there.
    sink = Endpoint("parquet", str(folder / "results"))
    running = write_stream(
        joined,
        sink,
        name=query.name,
        checkpoint=str(folder / "checkpoint"),
        every=None,
        available_now=True,
    )
    progress = Progress.of(rows)
    watch(running, progress, interrupted, lambda _: None)
    seconds = time.perf_counter() - start
    found = spark.read.schema(joined.schema).parquet(str(sink.path)).toArrow()
    connection.execute(f"CREATE OR REPLACE TEMP TABLE answer AS {query.answer}")
    return Outcome(
        query,
        results=len(found),
        answers=_count(connection, "answer"),
        difference=differing(connection, found),
        late=sum(stream.late for stream in progress.streams.values()),
        batches=progress.batches,
        seconds=seconds,
    )


def differing(connection: DuckDBPyConnection, found: pa.Table) -> Difference:
    """Compare results with the table `answer`, column by column in the order they stand.

    Args:
        connection: Where the table is; its last column is the result time in microseconds.
        found: The results; their last column is the result time.
    """
    last = found.num_columns - 1
    micros = found.column(last).cast(pa.int64())
    connection.register("found", found.set_column(last, "result_time", micros))
    connection.execute("CREATE OR REPLACE TEMP TABLE missing AS FROM answer EXCEPT ALL FROM found")
    connection.execute("CREATE OR REPLACE TEMP TABLE extra AS FROM found EXCEPT ALL FROM answer")
    sides = []
    for side in ("missing", "extra"):
        first = connection.sql(f"FROM {side} ORDER BY ALL LIMIT {_SHOWN}").fetchall()
        sides.append((_count(connection, side), tuple(first)))
    (missing, first_missing), (extra, first_extra) = sides
    return Difference(missing, extra, first_missing, first_extra)


def _count(connection: DuckDBPyConnection, table: str) -> int:
    count: int = connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]  # noqa: S608
    return count
