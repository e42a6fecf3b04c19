"""The durable state of one bucket: a map with a manifest and what it lists.

    "manifest"    identity of the query, the runs of every window, the timer, values of the bucket
    run name      blob, unless it lies in a file beside the checkpoint (`host.run_files`)
    value name    a value that is kept apart

A batch reads the manifest, puts the new blobs, removes the expired ones and writes the manifest, so the
cost follows the batch. All of it is committed by Spark together with the batch, or not at all. It is one
map because every state variable costs Spark some milliseconds per task.

A bucket whose values are most of its state has each of them kept apart: what is still the same object as in
the batch before is in the map already. The worker that ran the batch before has such a bucket in memory; any
other reads it from the map.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from watersmeet.errors import DamagedRun
from watersmeet.kernel.blob import blob_checksum, to_blob
from watersmeet.kernel.bucket import Bucket
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.judge import Answers
from watersmeet.kernel.run import Run, replace_columns
from watersmeet.kernel.stored import stored_as
from watersmeet.kernel.time_slices import TimeSlice
from watersmeet.kernel.window import StoredRun
from watersmeet.optimize.adapt import Remembered
from watersmeet.spark.host.local_runs import LocalRuns
from watersmeet.spark.host.mail_books import MailBooks
from watersmeet.spark.host.run_files import Gone, RunFiles, WrittenRun, new_folder, run_files
from watersmeet.spark.host.task import Task

# Spelt out: of a text Spark asks Java what it means, for every task.
KEY_SCHEMA = StructType([StructField("id", StringType())])
VALUE_SCHEMA = StructType([StructField("blob", BinaryType())])
MANIFEST = ("manifest",)
# Under this name a run has itself with the columns that were added since it was written.
_WITH_COLUMNS = "with columns", ()

# Its layer knows nothing of how state is written.
stored_as("paths")(Remembered)


@stored_as("run")
@dataclass
class RunEntry:
    """One line of the manifest."""

    id: str
    width: int
    number: int
    rows: int
    earliest: int
    end: int
    length: int
    checksum: int
    size: int
    # The file beside the checkpoint that has it, and where; empty where the map has it.
    file: str = ""
    offset: int = 0


@stored_as("manifest")
@dataclass
class Manifest:
    """What a bucket remembers between batches.

    Attributes:
        identity: Which query it is.
        windows: The runs of every window.
        timer_ms: The timer that is set.
        values: What the bucket keeps beside its runs.
        apart: The names of values that are kept apart.
        answers: What is known about functions from asking them, by their texts.
        mail: What was read and sent.
        named: How many names were given to runs.
        version: Different after every batch, where the bucket stays in memory.
        batches_with_ids: How many batches have had results with ids: ids of the next one follow from it.
        folder: Where its files lie, under the checkpoint.
        gone: Files that earlier states may name: the batch their last run has left in, and their numbers.
    """

    identity: str
    windows: list[list[RunEntry]] = field(default_factory=list)
    timer_ms: int | None = None
    values: dict[str, Any] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    answers: dict[str, Answers] = field(default_factory=dict)
    mail: MailBooks = field(default_factory=MailBooks)
    named: int = 0
    version: str = ""
    batches_with_ids: int = 0
    folder: str = ""
    gone: list[Gone] = field(default_factory=list)


class _InMemory(NamedTuple):
    """A bucket as it was after the batch this worker ran last."""

    version: str
    bucket: Bucket
    kept: dict[str, Any]


# Those of queries that have ended go when others come.
_in_memory: OrderedDict[tuple[str, str, str], _InMemory] = OrderedDict()
_MOST_IN_MEMORY = 64


class BucketState:
    """Reads and writes the state of one bucket through Spark's state handles."""

    def __init__(self, blobs: Any, local_runs: LocalRuns, identity: str) -> None:
        """Load the manifest of the current group from Spark's map state."""
        self._blobs = blobs
        self._local_runs = local_runs
        # Runs beside the checkpoint; None where nobody knows where that is.
        self._files: RunFiles | None = None
        # Runs that were written before the end of the batch.
        self._written: dict[str, RunEntry] = {}
        # Those that were there before it.
        self._known: set[str] = set()
        # Those that were looked into in it.
        self._opened: dict[str, Run] = {}
        # Values that are kept apart, as they were before it.
        self._kept: dict[str, Any] = {}
        stored = blobs.getValue(MANIFEST)
        self.manifest: Manifest = Manifest(identity) if stored is None else decode(stored[0], Manifest)

    def use_run_files(self, task: Task, number: int) -> None:
        """Keep runs in files, if somebody has said where the checkpoint is."""
        self.manifest.folder = self.manifest.folder or new_folder(task, number)
        self._files = run_files(task, self.manifest.folder)

    def bucket(self, task: Task, number: int, query: str) -> Bucket:
        """The bucket as it was after the last batch.

        Args:
            task: The join.
            number: Which bucket.
            query: What Spark calls the query.
        """
        if task.kind.stays_in_memory:
            # Taken out while it changes: if this batch fails, it must not be found as it was left.
            found = _in_memory.pop((query, task.name, task.buckets[number]), None)
            if found is not None and found.version == self.manifest.version:
                self._kept = found.kept
                return found.bucket
        bucket = task.maker(number, self.new_name)
        self._open_windows(bucket, [spec.kept for spec in task.inputs])
        self._kept = {name: self._value(name) for name in self.manifest.apart}
        bucket.load(self.manifest.values | self._kept)
        return bucket

    def save(self, bucket: Bucket, task: Task, number: int, query: str) -> None:
        """Persist what changed."""
        self._save_windows(bucket)
        kept = bucket.save()
        if task.kind.stays_in_memory:
            self._save_apart(kept)
            self.manifest.version = uuid.uuid4().hex
            _in_memory[query, task.name, task.buckets[number]] = _InMemory(
                self.manifest.version, bucket, kept
            )
            while len(_in_memory) > _MOST_IN_MEMORY:
                _in_memory.popitem(last=False)
        else:
            self.manifest.values = kept
        self.manifest.identity = task.identity
        self._blobs.updateValue(MANIFEST, (encode(self.manifest),))

    def put_away(self, stored: StoredRun, schema: pa.Schema) -> StoredRun:
        """Write a run now instead of at the end of the batch; returns it as one that is in its file only."""
        if stored.id in self._known:
            return stored
        self._write([stored])
        return replace(stored, open=partial(self._open, self._written[stored.id], schema))

    def new_name(self) -> str:
        """A name for a new run.

        Spark may run a batch twice and keep pieces of both: a snapshot of one, the changes since then of the
        other. So what both do must have the same names, and these follow from the state. A file that has
        the name and other bytes is known by its checksum.
        """
        self.manifest.named += 1
        return f"run{self.manifest.named}"

    def open_runs(self) -> set[str]:
        """The names of the runs that are open."""
        opened = self._local_runs.open_runs()
        if self._files is not None:
            files = self._files.open_files()
            opened |= {entry.id for entry in self._all_entries() if entry.file in files}
        return opened

    def close_others(self, names: set[str]) -> None:
        """Close all runs but some."""
        self._opened = {}
        self._local_runs.close_others(names)
        if self._files is not None:
            self._files.close_others({entry.file for entry in self._all_entries() if entry.id in names})

    def entries(self, bucket: Bucket, number: int) -> list[RunEntry]:
        """The lines about the rows of one input."""
        windows = zip(bucket.stored, self.manifest.windows, strict=True)
        return [entry for stored, entries in windows if stored == number for entry in entries]

    def _open_windows(self, bucket: Bucket, inputs: list[pa.Schema]) -> None:
        """Give the bucket its windows; runs are opened when they are first looked into."""
        if not self.manifest.windows:
            self.manifest.windows = [[] for _ in bucket.windows]
        self._known = set(self._entries())
        more = bucket.run_columns or pa.schema([])
        for window, number, entries in zip(bucket.windows, bucket.stored, self.manifest.windows, strict=True):
            schema = pa.schema([]) if number is None else pa.schema([*inputs[number], *more])
            window.runs = [
                StoredRun(
                    id=entry.id,
                    time_slice=TimeSlice(entry.width, entry.number),
                    rows=entry.rows,
                    earliest=entry.earliest,
                    end=entry.end,
                    open=partial(self._open, entry, schema),
                    size=entry.size,
                )
                for entry in entries
            ]

    def _save_windows(self, bucket: Bucket) -> None:
        before = self._entries()
        all_removed: list[str] = []
        changes = [window.take_changes() for window in bucket.windows]
        # A run may come from another window, or be written already.
        self._write([one for added, _ in changes for one in added if one.id not in before])
        for (added, removed), entries in zip(changes, self.manifest.windows, strict=True):
            gone = set(removed)
            entries[:] = [entry for entry in entries if entry.id not in gone]
            entries += [before.get(stored.id) or self._written.pop(stored.id) for stored in added]
            all_removed += removed
        there = self._entries()
        # And those that were written and have gone in one batch.
        before |= self._written
        left = [before[name] for name in (*all_removed, *self._written) if name not in there]
        self._written = {}
        from_map = [entry.id for entry in left if not entry.file]
        for name in from_map:
            self._blobs.removeKey((name,))
        self._local_runs.keep_only(set(there), from_map)
        if self._files is not None:
            named = {entry.file for entry in there.values()}
            self._files.close_others(named)
            files = {entry.file for entry in left} - named - {""}
            self.manifest.gone = self._files.let_go(self.manifest.gone, files)

    def _save_apart(self, kept: dict[str, Any]) -> None:
        for name, value in kept.items():
            if name not in self._kept or self._kept[name] is not value:
                self._blobs.updateValue((f"value/{name}",), (encode(value),))
        for name in self._kept.keys() - kept.keys():
            self._blobs.removeKey((f"value/{name}",))
        self.manifest.apart = tuple(kept)

    def _value(self, name: str) -> Any:
        return decode(self._fetch(f"value/{name}"))

    def _entries(self) -> dict[str, RunEntry]:
        return {entry.id: entry for entries in self.manifest.windows for entry in entries}

    def _all_entries(self) -> list[RunEntry]:
        """Also of runs that were written before the end of the batch."""
        return [*self._entries().values(), *self._written.values()]

    def _write(self, runs: list[StoredRun]) -> None:
        """Write runs that are not yet written; those of a batch that go to a file go to one."""
        new = [stored for stored in runs if stored.id not in self._written]
        if not new:
            return
        if self._files is not None and self._files.takes_new:
            places = self._files.put(int(new[0].id.removeprefix("run")), [stored.run for stored in new])
        else:
            places = [self._put_into_map(stored) for stored in new]
        for stored, place in zip(new, places, strict=True):
            self._written[stored.id] = RunEntry(
                id=stored.id,
                width=stored.time_slice.width,
                number=stored.time_slice.number,
                rows=stored.rows,
                earliest=stored.earliest,
                end=stored.end,
                length=place.length,
                checksum=place.checksum,
                size=stored.size,
                file=place.file,
                offset=place.offset,
            )

    def _put_into_map(self, stored: StoredRun) -> WrittenRun:
        blob = to_blob(stored.run)
        self._blobs.updateValue((stored.id,), (blob,))
        self._local_runs.put(stored.id, blob)
        return WrittenRun("", 0, len(blob), blob_checksum(blob))

    def _open(self, entry: RunEntry, schema: pa.Schema) -> Run:
        if (known := self._opened.get(entry.id)) is not None:
            return known
        if entry.file:
            run = self._files_beside().get(WrittenRun(entry.file, entry.offset, entry.length, entry.checksum))
        else:
            run = self._local_runs.get(entry.id, entry.length, entry.checksum, partial(self._fetch, entry.id))
        opened = run if run.columns.schema.equals(schema) else with_columns(run, schema)
        self._opened[entry.id] = opened
        return opened

    def _files_beside(self) -> RunFiles:
        if self._files is None:
            raise DamagedRun(
                "rows of this checkpoint lie in files beside it, and nobody can say here where that is",
                "it was written by a session on one machine.",
                "start it there, with the setting spark.watersmeet.oneHost=false, until all windows have "
                "passed: then the state has all rows.",
            )
        return self._files

    def _fetch(self, name: str) -> bytes:
        found = self._blobs.getValue((name,))
        if found is None:
            raise DamagedRun(
                f"stored state {name} is missing",
                "the state store lists it and does not have it.",
                "restore the checkpoint from a copy.",
            )
        return found[0]  # type: ignore[no-any-return]


def with_columns(run: Run, schema: pa.Schema) -> Run:
    """A run written before columns were added; the new ones are null.

    It is made once and kept with the run, since indexes of a run go with it: every batch looks into it again.
    """
    known: Run | None = run.derived.get(_WITH_COLUMNS)
    if known is None or not known.columns.schema.equals(schema):
        found = dict(zip(run.columns.schema.names, run.columns.columns, strict=True))
        columns = [found.get(field.name, pa.nulls(run.rows, field.type)) for field in schema]
        known = run.derived[_WITH_COLUMNS] = replace_columns(run, pa.record_batch(columns, schema=schema))
    return known
