"""The same join on plain DataFrames: all rows come at once, and what does not fit waits in local files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from watersmeet.cost.progressive import recent_volume
from watersmeet.errors import SpillFailed
from watersmeet.kernel.blob import blob_checksum, to_blob
from watersmeet.kernel.progressive.bucket import ProgressiveBucket
from watersmeet.kernel.results import Results
from watersmeet.kernel.window import StoredRun
from watersmeet.spark.blobs import unpack
from watersmeet.spark.shelf import Shelf, local_folder
from watersmeet.spark.task import JoinTask


def join_all(task: JoinTask, blobs: dict[int, list[Any]], bucket: ProgressiveBucket) -> Iterator[Results]:
    """Everything a bucket gets, blob by blob from each side in turn, and what is left at the end."""
    with tempfile.TemporaryDirectory(dir=local_folder()) as folder:
        shelf = Shelf(Path(folder), strict=True)
        bucket.store.put_away = partial(_put_away, shelf)
        bucket.store.close_disk = lambda: shelf.close_others(bucket.resident)
        waiting = {number: list(some) for number, some in blobs.items()}
        while any(waiting.values()):
            for number, some in waiting.items():
                if some:
                    yield from bucket.on_rows(number, unpack([some.pop(0)], task.spec(number)))
            bucket.join.books.end_unit(recent_volume)
        for side in (0, 1):
            bucket.on_end(side)
        yield from bucket.on_batch(recent_volume)


def _put_away(shelf: Shelf, _side: int, stored: StoredRun) -> StoredRun:
    blob = to_blob(stored.run)
    shelf.put(stored.id, blob)
    length, checksum = len(blob), blob_checksum(blob)
    return replace(stored, open=lambda: shelf.get(stored.id, length, checksum, _gone))


def _gone() -> bytes:
    raise SpillFailed(
        "rows that were put on disk are damaged or gone",
        "a local file is not what was written.",
        "see to it that nobody else writes to Spark's local directories, and run the query again.",
    )
