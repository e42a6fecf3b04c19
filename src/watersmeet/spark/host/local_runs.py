"""Runs at hand: memory-mapped files shared by the Python workers of a host.

RocksDB holds the truth; fetching and decoding a window from it would cost a second per batch, and a
bucket moves between pooled workers, so a cache inside one worker does not help. Blobs of runs therefore
also lie in local files that any worker maps without copying.

A file is never trusted. It appears by rename, and two attempts at one batch may give its name to different
rows: the state says which are meant. Its checksum is verified when a worker first opens it and whenever the
file or what is expected of it has changed since; the size comes first, because touching a page
beyond the end of a mapped file kills the process. Whatever is missing, short or damaged is taken from
RocksDB again. When the disk is full the blob stays in the worker's memory.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from watersmeet.errors import DamagedRun, SpillFailed
from watersmeet.kernel.blob import blob_checksum, from_blob
from watersmeet.kernel.run import Run
from watersmeet.spark.host.mapped_file import MappedFile, Stamp
from watersmeet.spark.private import make_folders, own_name, private_folder, put_file

# Files of attempts that failed are nobody's: they go when they are this old and unknown.
_ORPHAN_SECONDS = 600
_SWEEP_EVERY_SECONDS = 60
# Buckets whose runs one worker keeps open.
_OPEN_BUCKETS = 64


class LocalRuns:
    """The runs of one bucket on this host."""

    def __init__(self, folder: Path, *, strict: bool = False) -> None:
        """Use `folder`, which is created when first written to.

        When it cannot be written to, blobs stay in memory; `strict` is for those that have no room there.
        """
        self._folder = folder
        self._strict = strict
        self._open: dict[str, _OpenRun] = {}
        # How files looked when they were verified, and against what, also of runs that were closed since.
        self._verified: dict[str, tuple[Stamp, int]] = {}
        self._swept = time.monotonic()

    def get(self, name: str, length: int, checksum: int, fetch: Callable[[], bytes]) -> Run:
        """The run of that name, from memory, from its file, or from `fetch`."""
        path = self._path(name)
        cached = self._open.get(name)
        # Another attempt at a batch may have given the name to other rows.
        if cached is not None and cached.checksum == checksum and cached.is_unchanged():
            return cached.run
        mapped = self._map(path, length, checksum)
        if mapped is None:
            blob = fetch()
            if len(blob) != length or blob_checksum(blob) != checksum:
                raise DamagedRun(
                    f"stored run {name} does not match its checksum",
                    "the state store returned other bytes than were written.",
                    "restore the checkpoint from a copy.",
                )
            self.put(name, blob)
            mapped = self._map(path, length, checksum) or _OpenRun(from_blob(blob), checksum)
        self._open[name] = mapped
        return mapped.run

    def put(self, name: str, blob: bytes) -> None:
        """Write a blob under a new name, for whichever worker needs it next."""
        path = self._path(name)
        try:
            make_folders(self._folder, durable=False)
            put_file(path, blob, durable=False)
        except OSError as error:
            # A full or unwritable disk costs speed, not results.
            if self._strict:
                raise SpillFailed(
                    "rows that do not fit in memory cannot be written to disk",
                    f"{len(blob):,} bytes: {error.strerror or error}.",
                    "make room in Spark's local directories (spark.local.dir) and start the query again; it "
                    "goes on from its checkpoint.",
                ) from error

    def open_runs(self) -> set[str]:
        """The names of the runs that are open."""
        return set(self._open)

    def close_others(self, names: set[str]) -> None:
        """Close all runs but some; their files stay."""
        for name in [name for name in self._open if name not in names]:
            del self._open[name]

    def keep_only(self, names: set[str], removed: list[str]) -> None:
        """Close and delete the runs that left the window, and now and then sweep the folder.

        An attempt that starts from the state before this batch finds them in RocksDB.
        """
        self.close_others(names)
        self._verified = {name: stamp for name, stamp in self._verified.items() if name in names}
        for name in removed:
            with contextlib.suppress(OSError):
                self._path(name).unlink()
        if time.monotonic() - self._swept > _SWEEP_EVERY_SECONDS:
            self._swept = time.monotonic()
            self._sweep(names)

    def _path(self, name: str) -> Path:
        """Where a run lies; the name comes from the state, and must not lead elsewhere."""
        if not name.isalnum():
            raise DamagedRun(
                "a stored run has a name that cannot be one",
                f"it is {name!r}, and names are letters and digits.",
                "restore the checkpoint from a copy.",
            )
        return self._folder / name

    def _sweep(self, names: set[str]) -> None:
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                with contextlib.suppress(OSError):
                    if path.name not in names and time.time() - path.stat().st_mtime > _ORPHAN_SECONDS:
                        path.unlink()

    def _map(self, path: Path, length: int, checksum: int) -> _OpenRun | None:
        try:
            file = MappedFile(path, length)
            if self._verified.get(path.name) != (file.stamp, checksum):
                if blob_checksum(file.content) != checksum:
                    return None
                self._verified[path.name] = file.stamp, checksum
            return _OpenRun(from_blob(file.content), checksum, file)
        except (OSError, ValueError, DamagedRun):
            return None


class _OpenRun(NamedTuple):
    """A run in use, with its file unless it lies in memory."""

    run: Run
    checksum: int
    file: MappedFile | None = None

    def is_unchanged(self) -> bool:
        """Whether the bytes are still those that were verified."""
        return self.file is None or self.file.is_unchanged()


_by_folder: OrderedDict[Path, LocalRuns] = OrderedDict()


def local_folder() -> Path:
    """Where files may lie on this host: Spark's own scratch directory, which Spark removes at its end.

    Raises:
        UnsafeFolder: Others could read or change what lies there.
    """
    root = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or os.environ.get("TMPDIR", "/tmp")  # noqa: S108
    folder = Path(root) / own_name()
    # Where it cannot be made, nothing can be written, and runs stay in memory.
    with contextlib.suppress(OSError):
        private_folder(folder)
    return folder


def local_runs_for(query_id: str, join: str, bucket: int, *, strict: bool = False) -> LocalRuns:
    """The local runs of a bucket of one of the query's joins, shared by all tasks this worker runs."""
    folder = local_folder() / query_id / join / str(bucket)
    runs = _by_folder.get(folder)
    if runs is None:
        allow_many_files()
        runs = _by_folder[folder] = LocalRuns(folder, strict=strict)
        if len(_by_folder) > _OPEN_BUCKETS:
            _by_folder.popitem(last=False)
    _by_folder.move_to_end(folder)
    return runs


def allow_many_files() -> None:
    """Every mapped run holds a file open, and the usual limit of 1,024 is meant to be raised by programs."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
