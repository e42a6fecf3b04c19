"""Files of a checkpoint, made without a process for each.

Would catch: other permissions than Hadoop's, files without checksums, a file manager that somebody has chosen
and is replaced, a checkpoint that goes on with one of them only, and processes that are started again.
"""

import stat
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness import programs
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows, to_sink
from oracles.reference import assert_same_rows
from watersmeet.spark.settings import FILE_BASED, FILE_MANAGER

OTHER = FILE_BASED.replace("FileSystemBased", "FileContextBased")


def files_of(folder: Path) -> dict[str, str]:
    """The permissions of all files of a checkpoint, those of the state without the names that are random."""
    kept = [path for name in ("offsets", "commits", "sources") for path in (folder / name).rglob("*")]
    kept += (folder / "state").rglob("*.changelog*")
    return {
        str(path.relative_to(folder)): stat.filemode(path.stat().st_mode) for path in kept if path.is_file()
    }


def test_both_write_the_same_files_and_go_on_with_each_others(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get(FILE_MANAGER)
    assert before is not None
    files = []
    scenario = Scenario(tmp_path)
    try:
        for number in range(4):
            spark.conf.set(FILE_MANAGER, (FILE_BASED, OTHER)[number % 2])
            scenario.feed(1)
            to_sink(scenario.query(spark).to_dataframe(), tmp_path)
            chosen = spark.conf.get(FILE_MANAGER)
            assert chosen is not None
            assert chosen == OTHER if number % 2 else "Watersmeet" in chosen
            files.append(files_of(tmp_path / "checkpoint"))
    finally:
        spark.conf.set(FILE_MANAGER, before)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
    new = [{name: one for name, one in later.items() if name not in earlier} for earlier, later in
           zip([{}, *files], files, strict=False)]  # fmt: skip
    assert set(new[2].values()) == set(new[3].values()) == {"-rw-r--r--"}
    assert any(name.startswith("offsets/.") and name.endswith(".crc") for name in new[2])
    assert any(name.endswith(".changelog") for name in new[2])


@pytest.mark.soak
def test_no_process_is_started_for_a_file(tmp_path: Path) -> None:
    said = programs.run("harness.counted_chmod", tmp_path, log=tmp_path / "log.txt")
    counts = dict(line.split(": ") for line in said.splitlines() if line.startswith("chmod of "))
    assert int(counts["chmod of a plain query"]) > 10
    assert int(counts["chmod of a join"]) == 0
