"""Run the keyed benchmark: ``make bench-keyed``, or ``python -m watersmeet_lab.keyed --help``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from watersmeet import __version__
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet.plot.draw import save
from watersmeet_lab.keyed.case import Case, Outcome, measured
from watersmeet_lab.keyed.figures import cost_per_row, overall_rate, state_ratio, steady_rate
from watersmeet_lab.keyed.workload import Workload, generate

# Enough batches for a window ten times as long to fill and for six more after it.
_SCALING_BATCHES = 28
_NAMES = {"ours": "Watersmeet", "native": "chained Spark joins"}


def main(arguments: list[str] | None = None) -> int:
    """Generate, run, compare, report; the exit code is 1 when a result count is wrong."""
    options = _options(arguments)
    workload = Workload(
        streams=options.streams,
        batches=options.batches,
        batch_rows=options.batch_rows,
        window_s=options.window,
        payload=options.payload,
        zipf=options.zipf,
        string_keys=options.string_keys,
        seed=options.seed,
    )
    # Ended by a signal, it still removes its folders.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-", dir=options.scratch) as folder:
        report = _run(workload, options, Path(folder))
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=2))
    if options.chart is not None:
        save(_chart(report["systems"]), options.chart)
    print("RESULT " + json.dumps(report["ratios"]))
    return 0 if report["exact"] else 1


def _run(workload: Workload, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    root = written(workload, folder / "base")
    native_options = {"spark.sql.streaming.join.stateFormatVersion": options.native_format}
    if options.native_store == "rocksdb":
        native_options["spark.sql.streaming.stateStore.providerClass"] = (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        )
    base = Case("ours", workload, str(root), workload.window_s, batches=workload.batches, cores=options.cores)
    cases = {name: replace(base, system=name) for name in options.systems}
    if "native" in cases:
        cases["native"] = replace(cases["native"], options=native_options)
    outcomes: dict[str, Outcome] = {}
    for name, case in cases.items():
        outcomes[name] = run_case(name, case)
    ratios: dict[str, float] = {}
    if "ours" in outcomes and "native" in outcomes:
        ours, native = (steady_rate(outcomes[name], _warm(workload.batches)) for name in ("ours", "native"))
        ratios["steady_ratio"] = ours / native
        ratios["overall_ratio"] = outcomes["native"].seconds / outcomes["ours"].seconds
    if "ours" in outcomes:
        uneven = replace(base, window_s=workload.window_s * 1.2)
        held = state_ratio(base, outcomes["ours"])
        ratios["state_ratio"] = max(held, state_ratio(uneven, run_case("ours, 1.2 x window", uneven)))
    if options.scaling and "ours" in outcomes:
        ratios["window10_cost_ratio"] = _scaling(workload, options, folder)
    counts = {name: outcome.results for name, outcome in outcomes.items()}
    _print_table(cases, outcomes)
    exact = len(set(counts.values())) == 1
    print("all systems return the same number of results" if exact else f"RESULT COUNTS DIFFER: {counts}")
    return {
        "ratios": {name: round(value, 3) for name, value in ratios.items()},
        "exact": exact,
        "systems": {name: asdict(outcome) for name, outcome in outcomes.items()},
        "workload": asdict(workload),
        "context": _context(options),
    }


def _warm(batches: int) -> int:
    """The batches in which Java warms up and windows fill, of a run that is long enough for both."""
    return min(8, batches // 2)


def _chart(systems: dict[str, Any]) -> Chart:
    lines = []
    for name, outcome in systems.items():
        rates = [batch["rows"] / batch["seconds"] for batch in outcome["batches"] if batch["rows"]]
        if rates:
            lines.append(
                Line(_NAMES.get(name, name), tuple(range(1, len(rates) + 1)), tuple(rates), source="run")
            )
    panel = Panel("", "micro-batch", "rows per second", tuple(lines))
    return Chart("keyed", "Rows per second", (panel,), columns=1)


def _scaling(workload: Workload, options: argparse.Namespace, folder: Path) -> float:
    """Cost per row with a window ten times as long over the cost with the window as it is.

    Both run the same files and are compared over the same batches; the long window joins on a key with
    ten times as many values, so a row has as many matches.
    """
    longer = replace(workload, batches=_SCALING_BATCHES)
    root = written(longer, folder / "scaling")
    narrow = Case("ours", longer, str(root), workload.window_s, batches=_SCALING_BATCHES, cores=options.cores)
    wide = replace(narrow, window_s=workload.window_s * longer.wide, key="wide_key")
    costs = [
        cost_per_row(case, run_case(f"ours, window {case.window_s:g} s", case), wide.window_s)
        for case in (narrow, wide)
    ]
    return costs[1] / costs[0]


def written(workload: Workload, root: Path) -> Path:
    """Write the files of a workload; returns their folder."""
    print(f"generating {workload.rows:,} rows", flush=True)
    generate(workload, root)
    return root


def run_case(name: str, case: Case) -> Outcome:
    """Run a case, and say how it goes."""
    print(f"running {name} ...", end=" ", flush=True)
    start = time.perf_counter()
    outcome = measured(case)
    batches = " ".join(f"{batch.seconds:.2f}" for batch in outcome.batches)
    took = f"{outcome.results:,} results, {time.perf_counter() - start:.0f} s"
    print(took + (f", seconds per batch: {batches}" if batches else ""), flush=True)
    return outcome


def _print_table(cases: dict[str, Case], outcomes: dict[str, Outcome]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("system", "results", "rows/s overall", "rows/s steady", "slowest batch", "rows held")
    for name, outcome in outcomes.items():
        streaming = bool(outcome.batches)
        held = [batch.held for batch in outcome.batches if batch.held is not None]
        table.add_row(
            name,
            f"{outcome.results:,}",
            f"{overall_rate(cases[name], outcome):,.0f}",
            f"{steady_rate(outcome, _warm(cases[name].batches)):,.0f}" if streaming else "",
            f"{max(batch.seconds for batch in outcome.batches[1:]):.2f} s" if streaming else "",
            f"{max(held):,}" if held else "",
        )
    Console().print(table)


def _context(options: argparse.Namespace) -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    packages = ("pyspark", "pyarrow", "numba", "numpy", "pandas", "duckdb")
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "versions": {"watersmeet": __version__, **{name: version(name) for name in packages}},
        "arguments": {
            name: value for name, value in vars(options).items() if name not in ("json", "chart", "scratch")
        },
    }


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.keyed", description=__doc__)
    parser.add_argument("--streams", type=int, default=4, help="number of streams (default 4)")
    parser.add_argument("--batches", type=int, default=16, help="micro-batches (default 16)")
    parser.add_argument("--batch-rows", type=int, default=500_000, help="rows per micro-batch, all streams")
    parser.add_argument(
        "--window", type=float, default=10, help="window in seconds of event time (default 10)"
    )
    parser.add_argument("--payload", type=int, default=40, help="bytes of payload per row (default 40)")
    parser.add_argument("--zipf", type=float, default=0.0, help="skew of the keys, 0 is uniform; try 0.3")
    parser.add_argument("--string-keys", action="store_true", help="keys are text")
    parser.add_argument("--cores", type=int, default=2, help="cores and shuffle partitions (default 2)")
    parser.add_argument("--seed", type=int, default=20261115)
    parser.add_argument(
        "--systems", default="ours,native,duckdb", type=lambda text: text.split(","), help="which to run"
    )
    parser.add_argument("--native-store", choices=("default", "rocksdb"), default="default")
    parser.add_argument("--native-format", choices=("2", "3", "4"), default="2")
    parser.add_argument(
        "--scaling",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure the ten times longer window",
    )
    parser.add_argument("--json", default="bench-keyed.json", help="where to write all figures")
    parser.add_argument("--chart", type=Path, help="folder for a plot of the batches, and its data")
    parser.add_argument("--scratch", default=None, help="folder for data and checkpoints")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
