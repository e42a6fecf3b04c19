"""Run the skew benchmark: ``make bench-skew``, or ``python -m watersmeet_lab.skew --help``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from watersmeet_lab.skew.run import BUCKETS, Run, measured
from watersmeet_lab.skew.workload import Skew, answer, generate

# Others' rows go to all buckets for a window, and for one more the key's bucket has dealt rows from before.
_SETTLING = 6


def main(arguments: list[str] | None = None) -> int:
    """One core and two, over the same files; the exit code is 1 when a run has other results than DuckDB."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.skew", description=__doc__)
    parser.add_argument("--batch-rows", type=int, default=6_000, help="rows of the first stream per batch")
    parser.add_argument("--batches", type=int, default=10, help="micro-batches of a second")
    parser.add_argument("--rounds", type=int, default=1, help="runs on one core and on two")
    parser.add_argument("--without", action="store_true", help="also run with spread_hot_keys=False")
    parser.add_argument("--scratch", default=None, help="folder for data")
    options = parser.parse_args(arguments)
    skew = Skew(options.batch_rows, options.batches)
    figures: dict[str, list[float]] = {}
    exact = True
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-", dir=options.scratch) as folder:
        generate(skew, Path(folder))
        expected = answer(skew, Path(folder))
        print(f"{expected[0]:,} results", flush=True)
        for number in range(options.rounds):
            ways = [("", True)] + [("unspread_", False)] * options.without
            for name, spreads in ways:
                runs = {}
                # Who begins changes with the round.
                for cores in (1, 2)[:: 1 if number % 2 == 0 else -1]:
                    runs[cores] = measured(Path(folder), skew.window_s, cores, spreads=spreads)
                    exact &= (runs[cores].results, runs[cores].total) == expected
                    _print(f"{name}{cores} cores", runs[cores])
                first = max(_first(run) for run in runs.values()) if spreads else _SETTLING
                one, two = (runs[cores].batches[first:] for cores in (1, 2))
                speedup = median(b.seconds for b in one) / median(b.seconds for b in two)
                uneven = median(b.busiest_ms / (b.kernel_ms / BUCKETS) for b in two)
                figures.setdefault(f"{name}hot_two_core_speedup", []).append(speedup)
                figures.setdefault(f"{name}busiest_over_mean", []).append(uneven)
    print("exact" if exact else f"RESULTS DIFFER from {expected}")
    medians = {name: round(median(values), 3) for name, values in figures.items()}
    print("RESULT " + json.dumps(medians))
    return 0 if exact else 1


def _first(run: Run) -> int:
    """The first batch of which all rows are spread."""
    found = next((i for i, one in enumerate(run.batches) if one.spread_keys), len(run.batches))
    return min(found + 1 + _SETTLING, len(run.batches) - 1)


def _print(name: str, run: Run) -> None:
    print(f"{name}: {run.results:,} results")
    for batch in run.batches:
        print(
            f"  {batch.seconds:6.2f} s, kernel {batch.kernel_ms:8.0f} ms, "
            f"busiest bucket {batch.busiest_ms:8.0f} ms, {batch.spread_keys} keys spread",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
