"""One run of one shape on one system, in a process of its own."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from watersmeet_lab.apart import answer, run_apart
from watersmeet_lab.compare.processor_time import seconds_by_program
from watersmeet_lab.shapes.shapes import FIRST_MEASURED, Shape
from watersmeet_lab.shapes.systems import SYSTEMS, Place


@dataclass(frozen=True)
class Run:
    """What came of a run.

    Attributes:
        results: How many results there were.
        seconds: Of every batch, on the clock.
        rows: Of every batch.
        first_commit: Seconds from the start of the process until the first batch was committed.
        processor: Processor seconds per measured batch, by program.
    """

    results: int
    seconds: list[float]
    rows: list[int]
    first_commit: float
    processor: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Rows per second, from the first measured batch on."""
        return sum(self.rows[FIRST_MEASURED:]) / sum(self.seconds[FIRST_MEASURED:])


def measured(system: str, shape: Shape, place: Place, cores: int) -> Run:
    """Run a shape on a system."""
    spec = {
        "system": system,
        "shape": asdict(shape),
        "place": {**asdict(place), "root": str(place.root)},
        "cores": cores,
        "started": time.time(),
    }
    return Run(**run_apart(__name__, spec))


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    from pyspark.sql import functions as F

    shape = Shape(**spec["shape"])
    place = Place(**{**spec["place"], "root": Path(spec["place"]["root"])})
    joined = SYSTEMS[spec["system"]](shape, place, spec["cores"])
    spark = joined.sparkSession
    counted = joined.observe("sink", F.count(F.lit(1)).alias("results"))
    # The state store of a session that has stopped may still write into it.
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-", ignore_cleanup_errors=True) as checkpoint:
        writer = counted.writeStream.format("noop").option("checkpointLocation", checkpoint)
        commits = Path(checkpoint) / "commits"
        query = writer.trigger(availableNow=True).start()
        before = _seconds_when(commits / str(FIRST_MEASURED - 1), query)
        after = _seconds_when(commits / str(shape.batches - 1), query)
        query.awaitTermination()
        progress = [one for one in query.recentProgress if one.numInputRows]
        results = sum(one.observedMetrics["sink"]["results"] for one in query.recentProgress)
        first_commit = (commits / "0").stat().st_mtime - spec["started"]
        # Before the folder goes, since the state store tidies up in the background.
        spark.stop()
    if len(progress) != shape.batches:
        raise RuntimeError(f"{len(progress)} batches instead of {shape.batches}")
    batches = shape.batches - FIRST_MEASURED
    return asdict(
        Run(
            results,
            [one.durationMs["triggerExecution"] / 1000 for one in progress],
            # Spark counts files where the workers open them.
            [shape.stream_batch_rows * shape.streams] * shape.batches,
            first_commit,
            {name: (after[name] - before.get(name, 0)) / batches for name in after},
        )
    )


def _seconds_when(file: Path, query: Any) -> dict[str, float]:
    """The processor time when a file appears, or the query has ended; a listener would take some itself."""
    while query.isActive and not file.exists():
        time.sleep(0.05)
    return seconds_by_program()


if __name__ == "__main__":
    answer(_run)
