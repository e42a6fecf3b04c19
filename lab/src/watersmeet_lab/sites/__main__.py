"""Measure what joins between sites send: ``make bench-sites``; ``python -m watersmeet_lab.sites --help``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

import watersmeet as wm
from watersmeet.spark.session import spark_session, workspace
from watersmeet_lab.sites.runs import Sent, answer, on_spark, simulated, streams
from watersmeet_lab.sites.workload import Example1, Selective

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(arguments: list[str] | None = None) -> int:
    """Both comparisons; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.sites", description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--only", choices=("semijoin", "pmjoin"), help="one of the comparisons")
    options = parser.parse_args(arguments)
    console = Console(highlight=False)
    figures: dict[str, float] = {}
    exact = True
    with (
        tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as scratch,
        workspace() as folder,
        spark_session(folder, options.cores, {}, brief=True) as spark,
    ):
        if options.only != "pmjoin":
            exact &= _semijoin(spark, Path(scratch) / "selective", console, figures)
        if options.only != "semijoin":
            exact &= _pmjoin(spark, Path(scratch) / "example1", console, figures)
    print("RESULT " + json.dumps(figures))
    return 0 if exact else 1


def _semijoin(spark: SparkSession, root: Path, console: Console, figures: dict[str, float]) -> bool:
    """The plan that is chosen by measured statistics, against whole rows sent to one site."""
    workload = Selective()
    workload.write(root)
    expected = answer(root, workload.names, workload.window_s)
    sample = {s.name: s.source for s in streams(spark, root, workload.names, workload.window_s, plain=True)}
    select = [f"{name}.{column}" for column in ("id", "payload") for name in workload.names]
    query = wm.join(
        *streams(spark, root, workload.names, workload.window_s),
        on="key",
        select=select,
        statistics=wm.statistics({}, batch="1 second"),
    ).analyze(sample)
    print(query.explain())
    console.print("running the chosen plan on Spark")
    chosen = on_spark(query, f"chosen: {query.site_plan.method}")
    console.print("running everything at one site on Spark")
    whole = on_spark(query.plan_sites(method="one site"), "whole rows to one site")
    console.print(_table("1 KB rows, 2 % of the keys match", [chosen, whole]))
    figures["semijoin_byte_share"] = round(chosen.bytes / whole.bytes, 4)
    return _judge(console, expected, [chosen, whole])


def _pmjoin(spark: SparkSession, root: Path, console: Console, figures: dict[str, float]) -> bool:
    """A plan per value against the best single plan, in the simulator and on Spark."""
    workload = Example1()
    workload.write(root)
    expected = answer(root, workload.names, workload.window_s)
    known = wm.statistics(
        {
            name: {
                "rate": workload.rate(number),
                "row_bytes": 16,
                "frequencies": {"key": workload.shares(number)},
            }
            for number, name in enumerate(workload.names)
        },
        batch=f"{workload.seconds / workload.batches} seconds",
    )
    query = wm.join(
        *streams(spark, root, workload.names, workload.window_s),
        on="key",
        select=[f"{name}.id" for name in workload.names],
        statistics=known,
    )
    by_value = query.plan_sites(method="placed")
    single = query.plan_sites(method="placed", partition="none")
    print(by_value.explain())
    runs = [
        simulated(by_value, root, "plan per value, simulated"),
        simulated(single, root, "best single plan, simulated"),
    ]
    console.print("running both plans on Spark")
    runs += [on_spark(by_value, "plan per value, Spark"), on_spark(single, "best single plan, Spark")]
    console.print(_table("Example 1 of Zhou et al. 2006", runs))
    shares = [runs[0].rows / runs[1].rows, runs[2].rows / runs[3].rows]
    figures["pmjoin_tuple_share"] = round(max(shares), 5)
    figures["pmjoin_tuple_share_simulated"] = round(shares[0], 5)
    figures["pmjoin_tuple_share_spark"] = round(shares[1], 5)
    return _judge(console, expected, runs)


def _judge(console: Console, expected: list[tuple[int, ...]], runs: list[Sent]) -> bool:
    wanted = frozenset(expected)
    exact = all(run.results == wanted and run.count == len(expected) for run in runs)
    console.print(f"{len(expected):,} results, " + ("equal to DuckDB row for row" if exact else "WRONG"))
    return exact


def _table(title: str, runs: list[Sent]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("run", "bytes", "rows sent", "results"):
        table.add_column(name, justify="left" if name == "run" else "right")
    for run in runs:
        table.add_row(run.what, f"{run.bytes:,}", f"{run.rows:,}", f"{run.count:,}")
    return table


if __name__ == "__main__":
    sys.exit(main())
