"""Run the generic benchmark: ``make bench-generic``, or ``python -m watersmeet_lab.generic --help``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from watersmeet_lab.apart import run_apart
from watersmeet_lab.generic.systems import Batch, Case, Outcome
from watersmeet_lab.generic.workload import Cameras, generate


def main(arguments: list[str] | None = None) -> int:
    """Every system over the same files; 1 if one of them finds other pairs than there are."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.generic", description=__doc__)
    parser.add_argument("--rate", type=int, default=100, help="images per second of each of two cameras")
    parser.add_argument("--batches", type=int, default=8, help="micro-batches of two seconds")
    options = parser.parse_args(arguments)
    two = Cameras(rate=options.rate, batches=options.batches)
    # Others are compared over the first half, since they take long.
    half = replace(two, batches=options.batches // 2)
    three = replace(two, streams=3, rate=max(1, options.rate // 2))
    console = Console()
    runs: dict[str, Outcome] = {}
    right = True
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as scratch:
        for cameras, systems in (
            (two, (("sliced", 1), ("sliced", 2))),
            (half, (("aligned", 2), ("by hand", 2))),
            (three, (("deployed", 2),)),
        ):
            root = Path(scratch) / f"{cameras.streams}-{cameras.batches}"
            generate(cameras, root)
            expected = answer(cameras, root)
            for system, cores in systems:
                name = f"{system}, {cameras.streams} cameras, {cores} core{'s' if cores > 1 else ''}"
                console.print(f"running {name}", highlight=False)
                runs[name] = measured(Case(system, cameras, str(root), cores))
                same = sorted(runs[name].found) == expected
                right &= same
                console.print(f"  {len(runs[name].found):,} found: " + ("right" if same else "WRONG"))
    console.print(_table(runs))
    one, both, aligned, by_hand, deployed = runs.values()
    figures = {
        "two_core_speedup": steady(one, two) / steady(both, two),
        "two_core_speedup_with_start": one.seconds / both.seconds,
        "predicate_share": sum(batch.asked_seconds for batch in both.batches[1:]) / both.busy,
        "state_ratio": max(held_over_live(both, two, 1), held_over_live(deployed, three, 1)),
        "speedup_over_by_hand": steady(by_hand, half) / steady(both, half),
        "speedup_over_aligned": steady(aligned, half) / steady(both, half),
        "aligned_state_ratio": held_over_live(aligned, half, 1),
    }
    print("RESULT " + json.dumps({name: round(value, 3) for name, value in figures.items()}))
    return 0 if right else 1


def measured(case: Case) -> Outcome:
    """Run a case in a process of its own."""
    values = run_apart("watersmeet_lab.generic.systems", asdict(case))
    found = [tuple(row) for row in values["found"]]
    batches = [Batch(**batch) for batch in values["batches"]]
    return Outcome(values["seconds"], values["busy"], found, batches)


def steady(outcome: Outcome, cameras: Cameras) -> float:
    """Seconds of the batches of a workload from the second on, when everything has started."""
    return sum(batch.seconds for batch in outcome.batches[1 : cameras.batches])


def held_over_live(outcome: Outcome, cameras: Cameras, first: int) -> float:
    """Rows held after a batch over rows that were alive at its start or came in it, in the worst full batch.

    A row may be needed for rows of the batch that has just come, so it cannot go before the next one.
    """
    ratios = []
    for number, batch in enumerate(outcome.batches[: cameras.batches]):
        if number < first or batch.held is None:
            continue
        rows = cameras.rate * cameras.batch_s
        before = min(number * rows, cameras.rate * cameras.window_s)
        ratios.append(batch.held / (cameras.streams * (before + rows)))
    return max(ratios, default=float("nan"))


def answer(cameras: Cameras, root: Path) -> list[tuple[int, ...]]:
    """Which images belong together: neighbours that show one scene, by numbers the join does not see."""
    import duckdb

    names = cameras.names
    tables = ", ".join(f"read_parquet('{root / name}/*.parquet') {name}" for name in names)
    scenes = [f"{one}.scene = {other}.scene" for one, other in pairwise(names)]
    clocks = ", ".join(f"{name}.ts" for name in names)
    alive = f"greatest({clocks}) <= least({clocks}) + INTERVAL {cameras.window_s} SECOND"
    columns = ", ".join(f"{name}.id" for name in names)
    with duckdb.connect() as connection:
        sql = f"SELECT {columns} FROM {tables} WHERE {' AND '.join([*scenes, alive])}"  # noqa: S608
        return sorted(connection.execute(sql).fetchall())


def _table(runs: dict[str, Outcome]) -> Table:
    table = Table("system", "seconds", "a batch, median", "pairs", "us a pair", "found")
    for name, run in runs.items():
        pairs = sum(batch.pairs for batch in run.batches)
        asked = sum(batch.asked_seconds for batch in run.batches)
        table.add_row(
            name,
            f"{run.seconds:.1f}",
            f"{_median([batch.seconds for batch in run.batches]):.2f}",
            f"{pairs:,}" if pairs else "",
            f"{asked / pairs * 1e6:.1f}" if pairs else "",
            f"{len(run.found):,}",
        )
    return table


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else float("nan")


if __name__ == "__main__":
    sys.exit(main())
