"""What one would write without a join operator: windows as files, and a cross join for every batch.

    new a x (old b + new b),  old a x new b       then the windows are written anew, less what is too old

Written as well as we can: candidates are cut down by time before the function sees them, the function is
vectorised, and the work is spread over all cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from watersmeet_lab.generic.workload import SCHEMA, Cameras, similar

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Column, DataFrame, SparkSession


class ByHand:
    """Two cameras.

    Attributes:
        found: The pairs found so far.
        seconds: What every batch took.
    """

    def __init__(self, spark: SparkSession, cameras: Cameras, folder: Path, cores: int) -> None:
        """Start with empty windows."""
        self._spark, self._cameras, self._folder, self._cores = spark, cameras, folder, cores
        self._windows: dict[str, str] = {}
        self.found: list[tuple[int, ...]] = []
        self.seconds: list[float] = []

    def run(self, sources: dict[str, DataFrame]) -> float:
        """Read the streams to their ends; returns the seconds that took."""
        tagged = [source.withColumn("camera", F.lit(name)) for name, source in sources.items()]
        together = reduce(lambda one, other: one.unionAll(other), tagged)
        start = time.perf_counter()
        running = (
            together.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        return time.perf_counter() - start

    def _batch(self, rows: DataFrame, number: int) -> None:
        start = time.perf_counter()
        rows = rows.persist()
        first, second = self._cameras.names
        new = {name: rows.filter(F.col("camera") == name).drop("camera") for name in (first, second)}
        old = {name: self._window(name) for name in (first, second)}
        pairs = self._pairs(new[first], old[second].unionAll(new[second]))
        pairs = pairs.unionAll(self._pairs(old[first], new[second]))
        self.found += [(row[0], row[1]) for row in pairs.collect()]
        self._store(old, new, number)
        rows.unpersist()
        self.seconds.append(time.perf_counter() - start)

    def _pairs(self, left: DataFrame, right: DataFrame) -> DataFrame:
        span = F.expr(f"INTERVAL {self._cameras.window_s} SECONDS")
        one, other = left.alias("l"), right.alias("r")
        near = (F.col("l.ts") <= F.col("r.ts") + span) & (F.col("r.ts") <= F.col("l.ts") + span)
        # The smaller side is spread, the other one goes to every core.
        spread = one.repartition(self._cores).crossJoin(F.broadcast(other)).filter(near)
        return spread.filter(_similar_images()(F.col("l.image"), F.col("r.image"))).select("l.id", "r.id")

    def _window(self, name: str) -> DataFrame:
        path = self._windows.get(name)
        return self._spark.createDataFrame([], SCHEMA) if path is None else self._spark.read.parquet(path)

    def _store(self, old: dict[str, DataFrame], new: dict[str, DataFrame], number: int) -> None:
        for name, rows in old.items():
            everything = rows.unionAll(new[name])
            newest = everything.agg(F.max("ts")).first()
            assert newest is not None
            span = F.expr(f"INTERVAL {self._cameras.window_s} SECONDS")
            path = str(self._folder / f"{name}-{number}")
            everything.filter(F.col("ts") + span >= F.lit(newest[0])).write.parquet(path)
            self._windows[name] = path


def _similar_images() -> Callable[..., Column]:
    import numpy as np
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def judge(left: pd.Series, right: pd.Series) -> pd.Series:
        one, other = (np.frombuffer(b"".join(s), np.uint8).reshape(len(s), -1) for s in (left, right))
        return pd.Series(similar(one, other))

    # Written out, since Spark reads the annotations as objects.
    judge.__annotations__ = {"left": pd.Series, "right": pd.Series, "return": pd.Series}
    made: Callable[..., Column] = pandas_udf(judge, "boolean")  # type: ignore[call-overload]
    return made
