"""What is measured on Spark: every benchmark in a process of its own, and what its figures mean."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watersmeet.errors import WatersmeetError
from watersmeet_lab.report.machine import machine

_RESULT = "RESULT "


class BenchmarkFailed(WatersmeetError, RuntimeError):
    """A benchmark did not come to its end, or found wrong results."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a benchmark: what it means, and whether more of it is better."""

    name: str
    text: str
    more: bool = True


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark.

    Attributes:
        name: Its folder in `lab/`; `make bench-<name>` runs it.
        about: What it does.
        short: Arguments with which it takes two or three minutes; none where only the whole tells something.
        figures: What it reports.
        always: Arguments it is given in any case.
        chart: What its plot shows; empty for one without.
        compares: What the table of its rows and systems shows; empty for one without.
    """

    name: str
    about: str
    short: tuple[str, ...]
    figures: tuple[Figure, ...]
    always: tuple[str, ...] = ()
    chart: str = ""
    compares: str = ""


BENCHMARKS = (
    Benchmark(
        "keyed",
        "Four streams with a shared key, against the same join as a chain of Spark's own, and DuckDB as "
        "the check.",
        ("--batches", "6", "--batch-rows", "200000", "--no-scaling"),
        (
            Figure("steady_ratio", "rate over that of chained Spark joins, once windows are full"),
            Figure("overall_ratio", "the same over the whole run, start included"),
            Figure("state_ratio", "rows held for every live one", more=False),
            Figure("window10_cost_ratio", "cost per row with a window ten times as long", more=False),
        ),
        always=("--json", ""),
        chart="Rows per second, micro-batch by micro-batch: the first starts everything up, the last is what "
        "was left over",
    ),
    Benchmark(
        "peers",
        "The same joins on Watersmeet, on chains of Spark's own joins, on Flink and on DuckDB, which has all "
        "rows at once: the four-way join, three topics of JSON, and joins of Nexmark's queries, windowed.",
        ("--only", "four-way,q23", "--scale", "0.5"),
        (
            Figure("flink_ratio", "four streams: rows per second over Flink, both without start-up"),
            Figure("chain_ratio", "the same over chained Spark joins with their default store"),
        ),
        chart="Rows read by each system since its query was started; what is flat at first is start-up",
        compares="Rows per second once warm, and end to end in brackets",
    ),
    Benchmark(
        "adaptive",
        "Four streams whose rates change places halfway: every order of visits that stays, and the one "
        "that adapts.",
        ("--half", "5"),
        (
            Figure("adaptive_over_best", "rows examined, over the best fixed order", more=False),
            Figure("worst_over_best", "what the worst fixed order examines, over the best", more=False),
            Figure("adaptive_visits_over_best", "visits, over the best fixed order", more=False),
        ),
    ),
    Benchmark(
        "sites",
        "Three sites that exchange messages: semijoins against whole rows, and a plan per value against "
        "one plan.",
        (),
        (
            Figure("semijoin_byte_share", "bytes sent, as a share of sending whole rows", more=False),
            Figure("pmjoin_tuple_share", "rows sent, as a share of the best single plan", more=False),
        ),
    ),
    Benchmark(
        "generic",
        "Images of two cameras joined on a Python function of 50 microseconds a pair, and three under "
        "deploy().",
        ("--rate", "50", "--batches", "5"),
        (
            Figure("two_core_speedup", "two cores over one, once everything has started"),
            Figure("two_core_speedup_with_start", "the same with the start"),
            Figure("predicate_share", "part of the workers' time that is spent inside the function"),
            Figure("state_ratio", "rows held for every live one", more=False),
            Figure("speedup_over_by_hand", "over a cross join in foreachBatch on stored windows"),
            Figure("speedup_over_aligned", "over windows aligned by segments of time"),
            Figure("aligned_state_ratio", "rows that aligned windows hold for every live one", more=False),
        ),
    ),
    Benchmark(
        "progressive",
        "Two relations five times as large as the memory arrive with silences: RPJ, XJoin, HMJ and "
        "Spark's own join.",
        (),
        (
            Figure("peak_over_budget", "memory the workers grow by, over the limit", more=False),
            Figure("rpj_over_xjoin_50", "results of RPJ over those of XJoin when half was sent"),
            Figure("rpj_over_hmj_50", "results of RPJ over those of HMJ when half was sent"),
        ),
        chart="Results so far, of the algorithms in limited memory and of Spark's own join, which keeps all",
    ),
)


def details_of(benchmark: Benchmark, out: Path) -> Path:
    """Where a benchmark that compares systems writes what came of each row on each."""
    return out / f"{benchmark.name}-rows.json"


def run_benchmark(benchmark: Benchmark, out: Path, *, full: bool) -> dict[str, Any]:
    """Run a benchmark and keep its figures in a file; returns what is in it."""
    arguments = () if full else benchmark.short
    out.mkdir(parents=True, exist_ok=True)
    chart = ("--chart", str(out)) if benchmark.chart else ()
    details = ("--json", str(details_of(benchmark, out))) if benchmark.compares else ()
    started = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", f"watersmeet_lab.{benchmark.name}"),
            *(*benchmark.always, *chart, *details, *arguments),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    found = [line for line in lines if line.startswith(_RESULT)]
    if done.returncode != 0 or not found:
        raise BenchmarkFailed(
            f"benchmark {benchmark.name} has failed",
            "\n".join([*lines[-5:], *done.stderr.splitlines()[-15:]]),
            f"see what make bench-{benchmark.name} says.",
        )
    kept = {
        "name": benchmark.name,
        "size": "short" if arguments else "full",
        "arguments": " ".join(arguments),
        "seconds": round(time.monotonic() - started),
        "figures": json.loads(found[-1].removeprefix(_RESULT)),
        "output": [line for line in lines if not line.startswith(_RESULT)],
        "machine": machine(),
    }
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    (out / f"{benchmark.name}.json").write_text(text, encoding="utf-8")
    return kept
