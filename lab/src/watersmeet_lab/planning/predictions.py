"""Predictions from a sample against a run: the uniform streams of the keyed benchmark."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import watersmeet as wm
from watersmeet.spark.session import spark_session, workspace
from watersmeet_lab.keyed.workload import Workload, generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Files of a stream that serve as its sample.
_SAMPLED = 2


def compare(workload: Workload, cores: int) -> tuple[str, dict[str, float]]:
    """Run the join; returns the explanation, and by how much the worst predictions are off."""
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as scratch, workspace() as folder:
        root = Path(scratch) / "streams"
        generate(workload, root)
        with spark_session(folder, cores, {}) as spark:
            query = _query(spark, workload, root, cores).analyze(_samples(spark, workload, root))
            running = (
                query.to_dataframe()
                .writeStream.format("noop")
                .option("checkpointLocation", str(Path(scratch) / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            running.awaitTermination()
            text = query.explain(analyze=running)
            facts = json.loads(query.explain(analyze=running, form="json"))
    (operator,) = facts["operators"]
    output = facts["expected"]["output"]["value"] / operator["measured"]["output"]
    return text, {
        "state_rows_off": round(max(map(abs, _state(operator["inputs"]))), 3),
        "output_rate_off": round(abs(output - 1), 3),
    }


def _query(spark: SparkSession, workload: Workload, root: Path, cores: int) -> wm.Query:
    seconds = workload.stream_batch_rows / workload.rate
    streams = [
        wm.stream(
            f"s{i}",
            spark.readStream.schema(workload.schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(root / f"s{i}")),
            time="ts",
            window=f"{workload.window_s} seconds",
        )
        for i in range(workload.streams)
    ]
    known = wm.statistics({}, batch=f"{seconds} seconds")
    return wm.join(*streams, on="key", buckets=cores, statistics=known)


def _samples(spark: SparkSession, workload: Workload, root: Path) -> dict[str, object]:
    reader = spark.read.schema(workload.schema)
    files = [f"{number:05}.parquet" for number in range(_SAMPLED)]
    return {
        f"s{i}": reader.parquet(*[str(root / f"s{i}" / file) for file in files])
        for i in range(workload.streams)
    }


def _state(inputs: list[dict[str, dict[str, dict[str, float]]]]) -> Iterator[float]:
    for part in inputs:
        predicted, measured = part["expected"]["state_rows"]["value"], part["measured"]["state_rows"]
        yield predicted / float(measured) - 1  # type: ignore[arg-type]
