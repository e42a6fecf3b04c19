"""Local files of runs, shared by workers and harmed in every way, never change what a worker reads.

Would catch: a mapping that is used after its file was cut, overwritten or replaced, a file that is believed
because its length is right, a run that cannot be had though the state store has it. No Spark needed.
"""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.harm import HARMS, damage, damage_in_place, delete, truncate
from harness.kernel import columns_of
from oracles.reference import Row
from watersmeet.errors import DamagedRun
from watersmeet.kernel.blob import blob_checksum, to_blob
from watersmeet.kernel.run import Run, build_run
from watersmeet.spark.host.local_runs import LocalRuns

# A little more than a page, so that cutting it leaves a part of a page mapped.
ROWS = [Row((f"key {i % 7}",), i, 1000 + i) for i in range(200)]
BLOB = to_blob(build_run(columns_of(ROWS)))

Harm = Callable[[Path], None]


class Worker:
    """A process that keeps runs open; `fetched` counts how often it asked the state store."""

    def __init__(self, folder: Path) -> None:
        self.local_runs = LocalRuns(folder)
        self.fetched = 0

    def fetch(self) -> bytes:
        self.fetched += 1
        return BLOB

    def read(self) -> Run:
        return self.local_runs.get("run", len(BLOB), blob_checksum(BLOB), self.fetch)


def assert_right(run: Run) -> None:
    found = zip(run.times.tolist(), run.columns.column("value").to_pylist(), strict=True)
    assert sorted(found) == [(row.ts, row.value) for row in ROWS]
    assert bytes(to_blob(run)) == BLOB


@given(st.lists(st.sampled_from(["first reads", "second reads", *HARMS]), max_size=12))
@example(["first reads", truncate, delete, "first reads"])
@example(["first reads", truncate, "second reads", "first reads"])
@example(["first reads", damage_in_place, delete, "first reads"])
@example(["first reads", damage, "second reads", damage_in_place, "first reads"])
def test_whatever_happens_to_the_file_a_worker_reads_the_right_rows(story: list[str | Harm]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        workers = {"first reads": Worker(path.parent), "second reads": Worker(path.parent)}
        for step in story:
            if isinstance(step, str):
                assert_right(workers[step].read())
            elif path.exists() and path.stat().st_size:
                written = path.stat().st_mtime
                step(path)
                # Steps of a test are closer together than the clock of a file system can tell.
                if path.exists():
                    os.utime(path, (written + 1, written + 1))
        for worker in workers.values():
            assert_right(worker.read())


def test_one_worker_writes_and_the_others_read(tmp_path: Path) -> None:
    """The state store is asked once, however many workers there are and however often they read."""
    workers = [Worker(tmp_path) for _ in range(3)]
    for _ in range(2):
        for worker in workers:
            assert_right(worker.read())
    assert [worker.fetched for worker in workers] == [1, 0, 0]


def test_a_name_that_two_attempts_gave_to_different_rows(tmp_path: Path) -> None:
    """Whoever asks gets the rows the state means, also with the others open or verified before."""
    other = to_blob(build_run(columns_of(ROWS[:100] + [Row(("new",), 5, 7)] * 100)))
    worker, local_runs = Worker(tmp_path), LocalRuns(tmp_path)
    local_runs.put("run", other)
    for _ in range(2):
        assert bytes(to_blob(local_runs.get("run", len(other), blob_checksum(other), lambda: other))) == other
        assert_right(local_runs.get("run", len(BLOB), blob_checksum(BLOB), lambda: BLOB))
        assert_right(worker.read())


def test_a_run_that_left_the_window_leaves_the_disk(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    worker.local_runs.put("gone", BLOB)
    worker.local_runs.put("run", BLOB)
    worker.local_runs.keep_only({"run"}, ["gone"])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_without_a_folder_runs_stay_in_memory(tmp_path: Path) -> None:
    """As on a full disk; the state store is asked once."""
    (tmp_path / "file").write_text("not a folder")
    worker = Worker(tmp_path / "file" / "folder")
    for _ in range(3):
        assert_right(worker.read())
    assert worker.fetched == 1


@pytest.mark.parametrize("wrong", [BLOB[:-1], BLOB[:-1] + b"?", b""], ids=["short", "changed", "empty"])
def test_a_state_store_that_returns_other_bytes_is_reported(tmp_path: Path, wrong: bytes) -> None:
    with pytest.raises(DamagedRun) as caught:
        LocalRuns(tmp_path).get("run", len(BLOB), blob_checksum(BLOB), lambda: wrong)
    assert caught.value.fact == "stored run run does not match its checksum"
    assert "restore the checkpoint" in caught.value.hint
