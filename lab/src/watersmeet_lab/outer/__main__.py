"""Run the benchmark of outer joins: ``make bench-outer``, or ``python -m watersmeet_lab.outer --help``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from watersmeet_lab.keyed.__main__ import run_case, written
from watersmeet_lab.keyed.case import Case, Outcome
from watersmeet_lab.keyed.figures import batch_times, micros, steady_rate
from watersmeet_lab.keyed.workload import Workload


def main(arguments: list[str] | None = None) -> int:
    """Generate, run, compare; the exit code is 1 when our number of results is wrong."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    workload = Workload(batches=options.batches, batch_rows=options.batch_rows, alone=0.5)
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-", dir=options.scratch) as folder:
        root = written(workload, Path(folder) / "base")
        inner = Case("ours", workload, str(root), workload.window_s, batches=workload.batches)
        left = replace(inner, optional=True)
        rounds = [
            (run_case("inner join", inner), run_case("left joins", left)) for _ in range(options.rounds)
        ]
        chain = run_case("chained Spark left outer joins", replace(left, system="native"))
        right = run_case("DuckDB", replace(left, system="duckdb_left"))
        held = [state_ratio(left, outcome) for _, outcome in rounds]
    ours = rounds[0][1].results
    over_inner = [steady_rate(one) / steady_rate(other) for one, other in rounds]
    over_chain = [steady_rate(other) / steady_rate(chain) for _, other in rounds]
    print(f"results: ours {ours:,}, DuckDB {right.results:,}, Spark's chain {chain.results:,}")
    print(f"left over inner, round by round: {', '.join(f'{ratio:.2f}' for ratio in over_inner)}")
    figures = {
        "left_over_inner": float(np.median(over_inner)),
        "left_speedup_over_chain": float(np.median(over_chain)),
        "state_ratio": max(held),
    }
    print("RESULT " + json.dumps({name: round(value, 3) for name, value in figures.items()}))
    return 0 if ours == right.results else 1


def state_ratio(case: Case, outcome: Outcome) -> float:
    """Rows held over rows that are needed, in the worst batch from the third on.

    A required row is needed until its end, an optional one for a required window longer.
    """
    per_batch = case.workload.stream_batch_rows
    window = round(case.window_s * 1e6)
    times = [batch_times(case, stream) for stream in range(case.workload.streams)]
    ratios = []
    for number, batch in enumerate(outcome.batches[: case.batches]):
        if number < 2 or batch.held is None or batch.watermark is None:
            continue
        watermark = micros(batch.watermark)
        needed = sum(
            int(np.sum(column[: (number + 1) * per_batch] + window * (2 if stream else 1) > watermark))
            for stream, column in enumerate(times)
        )
        ratios.append(batch.held / needed)
    return max(ratios)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.outer", description=__doc__)
    parser.add_argument("--batches", type=int, default=10, help="micro-batches (default 10)")
    parser.add_argument("--batch-rows", type=int, default=500_000, help="rows per micro-batch, all streams")
    parser.add_argument("--rounds", type=int, default=3, help="inner and left joins by turns (default 3)")
    parser.add_argument("--scratch", default=None, help="folder for data and checkpoints")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
