"""One run of the join, in a process of its own that has so many of the machine's cores."""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from watersmeet_lab.apart import answer, run_apart, session_apart
from watersmeet_lab.skew.workload import CONDITIONS, SCHEMA, STREAMS, total_of_results

BUCKETS = 8


@dataclass(frozen=True)
class Batch:
    """A batch: its seconds, the keys that were spread before it, and the time in the kernel."""

    seconds: float
    spread_keys: int
    kernel_ms: float
    busiest_ms: float


@dataclass(frozen=True)
class Run:
    """What came of a run: how many results, what they add up to, and its batches."""

    results: int
    total: int
    batches: list[Batch]

    def spread(self) -> list[Batch]:
        """The batches once rows are dealt out: some after the first one that had a spread key."""
        first = next((i for i, one in enumerate(self.batches) if one.spread_keys), len(self.batches))
        return self.batches[first + 1 :]


def measured(root: Path, window_s: int, cores: int, *, spreads: bool = True) -> Run:
    """Run the join on some cores; the session has two tasks at a time in any case."""
    spec = {"root": str(root), "window_s": window_s, "cores": cores, "spreads": spreads}
    found = run_apart(__name__, spec)
    return Run(found["results"], found["total"], [Batch(**one) for one in found["batches"]])


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    # Before Java starts, and with it the Python workers.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: spec["cores"]])
    from pyspark.sql import functions as F

    import watersmeet as wm
    from watersmeet.spark.settings import recommended_settings

    spark = session_apart(2, recommended_settings(cores=2))
    once = {"maxFilesPerTrigger": "1"}
    streams = [
        wm.stream(
            f"s{i}",
            wm.files(spark, f"{spec['root']}/s{i}", schema=SCHEMA, options=once),
            time="ts",
            window=f"{spec['window_s']} seconds",
        )
        for i in range(STREAMS)
    ]
    on = [*(f"s0.key = s{i}.key" for i in range(1, STREAMS)), *CONDITIONS]
    query = wm.join(*streams, on=on, select=[f"s{i}.ts" for i in range(STREAMS)], buckets=BUCKETS)
    results = query.plan_with(spread_hot_keys=spec["spreads"]).to_dataframe()
    total = F.expr(total_of_results()).alias("total")
    counted = results.observe("sink", F.count(F.lit(1)).alias("results"), total)
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as checkpoint:
        writer = counted.writeStream.format("noop").option("checkpointLocation", checkpoint)
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
        progress = running.recentProgress
        # Before the folder goes, since the state store tidies up in the background.
        spark.stop()
    seen = [one.observedMetrics["sink"] for one in progress if "sink" in one.observedMetrics]
    batches = []
    for one in progress:
        if one.numInputRows:
            (found,) = wm.metrics(one)
            seconds = one.durationMs["triggerExecution"] / 1000
            batches.append(Batch(seconds, found.spread_keys, found.kernel_ms, found.busiest_ms))
    return asdict(Run(sum(one.results for one in seen), sum(one.total or 0 for one in seen), batches))


if __name__ == "__main__":
    answer(_run)
