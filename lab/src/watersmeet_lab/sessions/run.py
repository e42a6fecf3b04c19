"""One join of three streams, in a session with some of the settings; run in a process of its own."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import watersmeet as wm
from watersmeet.spark.settings import DAEMON, DRIVER_JAVA, PARTITIONS, recommended_settings
from watersmeet_lab.apart import answer, session_apart
from watersmeet_lab.compare.processor_time import tree_seconds

_CORES = 2
_START = 1_750_000_000_000_000
_MINUTE = 60_000_000
_STORE = "spark.sql.streaming.stateStore.providerClass"
_EXECUTOR_JAVA = "spark.executor.extraJavaOptions"

# What a way to build a session leaves out, or has instead.
LACKS = {"everything": (), "no daemon": (DAEMON,), "minimal": (DAEMON, DRIVER_JAVA, _EXECUTOR_JAVA)}
ONLY = {"as the error asks": str(_CORES), "store alone": "200"}


def settings_of(way: str) -> dict[str, str]:
    """The settings of a session built in some way."""
    settings = recommended_settings(cores=_CORES)
    if way in ONLY:
        return {_STORE: settings[_STORE], PARTITIONS: ONLY[way]}
    return {name: value for name, value in settings.items() if name not in LACKS[way]}


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Run the join, and count per batch after the first."""
    folder = Path(os.environ["TMPDIR"])
    names = ("orders", "payments", "parcels")
    for name in names:
        _write(folder / name, spec["batches"], spec["rows"])
    spark = session_apart(_CORES, settings_of(spec["way"]))
    schema = "id bigint, ts timestamp, v bigint"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    streams = [
        wm.stream(name, reader.parquet(str(folder / name)), time="ts", window="2 minutes") for name in names
    ]
    seen: list[tuple[float, float]] = []

    def sink(results: Any, _: int) -> None:
        results.write.format("noop").mode("append").save()
        seen.append((time.monotonic(), tree_seconds(os.getpid())))

    started = time.monotonic()
    writer = wm.join(*streams, on="id").to_dataframe().writeStream.foreachBatch(sink)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()
    batches = len(seen) - 1
    return {
        "first_s": seen[0][0] - started,
        "clock_s": (seen[-1][0] - seen[0][0]) / batches,
        "processor_s": (seen[-1][1] - seen[0][1]) / batches,
    }


def _write(folder: Path, batches: int, rows: int) -> None:
    folder.mkdir()
    numbers = random.Random(folder.name)  # noqa: S311
    for batch in range(batches):
        times = [_START + batch * _MINUTE + row * _MINUTE // rows for row in range(rows)]
        table = pa.table(
            {
                "id": pa.array([numbers.randrange(rows) for _ in range(rows)], pa.int64()),
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                "v": pa.array(range(rows), pa.int64()),
            }
        )
        file = folder / f"{batch:04d}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1e9 + batch, 1e9 + batch))


if __name__ == "__main__":
    answer(measure)
