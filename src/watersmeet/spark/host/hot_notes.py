"""Notes beside the checkpoint by which packers know how rows of hot keys are sent (`kernel.spreading`).

    <checkpoint>/watersmeet/hot-<join>/<bucket>-<batch>        written by a bucket at the end of that batch

Packers keep no state. In batch b they go by the newest note of every bucket from before b, so a batch that
runs again goes by the same notes. The truth is the state of the bucket: it looks in every batch whether
packers went by what it says, and sees to it at the end that the newest note says so too.
"""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from pathlib import Path

from watersmeet.errors import SpillFailed
from watersmeet.kernel.spreading import Route
from watersmeet.spark.host.beside import beside_checkpoint
from watersmeet.spark.host.task import Task
from watersmeet.spark.private import make_folders, put_file

_NAME = re.compile(r"(\d+)-(\d+)")

Routes = tuple[Route, ...]


class HotNotes:
    """The notes of a join in a batch."""

    def __init__(self, folder: Path, batch: int, retained: int) -> None:
        """Use a folder, which is made when it is first written to.

        Args:
            folder: The folder.
            batch: The number of the batch.
            retained: How many batches Spark keeps states.
        """
        self._folder = folder
        self._batch = batch
        self._retained = retained

    def read(self) -> dict[int, Routes]:
        """By bucket what packers go by in this batch; a note that is damaged says nothing."""
        newest: dict[int, int] = {}
        for bucket, batch in self._names():
            if batch < self._batch:
                newest[bucket] = max(batch, newest.get(bucket, 0))
        found = {bucket: self._read(bucket, batch) for bucket, batch in newest.items()}
        return {bucket: routes for bucket, routes in sorted(found.items()) if routes}

    def keep(self, bucket: int, routes: Routes) -> None:
        """See to it that packers of the next batch go by what a bucket says."""
        batches = [batch for of, batch in self._names() if of == bucket and batch <= self._batch]
        said = self._read(bucket, max(batches)) if batches else ()
        if said != routes:
            self.write(bucket, self._batch, routes)
            self._tidy(bucket, batches)

    def repair(self, bucket: int, routes: Routes) -> None:
        """See to it that packers of this batch go by it when it runs again."""
        self.write(bucket, self._batch - 1, routes)

    def write(self, bucket: int, batch: int, routes: Routes) -> None:
        """Leave a note.

        Raises:
            SpillFailed: It cannot be written.
        """
        said = text_of_routes(routes)
        try:
            make_folders(self._folder, durable=False)
            put_file(
                self._folder / f"{bucket}-{batch}",
                f"{zlib.crc32(said.encode())} {said}".encode(),
                durable=False,
            )
        except OSError as error:
            raise SpillFailed(
                "a note about hot keys cannot be written beside the checkpoint",
                f"{self._folder}: {error.strerror or error}.",
                "make room there, or let this user write there, and start the query again; it goes on from "
                "its checkpoint.",
            ) from error

    def _names(self) -> list[tuple[int, int]]:
        try:
            names = [_NAME.fullmatch(path.name) for path in self._folder.iterdir()]
        except OSError:
            return []
        return [(int(name[1]), int(name[2])) for name in names if name is not None]

    def _read(self, bucket: int, batch: int) -> Routes:
        try:
            checksum, said = (self._folder / f"{bucket}-{batch}").read_text().split(" ", 1)
            return routes_of_text(said) if int(checksum) == zlib.crc32(said.encode()) else ()
        except (OSError, ValueError, TypeError):
            return ()

    def _tidy(self, bucket: int, batches: list[int]) -> None:
        """Remove what no batch that Spark can go back to goes by."""
        old = sorted(batch for batch in batches if batch < self._batch - self._retained)
        for batch in old[:-1]:
            with contextlib.suppress(OSError):
                (self._folder / f"{bucket}-{batch}").unlink()


def text_of_routes(routes: Routes) -> str:
    """Routes as they are written and sent."""
    return json.dumps(routes)


def routes_of_text(text: str) -> Routes:
    """The routes of a text."""
    return tuple(Route(int(key), int(dealt), bool(deals)) for key, dealt, deals in json.loads(text))


def hot_notes(task: Task) -> HotNotes | None:
    """The notes of a join in the batch that runs now; None where nobody knows where they are."""
    beside = beside_checkpoint(task) if task.spreads_keys else None
    if beside is None or beside.join is None:
        return None
    return HotNotes(beside.folder / f"hot-{beside.join}", beside.batch, task.retained)
