"""Runs as files beside the checkpoint: written once, mapped where they lie, named by the state.

    <checkpoint>/watersmeet/<bucket of a join>/run17x5be0cd19137e2179       number of the first run x checksum

Through Spark's state a run would pass a socket, Java, RocksDB, its log and the checkpoint. On one host with a
checkpoint on a local disk the worker writes the file itself, before the batch is committed, and the state has
one line about it. A file is as durable as what Spark writes beside it.

The new runs of a batch are one file. Its name follows from what it holds, so two attempts at one batch never
write over each other, and it is removed when no state that Spark still keeps names it: some batches after
the last of its runs has left its window.

Where nobody knows where the checkpoint is (`host.beside`), runs go through Spark's state.
"""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from watersmeet.errors import DamagedRun, SpillFailed
from watersmeet.kernel.blob import blob_checksum, from_blob, write_blobs
from watersmeet.kernel.run import Run
from watersmeet.spark.host.beside import beside_checkpoint
from watersmeet.spark.host.local_runs import allow_many_files
from watersmeet.spark.host.mapped_file import MappedFile
from watersmeet.spark.host.task import Task
from watersmeet.spark.private import make_folders

_NAME = re.compile(r"run(\d+)x[0-9a-f]{16}")
_FOLDER_NAME = re.compile(r"[0-9a-f]{16}-\d+-[0-9a-f]{8}")
# Batches between two looks for files that can go.
_SWEEP_EVERY = 8
# Nobody writes a file for so long.
_DRAFT_SECONDS = 3600

# A batch, and the numbers of files whose last runs have left their windows in it.
Gone = tuple[int, list[int]]


class WrittenRun(NamedTuple):
    """Where a run lies: its file, from where to where, and its checksum."""

    file: str
    offset: int
    length: int
    checksum: int


class _OpenFiles:
    """What a worker has mapped of the files of one bucket, for all its tasks."""

    def __init__(self) -> None:
        self.files: dict[str, MappedFile] = {}
        self.runs: dict[WrittenRun, Run] = {}


_by_folder: OrderedDict[Path, _OpenFiles] = OrderedDict()
# Buckets whose files one worker keeps open.
_OPEN_BUCKETS = 64


def _open_files(folder: Path) -> _OpenFiles:
    if folder not in _by_folder:
        allow_many_files()
        _by_folder[folder] = _OpenFiles()
        if len(_by_folder) > _OPEN_BUCKETS:
            _by_folder.popitem(last=False)
    _by_folder.move_to_end(folder)
    return _by_folder[folder]


