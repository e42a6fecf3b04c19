"""One run of one version: a process of its own that imports Watersmeet from the folder it is told."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryListener

import watersmeet_lab
from watersmeet_lab.apart import answer, run_apart
from watersmeet_lab.compare.processor_time import tree_seconds
from watersmeet_lab.compare.shapes import WARM_BATCHES
from watersmeet_lab.keyed.case import Case, stream_through
from watersmeet_lab.keyed.systems import our_join
from watersmeet_lab.keyed.workload import Workload

_CHECK = "check"


@dataclass(frozen=True)
class Run:
    """What came of a run: processor seconds per row once warm, and what the results were."""

    seconds_per_row: float
    results: int
    checksum: int


def measured(case: Case, source: Path) -> Run:
    """Run a case with the Watersmeet of a source folder, in Java's Python workers as well.

    Args:
        case: What to run.
        source: The folder that has the package.
    """
    lab = Path(watersmeet_lab.__file__).parents[1]
    # Before everything that is installed.
    paths = [str(source), str(lab), *filter(None, [os.environ.get("PYTHONPATH")])]
    spec = {"case": asdict(case), "source": str(source)}
    return Run(**run_apart(__name__, spec, {"PYTHONPATH": os.pathsep.join(paths)}))


class _Meter(StreamingQueryListener):
    """Reads the processor time after every batch, and adds up the checksums."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}
        self.checksum = 0

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self.seconds[event.progress.batchId] = tree_seconds()
        self.checksum += event.progress.observedMetrics[_CHECK]["checksum"] or 0

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    case = Case(**{**spec["case"], "workload": Workload(**spec["case"]["workload"])})
    spark, result = our_join(case)
    for place in (_imported_from(0), *spark.sparkContext.parallelize([0], 1).map(_imported_from).collect()):
        if not place.is_relative_to(spec["source"]):
            raise RuntimeError(f"{place} was imported instead of the package in {spec['source']}")
    # Added up, the order of results does not matter; half of the bits leave room for the sum.
    hashes = F.xxhash64(*(f"s{i}" for i in range(case.workload.streams)))
    checked = result.observe(_CHECK, F.sum(F.shiftrightunsigned(hashes, 32)).alias("checksum"))
    meter = _Meter()
    spark.streams.addListener(meter)
    outcome = stream_through(spark, checked)
    if len(meter.seconds) < case.batches:
        raise RuntimeError(f"{len(meter.seconds)} of {case.batches} batches were reported")
    seconds = meter.seconds[max(meter.seconds)] - meter.seconds[WARM_BATCHES - 1]
    rows = (case.batches - WARM_BATCHES) * case.workload.stream_batch_rows * case.workload.streams
    return asdict(Run(seconds / rows, outcome.results, meter.checksum))


def _imported_from(_: int) -> Path:
    import watersmeet

    return Path(watersmeet.__file__)


if __name__ == "__main__":
    answer(_run)
