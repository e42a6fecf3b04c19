"""Checkpoints that are kept with the tests, so that later versions go on from what earlier ones wrote.

    python -m harness.kept format-2        with the version, and the Spark, that is to write them

Each folder has the files of the streams, four batches of them, and the checkpoint after two. Spark notes the
files of a stream, and where the schema of the state lies, by their whole paths: a copy is told its own. The
checksums beside files are left out, since they would not fit.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from harness.scenario import Scenario
from harness.streaming import build_session

DATA = Path(__file__).parents[1] / "data" / "checkpoints"
# What a query is, by its name: windows, lateness, and the kind of join.
KINDS: dict[str, tuple[tuple[int, ...], tuple[int, ...], str]] = {
    "inner": ((8, 5, 10), (2, 0, 3), "inner"),
    "full": ((8, 5), (2, 0), "full"),
}
BEFORE, ALL = 2, 4
_HERE = "/FOLDER"


def scenario_of(kind: str, folder: Path) -> Scenario:
    windows, lateness, _ = KINDS[kind]
    return Scenario(folder, windows, lateness, groups=12)


def run(spark: SparkSession, scenario: Scenario, kind: str, **options: Any) -> DataFrame:
    """Read all that is there; returns what came out this time."""
    results = scenario.query(spark, how=KINDS[kind][2], buckets=2).to_dataframe(**options)
    out, checkpoint = str(scenario.folder / "out"), str(scenario.folder / "checkpoint")

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(f"{out}/batch={number}")

    writer = results.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    return spark.read.parquet(out).drop("batch")


def keep(spark: SparkSession, kind: str, name: str) -> None:
    """Write a checkpoint to be kept."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        scenario = scenario_of(kind, folder)
        scenario.feed(BEFORE)
        run(spark, scenario, kind)
        shutil.rmtree(folder / "out")
        scenario.feed(ALL - BEFORE)
        for path in folder.rglob("*.crc"):
            path.unlink()
        _say_folder(folder / "checkpoint", str(folder), _HERE)
        shutil.copytree(folder, DATA / name / kind, dirs_exist_ok=True)


def unpacked(name: str, kind: str, folder: Path) -> Scenario:
    """A copy of one that is kept, and what was fed to it; nothing is run yet."""
    shutil.copytree(DATA / name / kind, folder, dirs_exist_ok=True)
    _say_folder(folder / "checkpoint", _HERE, str(folder))
    # The order of files, which a copy does not keep.
    for file in folder.glob("s*/*.parquet"):
        os.utime(file, (1e9 + int(file.stem), 1e9 + int(file.stem)))
    scenario = scenario_of(kind, folder)
    scenario.batches = [next(scenario._to_come) for _ in range(ALL)]
    return scenario


def _say_folder(checkpoint: Path, before: str, now: str) -> None:
    for file in [*checkpoint.glob("sources/*/*"), *checkpoint.glob("state/*/_metadata/v2/*")]:
        file.write_text(file.read_text().replace(before, now))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as workspace:
        session = build_session(Path(workspace))
        for one in KINDS:
            keep(session, one, sys.argv[1])
        session.stop()
