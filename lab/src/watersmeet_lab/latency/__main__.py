"""Measure live streams: ``make bench-latency``, or ``python -m watersmeet_lab.latency --help``."""

from __future__ import annotations

import argparse
import json
import sys

from watersmeet_lab.latency.live import Live, Waited, waited


def main(arguments: list[str] | None = None) -> int:
    """Ours at the full rate; then ours and the chain at a rate the chain can keep."""
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.latency", description=__doc__)
    parser.add_argument("--rate", type=int, default=100_000, help="rows per second of four streams together")
    parser.add_argument("--slow-rate", type=int, default=20_000, help="the rate at which both are compared")
    parser.add_argument("--triggers", type=int, default=200, help="measured batches (default 200)")
    parser.add_argument("--warm", type=int, default=30, help="batches before them (default 30)")
    options = parser.parse_args(arguments)

    def run(system: str, rate: int) -> Waited:
        found = waited(Live(system, rate, options.triggers, options.warm))
        print(
            f"{system:6} {rate:>8,} rows/s: p50 {found.p50_ms:.0f} ms, p95 {found.p95_ms:.0f} ms; took "
            f"{found.rows_per_second:,.0f} rows/s, gave {found.results_per_second:,.0f} results/s",
            flush=True,
        )
        return found

    fast = run("ours", options.rate)
    slow, chain = run("ours", options.slow_rate), run("chain", options.slow_rate)
    figures = {
        "trigger_p50_ms": round(fast.p50_ms),
        "trigger_p95_ms": round(fast.p95_ms),
        "latency_ratio": round(chain.p50_ms / slow.p50_ms, 2),
    }
    print("RESULT " + json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
