"""Run every paper's experiments and every benchmark, and write one page: ``make report``."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from rich.console import Console

from watersmeet.errors import WatersmeetError, choices
from watersmeet_lab.papers.bench import Options, Paper, bench, changed
from watersmeet_lab.papers.claim import Claim
from watersmeet_lab.papers.page import tally_by_origin
from watersmeet_lab.papers.tracker import Screen
from watersmeet_lab.report.benchmarks import BENCHMARKS, run_benchmark
from watersmeet_lab.report.page import write_page
from watersmeet_lab.report.papers import PARTS

_PAPERS = [part.name for part in PARTS]
_BENCHMARKS = {one.name: one for one in BENCHMARKS}


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for and write the page; 1 if a verdict has changed or a benchmark failed."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.report", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the papers' sizes and the long benchmarks")
    parser.add_argument(
        "--only",
        nargs="*",
        metavar="PART",
        help="run these parts, and take the others as they were last time; none only puts the page together",
    )
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="where everything goes")
    options = parser.parse_args(arguments)
    parts = [*_PAPERS, *_BENCHMARKS] if options.only is None else options.only
    unknown = [part for part in parts if part not in _PAPERS and part not in _BENCHMARKS]
    if unknown:
        parser.error(f'there is no part "{unknown[0]}"; valid are {choices([*_PAPERS, *_BENCHMARKS])}')
    screen = Screen(Console(highlight=False))
    failed: list[str] = []
    started = time.monotonic()
    for number, part in enumerate(parts, 1):
        screen.console.print(f"[bold]{number} of {len(parts)}: {part}[/bold]")
        try:
            if part in _PAPERS:
                claims = _paper(part, options.docs, screen, full=options.full)
                failed += [f"{part}: {claim.text}" for claim in changed(claims)]
            else:
                _benchmark(part, options.docs, screen, full=options.full)
        except Exception as error:  # noqa: BLE001 - the other parts are worth having all the same
            failed.append(f"{part}: {error if isinstance(error, WatersmeetError) else repr(error)}")
    out = options.docs / "report" / "index.html"
    write_page(options.docs / "experiments", options.docs / "report" / "performance", out)
    screen.console.print(f"{out}, after {(time.monotonic() - started) / 60:.1f} minutes")
    for text in failed:
        print(f"not as expected: {text}", file=sys.stderr)
    return 1 if failed else 0


def _paper(name: str, docs: Path, screen: Screen, *, full: bool) -> list[Claim]:
    options = Options(full, 1, None)
    paper: Paper = importlib.import_module(f"watersmeet_lab.{name}.paper").paper(options)
    claims = bench(paper, docs / "experiments" / name, screen=screen)
    screen.console.print(f"  {tally_by_origin(claims)}")
    return claims


def _benchmark(name: str, docs: Path, screen: Screen, *, full: bool) -> None:
    with screen.running(f"benchmark {name}") as (_, say):
        kept = run_benchmark(_BENCHMARKS[name], docs / "report" / "performance", full=full)
        say(", ".join(f"{figure} {value}" for figure, value in kept["figures"].items()))


if __name__ == "__main__":
    sys.exit(main())
