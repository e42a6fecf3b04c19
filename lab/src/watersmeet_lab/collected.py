"""Running a streaming DataFrame to the end of its input, and keeping what comes out."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Collected:
    """What came out, how long it took, and Spark's query, which has ended."""

    results: pa.Table
    seconds: float
    query: Any


def collected(results: DataFrame) -> Collected:
    """Read all that the sources have."""
    parts: dict[int, pa.Table] = {}

    def keep(batch: DataFrame, number: int) -> None:
        # A batch that runs again takes the place of itself.
        parts[number] = batch.toArrow()

    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as checkpoint:
        start = time.perf_counter()
        query = (
            results.writeStream.foreachBatch(keep)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        seconds = time.perf_counter() - start
    return Collected(pa.concat_tables(parts.values()), seconds, query)
