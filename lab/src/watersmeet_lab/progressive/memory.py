"""The anonymous memory of the processes below this one, while something runs."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

_EVERY_SECONDS = 0.2
_DAEMONS = {b"watersmeet.spark.daemon", b"pyspark.daemon"}


@dataclass
class Usage:
    """Bytes of all Python workers and of Java together."""

    workers: int
    java: int


def usage() -> Usage:
    """Anonymous resident memory now; pages of files, which the system can take back, do not count."""
    workers = java = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            program, *arguments = (folder / "cmdline").read_bytes().split(b"\0")
            if program.endswith(b"java"):
                java += _line(folder / "status", "RssAnon:")
            elif _DAEMONS.intersection(arguments):
                workers += _shared(folder)
    return Usage(workers, java)


def _shared(folder: Path) -> int:
    """Of what workers share with the process they were forked from, each counts its part."""
    return _line(folder / "smaps_rollup", "Pss_Anon:")


def _line(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


@dataclass
class Peak:
    """The highest usage while it is watched: ``with Peak() as peak``."""

    workers: int = 0
    java: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Peak:
        """Start to watch."""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            now = usage()
            self.workers, self.java = max(self.workers, now.workers), max(self.java, now.java)
