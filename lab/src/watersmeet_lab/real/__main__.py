"""Join real data in full and compare with DuckDB: ``make real DATA=<folder>``."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from watersmeet.cli import WRONG_USE
from watersmeet.errors import WatersmeetError
from watersmeet.spark.session import spark_session, workspace
from watersmeet.terminal.interrupts import Interrupted, interrupts
from watersmeet.terminal.table import plain_table
from watersmeet_lab.real.compare import Outcome, compared
from watersmeet_lab.real.datasets import read_dataset, require_files
from watersmeet_lab.real.queries import QUERIES, RealQuery, chosen_queries
from watersmeet_lab.real.replay import read_batches, write_batches

_DESCRIPTION = """\
Join three public data sets in full, as streams, and compare the results row for row with DuckDB's. Exit
code: 0 if all are equal, 1 if not, 2 if a file is missing, 130 after Ctrl-C."""
# Where nobody looks on, a line of the table is a line of the file.
_PLAIN_WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _options(arguments)
    try:
        queries = chosen_queries(options.only)
        outcomes = _run(queries, Path(options.folder).expanduser(), options.batches)
    except WatersmeetError as error:
        print(f"real: {error}", file=sys.stderr)
        return WRONG_USE if isinstance(error, ValueError) else 1
    except Interrupted as stopped:
        print("Stopped.", file=sys.stderr)
        return stopped.exit_code
    _print_table(outcomes)
    return 0 if all(outcome.right for outcome in outcomes) else 1


def _run(queries: Sequence[RealQuery], folder: Path, batches: int) -> list[Outcome]:
    datasets = list({query.dataset.name: query.dataset for query in queries}.values())
    require_files(folder, datasets)
    import duckdb

    outcomes = []
    with contextlib.ExitStack() as at_the_end:
        interrupted = at_the_end.enter_context(interrupts())
        scratch = at_the_end.enter_context(workspace())
        connection = at_the_end.enter_context(duckdb.connect(str(scratch / "answers.duckdb")))
        connection.execute("SET TimeZone = 'UTC'")
        for dataset in datasets:
            print(f"reading {dataset.name}", flush=True)
            read_dataset(connection, dataset, folder, scratch)
            write_batches(connection, dataset, scratch / dataset.name, batches)
            interrupted.check()
        spark = at_the_end.enter_context(spark_session(scratch))
        for query in queries:
            print(f"joining {query.name} ...", end=" ", flush=True)
            rows = read_batches(spark, query.dataset, scratch / query.dataset.name)
            outcome = compared(spark, connection, query, rows, scratch / query.name, interrupted)
            outcomes.append(outcome)
            print(f"{outcome.results:,} results in {outcome.batches} batches, {outcome.seconds:.0f} s")
    return outcomes


def _print_table(outcomes: Sequence[Outcome]) -> None:
    # Neither colours nor markup: what looks like it comes from the data.
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _PLAIN_WIDTH
    table = plain_table()
    table.add_column("query", no_wrap=True)
    table.add_column("joins")
    for heading in ("expected", "results"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("against DuckDB")
    table.add_column("seconds", justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(
            outcome.query.name,
            outcome.query.joins,
            f"{outcome.query.known:,}",
            f"{outcome.results:,}",
            outcome.verdict,
            f"{outcome.seconds:.0f}",
        )
    console.print(table)
    for outcome in outcomes:
        difference = outcome.difference
        for word, rows in (("missing", difference.first_missing), ("too many", difference.first_extra)):
            for row in rows:
                console.print(f"{outcome.query.name} {word}: {row}", soft_wrap=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.real", description=_DESCRIPTION)
    names = ",".join(query.name for query in QUERIES)
    parser.add_argument("folder", help="where the data is; a missing file is named")
    parser.add_argument("--only", metavar="NAMES", help=f"which of {names} to run (default: all)")
    parser.add_argument("--batches", type=int, default=4, metavar="N", help="micro-batches (default: 4)")
    options = parser.parse_args(arguments)
    if options.batches < 1:
        parser.error("--batches must be at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
