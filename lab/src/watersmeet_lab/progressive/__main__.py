"""Run the progressive benchmark: ``make bench-progressive``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from bisect import bisect_right
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet.plot.draw import save
from watersmeet_lab.apart import run_apart
from watersmeet_lab.progressive.systems import NATIVE, Case, Outcome
from watersmeet_lab.progressive.workload import Relations, answer, generate

_SYSTEMS = ("rpj", "xjoin", "hmj", NATIVE)
_NAMES = {"rpj": "RPJ", "xjoin": "XJoin", "hmj": "HMJ", NATIVE: "Spark's own join"}
_WIDTH = 120


def main(arguments: list[str] | None = None) -> int:
    """Every system over the same files at the same times; 1 if one finds other pairs than there are."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.progressive", description=__doc__)
    parser.add_argument("--rows", type=int, default=Relations.rows, help="rows of both relations")
    parser.add_argument("--files", type=int, default=Relations.files, help="files each of them comes in")
    parser.add_argument(
        "--speed", type=int, default=Relations.speed, help="rows of the first for one of the second"
    )
    parser.add_argument("--systems", nargs="+", choices=_SYSTEMS, default=_SYSTEMS)
    parser.add_argument("--chart", type=Path, help="folder for a plot of the results so far, and its data")
    options = parser.parse_args(arguments)
    relations = Relations(rows=options.rows, files=options.files, speed=options.speed)
    memory = relations.bytes // 5
    # Wide enough for the table, also where the output goes to a file.
    console = Console(width=max(_WIDTH, Console().width))
    runs: dict[str, Outcome] = {}
    right = True
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as scratch:
        generate(relations, Path(scratch))
        expected = answer(Path(scratch))
        console.print(
            f"{relations.bytes / 1e6:.0f} MB, memory {memory / 1e6:.0f} MB, {expected[0]:,} results"
        )
        for system in options.systems:
            console.print(f"running {system}", highlight=False)
            values = run_apart(
                "watersmeet_lab.progressive.systems", asdict(Case(system, relations, scratch, memory))
            )
            run = runs[system] = Outcome(**values)
            same = (run.results, run.checksum) == expected
            right &= same
            console.print(f"  {run.results:,} found: " + ("right" if same else "WRONG"))
    console.print(_table(runs))
    if options.chart is not None:
        save(_chart(runs), options.chart)
    if set(_SYSTEMS) <= runs.keys():
        half = {system: found_at(run, 0.5) for system, run in runs.items()}
        figures = {
            "peak_over_budget": max(
                (runs[system].peak - runs[system].idle) / memory for system in ("rpj", "xjoin", "hmj")
            ),
            "rpj_over_xjoin_50": half["rpj"] / max(1, half["xjoin"]),
            "rpj_over_hmj_50": half["rpj"] / max(1, half["hmj"]),
        }
        print("RESULT " + json.dumps({name: round(value, 3) for name, value in figures.items()}))
    return 0 if right else 1


def found_at(run: Outcome, share: float) -> int:
    """Results that were found by the time at which a share of the rows had been sent."""
    moment = run.sent[max(0, round(len(run.sent) * share) - 1)]
    place = bisect_right([seconds for seconds, _ in run.curve], moment)
    return run.curve[place - 1][1] if place else 0


def _chart(runs: dict[str, Outcome]) -> Chart:
    lines = []
    for system, run in runs.items():
        seconds, results = zip((0.0, 0), *run.curve, strict=True)
        lines.append(Line(_NAMES[system], seconds, tuple(map(float, results)), source="run"))
    ended = max(run.sent[-1] for run in runs.values())
    title = f"all was sent after {ended:.0f} s"
    panel = Panel(title, "seconds after the start", "results so far", tuple(lines))
    return Chart("progressive", "Results so far", (panel,), columns=1)


def _table(runs: dict[str, Outcome]) -> Table:
    table = Table("system", "found at 25 %", "50 %", "75 %", "when all was sent", "all", "workers", "Java")
    for system, run in runs.items():
        table.add_row(
            system,
            *(f"{found_at(run, share):,}" for share in (0.25, 0.5, 0.75, 1.0)),
            f"{run.results:,} in {run.seconds:.0f} s",
            f"{(run.peak - run.idle) / 1e6:+.0f} MB",
            f"{(run.java_peak - run.java_idle) / 1e6:+.0f} MB",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
