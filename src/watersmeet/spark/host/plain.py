"""The same join on plain DataFrames: each bucket is one group, seen once, with nothing to remember."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa

from watersmeet.errors import SpillFailed
from watersmeet.kernel.blob import blob_checksum, to_blob
from watersmeet.kernel.bucket import END_OF_TIME, Bucket
from watersmeet.kernel.ipc import from_ipc
from watersmeet.kernel.window import StoredRun
from watersmeet.spark.host.arrivals import Arrivals
from watersmeet.spark.host.ledger import Ledger
from watersmeet.spark.host.local_runs import LocalRuns, local_folder
from watersmeet.spark.host.mail_books import MailBooks
from watersmeet.spark.host.output import output_of, result_ids
from watersmeet.spark.host.processor import Stopwatch, Worked, counted_once, function_metrics, worked
from watersmeet.spark.host.task import Task


def join_group(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join the packed rows of one group."""
    output = output_of(task)
    labels: set[int] = set()
    arrived = Arrivals.of(_rows(batches, labels))
    label = labels.pop()
    if label == task.ledger:
        yield from output.heartbeats()
        yield from map(output.set_aside, map(from_ipc, arrived.aside))
        reports = [json.loads(bytes(blob)) for some in arrived.blobs.values() for blob in some]
        yield output.metrics(Ledger(task.identity).add(reports))
        return
    number = task.labels.index(label)
    names = count()
    bucket = task.maker(number, lambda: str(next(names)))
    watch = Stopwatch()
    ids = result_ids(task, number, 0)
    with ExitStack() as at_the_end:
        if task.memory is not None:
            bucket.use_files(at_the_end.enter_context(ScratchFiles()))
        for block in watch.over(_outcome(task, bucket, arrived)):
            yield output.results(block, ids)  # type: ignore[arg-type] # plain joins send no messages, and no row is late
    values = counted_once(task, number, bucket.take_metrics()) | function_metrics(task)
    yield output.metrics(values | {"buckets": 1, "kernel_us": watch.spent_us})


def _rows(batches: Iterator[pa.RecordBatch], labels: set[int]) -> Iterator[tuple[int, pa.Buffer | None]]:
    """Inputs and blobs; the label of the group is noted on the way."""
    for batch in batches:
        for row in range(batch.num_rows):
            labels.add(batch.column(0)[row].as_py())
            blob = batch.column(2)[row]
            yield batch.column(1)[row].as_py(), blob.as_buffer() if blob.is_valid else None


def _outcome(task: Task, bucket: Bucket, arrived: Arrivals) -> Worked:
    """All of it as one batch; where memory is limited blob by blob, from each input in turn, as a stream."""
    ends = set(range(len(task.inputs)))
    if task.memory is None:
        yield from worked(task, bucket, replace(arrived, ended=ends), MailBooks(), "")
    else:
        while any(arrived.blobs.values()):
            some = {number: [blobs.pop(0)] for number, blobs in arrived.blobs.items() if blobs}
            yield from worked(task, bucket, Arrivals(some), MailBooks(), "")
            yield from bucket.on_batch(0)
        for number in sorted(ends):
            yield from bucket.on_end(number)
    yield from bucket.on_batch(END_OF_TIME)


class ScratchFiles:
    """Files for runs that do not fit in memory, gone at the end."""

    def __enter__(self) -> ScratchFiles:
        """Make a folder."""
        parent = local_folder()
        parent.mkdir(parents=True, exist_ok=True)
        self._folder = tempfile.TemporaryDirectory(dir=parent)
        self._runs = LocalRuns(Path(self._folder.name), strict=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self._folder.cleanup()

    def put_away(self, stored: StoredRun, schema: pa.Schema) -> StoredRun:
        """Write a run; returns it as one that is in its file only."""
        del schema
        blob = to_blob(stored.run)
        self._runs.put(stored.id, blob)
        found = partial(self._runs.get, stored.id, len(blob), blob_checksum(blob), _gone)
        return replace(stored, open=found)

    def open_runs(self) -> set[str]:
        """The names of the runs that are open."""
        return self._runs.open_runs()

    def close_others(self, names: set[str]) -> None:
        """Close all runs but some."""
        self._runs.close_others(names)


def _gone() -> bytes:
    raise SpillFailed(
        "rows that were put on disk are damaged or gone",
        "a local file is not what was written.",
        "see to it that nobody else writes to Spark's local directories, and run the query again.",
    )
