"""A join between sites on Spark and in the simulator, and what it sent."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import watersmeet as wm
from watersmeet.kernel.sites.packet import END, TIME, times
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.sim.link import LinkModel
from watersmeet.sim.simulation import Arrival, Simulation, same_links
from watersmeet_lab.sites.workload import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_SECONDS = 1800


@dataclass(frozen=True)
class Sent:
    """What a run sent between sites, and what it found."""

    what: str
    bytes: int
    rows: int
    results: frozenset[tuple[int, ...]]
    count: int


def streams(
    spark: SparkSession, root: Path, names: Sequence[str], window_s: float, *, plain: bool = False
) -> list[Any]:
    """The streams, each at a site of its own."""
    reader = spark.read if plain else spark.readStream.option("maxFilesPerTrigger", 1)
    return [
        wm.stream(
            name,
            reader.schema(SCHEMA).parquet(str(root / name)),
            time="ts",
            window=f"{round(window_s * 1e6)} us",
            site=f"site_{name}",
        )
        for name in names
    ]


def on_spark(query: wm.Query, what: str) -> Sent:
    """Run it in one application, with a real mailbox."""
    found: dict[int, list[tuple[int, ...]]] = {}

    def keep(batch: Any, number: int) -> None:
        ids = batch.toArrow()
        columns = [ids.column(i).to_pylist() for i in range(len(query.query.streams))]
        found[number] = list(zip(*columns, strict=True))

    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as folder:
        running = query.deploy(keep, mailbox=f"{folder}/mail", checkpoint=f"{folder}/checkpoint")
        running.finish(_MOST_SECONDS)
        links = running.links.values()
    rows = [row for batch in found.values() for row in batch]
    return Sent(
        what, sum(link.bytes for link in links), sum(link.rows for link in links), frozenset(rows), len(rows)
    )


def simulated(query: wm.Query, root: Path, what: str) -> Sent:
    """Run it in the simulator over the same files."""
    join = query.query
    simulation = Simulation(query.site_plan.wiring, same_links(LinkModel(latency=0.025)))
    measured = simulation.run(_arrivals(query, root))
    columns = [f"{stream}.id" for stream in range(len(join.streams))]
    rows = [
        row
        for batch in measured.results
        for row in zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
    ]
    links = measured.traffic.values()
    return Sent(
        what, sum(link.bytes for link in links), sum(link.rows for link in links), frozenset(rows), len(rows)
    )


def _arrivals(query: wm.Query, root: Path) -> list[Arrival]:
    found = []
    for stream, name in enumerate(query.query.names):
        refs = source_refs(query.query, stream)
        last = 0
        for file in sorted((root / name).glob("*.parquet")):
            table = pq.read_table(file).combine_chunks()
            clock = table.column("ts").combine_chunks().cast(pa.int64())
            columns = [clock, *(table.column(ref.column).combine_chunks() for ref in refs)]
            rows = pa.record_batch(columns, [TIME, *map(named, refs)])
            last = int(times(rows).max())
            found.append(Arrival(last, stream, rows, last - 1))
        found.append(Arrival(last + 1, stream, None, END))
    return sorted(found, key=lambda arrival: (arrival.at, arrival.stream))


def answer(root: Path, names: Sequence[str], window_s: float) -> list[tuple[int, ...]]:
    """What DuckDB finds over all rows at once."""
    import duckdb

    tables = ", ".join(f"read_parquet('{root / name}/*.parquet') {name}" for name in names)
    keys = [f"{names[0]}.key = {name}.key" for name in names[1:]]
    clocks = ", ".join(f"{name}.ts" for name in names)
    alive = f"greatest({clocks}) <= least({clocks}) + INTERVAL {round(window_s * 1e6)} MICROSECONDS"
    columns = ", ".join(f"{name}.id" for name in names)
    with duckdb.connect() as connection:
        sql = f"SELECT {columns} FROM {tables} WHERE {' AND '.join([*keys, alive])}"  # noqa: S608
        return connection.execute(sql).fetchall()
