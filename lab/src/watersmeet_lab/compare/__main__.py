"""Compare two commits: ``make bench-compare BASE=<commit>``, or ``python -m watersmeet_lab.compare -h``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from watersmeet_lab.compare.figures import Comparison, Figure
from watersmeet_lab.compare.run import Run, measured
from watersmeet_lab.compare.shapes import SHAPES, WARM_BATCHES, Shape
from watersmeet_lab.compare.versions import NoSuchVersion, Version, checked_out, repository_of, working_tree
from watersmeet_lab.keyed.case import Case
from watersmeet_lab.keyed.workload import generate

Runs = dict[str, tuple[list[Run], list[Run]]]


def main(arguments: list[str] | None = None) -> int:
    """Check out, run by turns, compare; the exit code is 1 when results differ, 2 when nothing could run."""
    options = _options(arguments)
    if not Path("/proc/self/stat").exists():
        print("processor time is read from /proc, which this system has not: use Linux.", file=sys.stderr)
        return 2
    # Ended by a signal, it still removes its folders.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="watersmeet-bench-", dir=options.scratch)
        )
        try:
            repository = repository_of(Path(__file__).parent)
            base = stack.enter_context(checked_out(repository, options.base, Path(folder) / "base"))
            new = working_tree(repository)
            if options.new is not None:
                new = stack.enter_context(checked_out(repository, options.new, Path(folder) / "new"))
        except NoSuchVersion as error:
            print(error, file=sys.stderr)
            return 2
        runs = _by_turns((base, new), _cases(options, Path(folder)), options.rounds)
    differing = [name for name, pair in runs.items() if not same_results(name, *pair)]
    compared = {name: _compared(*pair) for name, pair in runs.items()}
    _print_table((base, new), compared, runs)
    print("RESULT " + json.dumps(_report((base, new), options.rounds, compared, runs, exact=not differing)))
    return 1 if differing else 0


def _cases(options: argparse.Namespace, folder: Path) -> dict[str, Case]:
    cases = {}
    for number, shape in enumerate(options.shapes):
        workload = shape.workload(options.batches, options.batch_rows)
        root = folder / f"data-{number}"
        generate(workload, root)
        cases[shape.name] = Case(
            "ours", workload, str(root), workload.window_s, batches=workload.batches, cores=options.cores
        )
    return cases


def _by_turns(versions: tuple[Version, Version], cases: dict[str, Case], rounds: int) -> Runs:
    """Every case with both versions, round after round; who begins changes with the round."""
    runs: Runs = {name: ([], []) for name in cases}
    for number in range(rounds):
        for name, case in cases.items():
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                run = measured(case, versions[side].source)
                runs[name][side].append(run)
                took = f"{run.seconds_per_row * 1e6:.2f} µs per row, {run.results:,} results"
                print(f"round {number + 1}, {name}, {versions[side].name}: {took}", flush=True)
    return runs


def same_results(name: str, base: list[Run], new: list[Run]) -> bool:
    """Whether all runs have the same results; says so if not."""
    before, after = ({(run.results, run.checksum) for run in runs} for runs in (base, new))
    if len(before | after) == 1:
        return True
    print(f"RESULTS DIFFER, {name}: (results, checksum) {sorted(before)} and {sorted(after)}")
    return False


def _compared(base: list[Run], new: list[Run]) -> Comparison:
    return Comparison.of(*([run.seconds_per_row for run in runs] for runs in (base, new)))


def _print_table(versions: tuple[Version, Version], compared: dict[str, Comparison], runs: Runs) -> None:
    from rich.console import Console
    from rich.table import Table

    def cost(figure: Figure) -> str:
        return f"{figure.median * 1e6:.2f}, {figure.spread:.0%}"

    table = Table("shape", *(version.name for version in versions), "ratio", "results")
    table.title = "processor µs per row: median, spread"
    for name, one in compared.items():
        ratio = f"{one.ratio.median:.3f} ({one.ratio.least:.3f} to {one.ratio.greatest:.3f})"
        table.add_row(name, cost(one.base), cost(one.new), ratio, f"{runs[name][0][0].results:,}")
    Console().print(table)


def _report(
    versions: tuple[Version, Version],
    rounds: int,
    compared: dict[str, Comparison],
    runs: Runs,
    *,
    exact: bool,
) -> dict[str, Any]:
    def figure(one: Figure) -> dict[str, float]:
        values = {**asdict(one), "spread": one.spread}
        return {name: float(f"{value:.4g}") for name, value in values.items()}

    base, new = versions
    return {
        "base": base.name,
        "new": new.name,
        "rounds": rounds,
        "exact": exact,
        "shapes": {
            name: {
                "base_seconds_per_row": figure(one.base),
                "new_seconds_per_row": figure(one.new),
                "ratio": figure(one.ratio),
                "results": runs[name][0][0].results,
            }
            for name, one in compared.items()
        },
    }


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.compare", description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--new", help="the commit to compare; the files as they are if it is left out")
    parser.add_argument("--rounds", type=int, default=5, help="runs per shape and version (default 5)")
    parser.add_argument("--batches", type=int, default=10, help="micro-batches of a run (default 10)")
    parser.add_argument("--batch-rows", type=int, default=200_000, help="rows per micro-batch, all streams")
    parser.add_argument("--cores", type=int, default=2, help="cores and shuffle partitions (default 2)")
    parser.add_argument(
        "--shapes", type=_shapes, default=SHAPES, help="some of: " + ", ".join(shape.name for shape in SHAPES)
    )
    parser.add_argument("--scratch", default=None, help="folder for data and checkpoints")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.batches <= WARM_BATCHES:
        parser.error(f"at least one round, and more batches than the {WARM_BATCHES} that warm up")
    return options


def _shapes(text: str) -> tuple[Shape, ...]:
    known = {shape.name: shape for shape in SHAPES}
    try:
        return tuple(known[name] for name in text.split(","))
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"there is no shape {error}") from None


if __name__ == "__main__":
    sys.exit(main())
