"""Run the planning benchmark: ``make bench-planning``, or ``python -m watersmeet_lab.planning --help``."""

from __future__ import annotations

import argparse
import json
import sys

from watersmeet_lab.keyed.workload import Workload
from watersmeet_lab.planning.predictions import compare
from watersmeet_lab.planning.speed import planning_times


def main(arguments: list[str] | None = None) -> int:
    """Time the planner, then hold its predictions against a run."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.planning", description=__doc__)
    parser.add_argument("--batches", type=int, default=8, help="micro-batches of the run (default 8)")
    parser.add_argument("--zipf", type=float, default=0.0, help="skew of the keys, 0 is uniform; try 0.3")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args(arguments)
    times = planning_times()
    for name, milliseconds in times.items():
        print(f"planning, {name}: {milliseconds:.1f} ms", flush=True)
    workload = Workload(batches=options.batches, zipf=options.zipf)
    print(f"running {workload.rows:,} rows to compare with their prediction", flush=True)
    text, off = compare(workload, options.cores)
    print(text)
    figures = {
        "clique_6_ms": round(times["clique of 6 streams"], 1),
        "chain_12_ms": round(times["chain of 12 streams"], 1),
    }
    print("RESULT " + json.dumps(figures | off))
    return 0


if __name__ == "__main__":
    sys.exit(main())