class RunFiles:
    """The files of one bucket in a batch.

    Attributes:
        takes_new: Whether new runs are written to files; if not, only those are read that are there.
    """

    def __init__(self, folder: Path, batch: int = 0, *, retained: int = 0, takes_new: bool = True) -> None:
        """Use a folder, which is made when it is first written to.

        Args:
            folder: The folder.
            batch: The number of the batch.
            retained: How many batches Spark keeps states.
            takes_new: See above.
        """
        self.takes_new = takes_new
        self._folder = folder
        self._batch = batch
        self._retained = retained
        self._open = _open_files(folder)
        # Those that were looked at in this batch.
        self._unchanged: set[str] = set()

    def put(self, number: int, runs: Sequence[Run]) -> list[WrittenRun]:
        """Write runs as one file, under the number of the first.

        Raises:
            SpillFailed: It cannot be written.
        """
        draft = self._folder / f".{uuid.uuid4().hex}"
        try:
            make_folders(self._folder, durable=False)
            blobs = write_blobs(runs, draft)
            name = f"run{number}x{_together(blobs):016x}"
            draft.replace(self._folder / name)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise SpillFailed(
                "rows of a window cannot be written beside the checkpoint",
                f"{self._folder}: {error.strerror or error}.",
                "make room there, or let this user write there, and start the query again; it goes on from "
                "its checkpoint.",
            ) from error
        return [WrittenRun(name, *blob) for blob in blobs]

    def get(self, written: WrittenRun) -> Run:
        """Open a run, where it lies.

        Raises:
            DamagedRun: The file is gone, or not what was written.
        """
        file = self._open.files.get(written.file)
        if file is not None and written.file not in self._unchanged:
            if not file.is_unchanged():
                self._close({written.file})
            self._unchanged.add(written.file)
        run = self._open.runs.get(written)
        if run is None:
            run = self._open.runs[written] = self._mapped(written)
        return run

    def open_files(self) -> set[str]:
        """The names of the files that are open."""
        return {written.file for written in self._open.runs}

    def close_others(self, names: set[str]) -> None:
        """Close all files but some."""
        self._close(self._open.files.keys() - names)

    def _close(self, names: Set[str]) -> None:
        if names:
            kept = self._open
            kept.files = {name: file for name, file in kept.files.items() if name not in names}
            kept.runs = {written: run for written, run in kept.runs.items() if written.file not in names}

    def _mapped(self, written: WrittenRun) -> Run:
        try:
            if not _NAME.fullmatch(written.file):
                raise ValueError("that is no name of a file of runs")
            if written.file not in self._open.files:
                self._open.files[written.file] = MappedFile(self._folder / written.file)
                self._unchanged.add(written.file)
            blob = self._open.files[written.file].content[written.offset :][: written.length]
            if len(blob) != written.length or blob_checksum(blob) != written.checksum:
                self._close({written.file})
                raise ValueError("it is not what was written")
            return from_blob(blob)
        except (OSError, ValueError) as error:
            raise DamagedRun(
                f"stored run {written.file} is missing or damaged",
                f"the state names that file in {self._folder}: {error}.",
                "restore the checkpoint from a copy; its folder belongs together as a whole.",
            ) from None

    def let_go(self, gone: list[Gone], files: Iterable[str]) -> list[Gone]:
        """Remove files that no state names any more; returns those that may still be named.

        Args:
            gone: What was returned before.
            files: Those whose last runs have left in this batch.
        """
        numbers = sorted(_number(name) for name in files)
        gone = [*gone, (self._batch, numbers)] if numbers else gone
        last = self._batch - self._retained
        # Now and then, since the folder has to be looked through.
        if gone and gone[0][0] <= last - _SWEEP_EVERY:
            self._remove({number for batch, some in gone if batch <= last for number in some})
            gone = [one for one in gone if one[0] > last]
        return gone

    def _remove(self, gone: set[int]) -> None:
        """Those of attempts that have failed go too, also where they were killed while they wrote."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                with contextlib.suppress(OSError):
                    if _number(path.name) in gone or (path.name.startswith(".") and _is_left_over(path)):
                        path.unlink()


def _is_left_over(draft: Path) -> bool:
    return time.time() - draft.stat().st_mtime > _DRAFT_SECONDS


def _number(file: str) -> int:
    found = _NAME.fullmatch(file)
    return -1 if found is None else int(found[1])


def _together(blobs: Iterable[tuple[int, int, int]]) -> int:
    """One number that follows from what all blobs hold."""
    together = 0
    for _, length, checksum in blobs:
        together = (together * 0x9E3779B97F4A7C15 + length + checksum) & (1 << 64) - 1
    return together


def run_files(task: Task, folder: str) -> RunFiles | None:
    """The files of a bucket in the batch that runs now; None where nobody knows where its checkpoint is.

    Args:
        task: The join.
        folder: The folder that the bucket has had since its first batch.
    """
    beside = beside_checkpoint(task)
    if beside is None:
        return None
    if not _FOLDER_NAME.fullmatch(folder):
        raise DamagedRun(
            "a bucket has a folder that cannot be its own",
            f"it is {folder!r}.",
            "restore the checkpoint from a copy.",
        )
    place = beside.folder / folder
    return RunFiles(place, beside.batch, retained=task.retained, takes_new=task.one_host)


def new_folder(task: Task, bucket: int) -> str:
    """A folder for a bucket that has none, under its checkpoint.

    It is kept in the state: what a join is called changes with the query, and nobody else may have it. A
    first batch that failed has left no state, so it has to find its folder again: files would pile up.
    """
    beside = beside_checkpoint(task)
    join = None if beside is None else beside.join
    own = uuid.uuid4().hex[:8] if join is None else f"{join:08x}"
    return f"{task.name}-{bucket}-{own}"
