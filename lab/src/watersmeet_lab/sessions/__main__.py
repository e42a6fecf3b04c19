"""Compare sessions: ``make bench-sessions``, or ``python -m watersmeet_lab.sessions --help``."""

from __future__ import annotations

import argparse
import json
import sys

from watersmeet_lab.apart import run_apart
from watersmeet_lab.sessions.run import LACKS, ONLY


def main(arguments: list[str] | None = None) -> int:
    """Run every way, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.sessions", description=__doc__)
    parser.add_argument("--batches", type=int, default=8, help="micro-batches (default 8)")
    parser.add_argument("--rows", type=int, default=1_000, help="rows per stream and batch (default 1,000)")
    parser.add_argument("--only", nargs="+", choices=[*LACKS, *ONLY], help="some of the sessions")
    options = parser.parse_args(arguments)
    figures = {}
    print(f"{'session':24} first batch, s   batches after it: s   processor s")
    for way in options.only or [*LACKS, *ONLY]:
        spec = {"way": way, "batches": options.batches, "rows": options.rows}
        found = run_apart("watersmeet_lab.sessions.run", spec)
        figures[way] = {name: round(value, 2) for name, value in found.items()}
        print(f"{way:24} {found['first_s']:14.1f} {found['clock_s']:21.2f} {found['processor_s']:13.2f}")
    print("RESULT " + json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
