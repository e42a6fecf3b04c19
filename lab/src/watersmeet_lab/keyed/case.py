"""One measured run: a system, a workload on disk, a window. Each runs in a process of its own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet_lab.apart import answer, run_apart
from watersmeet_lab.keyed.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Case:
    """What to run; if `optional`, all streams but the first may be without partners."""

    system: str
    workload: Workload
    root: str
    window_s: float
    key: str = "key"
    batches: int = 8
    cores: int = 2
    optional: bool = False
    options: dict[str, str] = field(default_factory=dict)

    def path(self, stream: int) -> str:
        """The folder of a stream, holding exactly the batches of this case."""
        return str(Path(self.root) / f"s{stream}")


@dataclass
class Batch:
    """One micro-batch as Spark reports it; `held` counts the stored rows where it is known."""

    rows: int
    seconds: float
    results: int
    watermark: str | None = None
    held: int | None = None


@dataclass
class Outcome:
    """What came of a case."""

    results: int
    seconds: float
    batches: list[Batch] = field(default_factory=list)


def measured(case: Case) -> Outcome:
    """Run a case in a process of its own."""
    values = run_apart("watersmeet_lab.keyed.case", asdict(case))
    return Outcome(values["results"], values["seconds"], [Batch(**batch) for batch in values["batches"]])


def stream_through(
    spark: SparkSession, result: DataFrame, held: Callable[[Any], int | None] = lambda _: None
) -> Outcome:
    """Run a streaming DataFrame to the end of its input and count what comes out."""
    from pyspark.sql import functions as F

    counted = result.observe("sink", F.count(F.lit(1)).alias("results"))
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as checkpoint:
        start = time.perf_counter()
        query = (
            counted.writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        seconds = time.perf_counter() - start
        batches = [
            Batch(
                progress.numInputRows,
                progress.durationMs["triggerExecution"] / 1000,
                progress.observedMetrics["sink"]["results"],
                progress.eventTime.get("watermark"),
                held(progress),
            )
            for progress in query.recentProgress
            if "sink" in progress.observedMetrics
        ]
        # Before the folder goes, since the state store tidies up in the background.
        spark.stop()
    return Outcome(sum(batch.results for batch in batches), seconds, batches)


def _run(values: dict[str, Any]) -> dict[str, Any]:
    from watersmeet_lab.keyed.systems import SYSTEMS

    case = Case(**{**values, "workload": Workload(**values["workload"])})
    return asdict(SYSTEMS[case.system](case))


if __name__ == "__main__":
    answer(_run)
