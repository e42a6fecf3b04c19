"""Run the adaptive benchmark: ``make bench-adaptive``, or ``python -m watersmeet_lab.adaptive --help``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from watersmeet.spark.session import spark_session, workspace
from watersmeet_lab.adaptive.orders import Order, examined_by_order
from watersmeet_lab.adaptive.runs import Run, query_in_order, run
from watersmeet_lab.adaptive.workload import Switch, generate


def main(arguments: list[str] | None = None) -> int:
    """Every fixed order, then the adapting one, started from the worst; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.adaptive", description=__doc__)
    parser.add_argument("--half", type=int, default=10, help="micro-batches before and after the switch")
    parser.add_argument("--streams", type=int, default=4, choices=(3, 4), help="number of streams")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args(arguments)
    defaults = Switch()
    switch = Switch(rates=defaults.rates[: options.streams], half=options.half)
    console = Console()
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as scratch, workspace() as folder:
        root = Path(scratch)
        generate(switch, root)
        expected = answer(switch, root)
        with spark_session(folder, options.cores, {}, brief=True) as spark:
            plan = query_in_order(spark, switch, root, switch.names).plan
            counted = examined_by_order(switch, root, plan)
            orders = extremes(counted)
            fixed = {}
            for number, (what, order) in enumerate(orders.items(), 1):
                console.print(f"running {number} of {len(orders)}: {what}", highlight=False)
                names = [switch.names[part] for part in order]
                fixed[what] = run(query_in_order(spark, switch, root, names), switch)
            console.print("running the adaptive order, from the worst of the first half", highlight=False)
            worst = [switch.names[part] for part in orders["worst of the first half"]]
            start = query_in_order(spark, switch, root, worst).plan_with(adaptive=True)
            adapting = run(start, switch)
    exact = all(_same(one.results, expected, switch) for one in (adapting, *fixed.values()))
    print(adapting.explained)
    console.print(_table(fixed, adapting))
    console.print(f"{expected.num_rows:,} results, " + ("equal to DuckDB row for row" if exact else "WRONG"))
    print("RESULT " + json.dumps(ratios(list(fixed.values()), adapting)))
    return 0 if exact else 1


def extremes(counted: dict[Order, tuple[int, int]]) -> dict[str, Order]:
    """The best and the worst fixed order of each half."""
    found = {}
    for half, name in enumerate(("first", "second")):
        found[f"best of the {name} half"] = min(counted, key=lambda order: counted[order][half])
        found[f"worst of the {name} half"] = max(counted, key=lambda order: counted[order][half])
    return found


def ratios(fixed: list[Run], adapting: Run) -> dict[str, float]:
    """Rows examined against the best fixed order of each half; the worse half counts."""
    best = [min(one.examined[half] for one in fixed) for half in (0, 1)]
    worst = [max(one.examined[half] for one in fixed) for half in (0, 1)]
    visits = [min(one.visits[half] for one in fixed) for half in (0, 1)]
    return {
        "adaptive_over_best": round(max(adapting.examined[h] / best[h] for h in (0, 1)), 3),
        "worst_over_best": round(max(worst[h] / best[h] for h in (0, 1)), 3),
        "adaptive_visits_over_best": round(max(adapting.visits[h] / visits[h] for h in (0, 1)), 3),
    }


def answer(switch: Switch, root: Path) -> pa.Table:
    """What DuckDB finds over all rows at once."""
    import duckdb

    names = switch.names
    tables = ", ".join(f"read_parquet('{root / name}/*.parquet') {name}" for name in names)
    keys = [f"{names[0]}.key = {name}.key" for name in names[1:]]
    times = [f"{name}.ts" for name in names]
    alive = f"greatest({', '.join(times)}) <= least({', '.join(times)}) + INTERVAL {switch.window_s} SECOND"
    columns = ", ".join(f"{name}.id AS {name}" for name in names)
    where = " AND ".join([*keys, alive])
    with duckdb.connect() as connection:
        found: pa.Table = connection.sql(
            f"SELECT {columns} FROM {tables} WHERE {where}"  # noqa: S608 - our own names
        ).to_arrow_table()
    return found.sort_by([(name, "ascending") for name in names])


def _same(results: pa.Table, expected: pa.Table, switch: Switch) -> bool:
    names = list(switch.names)
    # All of them are called id, in the order they were selected; the result time comes last.
    ids = pa.Table.from_arrays(results.columns[: len(names)], names)
    return bool(ids.sort_by([(name, "ascending") for name in names]).equals(expected))


def _table(fixed: dict[str, Run], adapting: Run) -> Table:
    table = Table("order", "examined, 1st half", "2nd half", "look-ups, 1st half", "2nd half", "changes")
    for name, one in {**fixed, "adaptive": adapting}.items():
        table.add_row(name, *(f"{n:,}" for n in (*one.examined, *one.lookups)), str(one.changes))
    return table


if __name__ == "__main__":
    sys.exit(main())
