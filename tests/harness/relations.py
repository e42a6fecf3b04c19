"""Two relations without windows that arrive file by file, and their join; also as a program to be killed.

    python -m harness.relations <folder> run|finish

The rows are read from the folder, the results and the checkpoint are written beside them.
"""

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm

SCHEMA = "k string, v bigint, ts timestamp"
START_US = 1_700_000_000_000_000


class Relations:
    """Two relations that arrive file by file, and what their join is."""

    def __init__(self, root: Path, *, keys: int = 200, rows: int = 1200) -> None:
        self.root, self.keys, self.rows = root, keys, rows
        self.random = np.random.default_rng(7)
        self.sent: dict[str, list[int]] = {"a": [], "b": []}
        for name in self.sent:
            (root / name).mkdir(exist_ok=True)

    def send(self, *names: str) -> None:
        """One more file of each."""
        for name in names:
            first = len(self.sent[name])
            # Some keys are frequent on one side and rare on the other.
            drawn = self.random.random(self.rows) ** (2 if name == "a" else 0.5)
            keys = (drawn * self.keys).astype(int)
            self.sent[name] += keys.tolist()
            times = START_US + 1000 * np.arange(first, first + self.rows)
            table = pa.table(
                {
                    "k": pa.array([f"key {key}" for key in keys]),
                    "v": pa.array(np.arange(first, first + self.rows)),
                    "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                }
            )
            waiting = self.root / f"{name}.{first}"
            pq.write_table(table, waiting)
            waiting.rename(self.root / name / f"{first:09}.parquet")

    def query(self, spark: SparkSession, *, plain: bool = False, memory: str = "1100 kB") -> wm.Query:
        reader = spark.read.schema(SCHEMA) if plain else spark.readStream.schema(SCHEMA)
        streams = [
            wm.stream(name, reader.parquet(str(self.root / name)), time="ts", window=wm.UNBOUNDED)
            for name in self.sent
        ]
        query = wm.join(*streams, on="k", memory=memory, buckets=4)
        return query.plan_memory(tick="0.2 seconds")

    @staticmethod
    def pairs(results: DataFrame) -> Counter[tuple[int, int]]:
        table = results.select("a.v", "b.v").toArrow()
        return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def expected(self, **most: int) -> Counter[tuple[int, int]]:
        """All pairs, of the first rows of a stream where it says how many."""
        by_key: dict[int, list[int]] = {}
        for row, key in enumerate(self.sent["b"][: most.get("b")]):
            by_key.setdefault(key, []).append(row)
        return Counter(
            (row, other)
            for row, key in enumerate(self.sent["a"][: most.get("a")])
            for other in by_key.get(key, [])
        )


def main() -> None:
    """Run the query with a sink that writes every batch exactly once, for ever or until its streams end."""
    from harness.streaming import build_session

    folder, mode = Path(sys.argv[1]), sys.argv[2]
    spark = build_session(folder / "scratch" / mode)
    query = Relations(folder).query(spark)
    results = query.to_dataframe().selectExpr("a.v AS a", "b.v AS b")
    writer = results.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.start(str(folder / "results"), format="parquet")
    if mode == "finish":
        query.finish(running, timeout=200)
        running.stop()
        spark.stop()
        return
    while running.isActive:
        time.sleep(1)


if __name__ == "__main__":
    main()
