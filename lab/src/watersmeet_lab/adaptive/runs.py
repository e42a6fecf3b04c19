"""One run of the join over the generated streams, with a fixed order or an adapting one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import watersmeet as wm
from watersmeet_lab.adaptive.workload import SCHEMA, Switch
from watersmeet_lab.collected import collected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKETS = 2


@dataclass(frozen=True)
class Run:
    """What came of a run: per half the rows examined and the look-ups, and the changes of paths."""

    examined: tuple[int, int]
    lookups: tuple[int, int]
    changes: int
    results: pa.Table
    explained: str

    @property
    def visits(self) -> tuple[int, int]:
        """Rows examined and look-ups together, per half."""
        return self.examined[0] + self.lookups[0], self.examined[1] + self.lookups[1]


def query_in_order(spark: SparkSession, switch: Switch, root: Path, order: Sequence[str]) -> wm.Query:
    """The join, in which every arriving row visits the others in the given order."""
    streams = [
        wm.stream(
            name,
            spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(root / name)),
            time="ts",
            window=f"{switch.window_s} seconds",
        )
        for name in order
    ]
    kept = [f"{name}.id" for name in switch.names]
    query = wm.join(*streams, on="key", select=kept, buckets=BUCKETS)
    return query.plan_with(optimizer="as_written", adaptive=False)


def run(query: wm.Query, switch: Switch) -> Run:
    """Run the join to the end of its input."""
    ended = collected(query.to_dataframe())
    batches = [join for progress in ended.query.recentProgress for join in wm.metrics(progress)]
    halves = [batches[: switch.half], batches[switch.half :]]
    first, second = ((sum(b.rows_examined for b in half), sum(b.lookups for b in half)) for half in halves)
    return Run(
        (first[0], second[0]),
        (first[1], second[1]),
        sum(batch.path_changes for batch in batches),
        ended.results,
        query.explain(analyze=ended.query),
    )
