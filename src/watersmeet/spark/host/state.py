"""The durable state of one bucket: a map with a manifest and the blobs it lists.

    "manifest"   identity of the query, the runs of every window, the timer, the probe paths
    run id       blob

A batch reads the manifest, puts the new blobs, removes the expired ones and writes the manifest, so the
cost follows the batch. All of it is committed by Spark together with the batch, or not at all. It is one
map because every state variable costs Spark some milliseconds per task.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from watersmeet.errors import DamagedRun
from watersmeet.kernel.blob import blob_checksum, to_blob
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.judge import Asked
from watersmeet.kernel.operator import Kernel
from watersmeet.kernel.progressive.bucket import Progress, ProgressiveBucket
from watersmeet.kernel.run import Run, replace_columns
from watersmeet.kernel.shares import Shares
from watersmeet.kernel.slices import Slice
from watersmeet.kernel.stored import stored_as
from watersmeet.kernel.window import StoredRun
from watersmeet.optimize.adapt import Remembered
from watersmeet.spark.shelf import Shelf

KEY_SCHEMA = "id string"
VALUE_SCHEMA = "blob binary"
MANIFEST = ("manifest",)

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
    # What it takes in memory; not known of runs that were written before this was.
    size: int = 0


@stored_as("manifest")
@dataclass
class Manifest:
    """What a bucket remembers between batches.

    Attributes:
        identity: Which query it is.
        windows: The runs of every window.
        timer_ms: The timer that is set.
        paths: How paths came about.
        shares: Which slice stores which rows, by input.
        asked: What is known about functions from asking them.
        progress: Where a join without windows stands.
        found: Combinations that runs lately had a part in per batch, by name, where memory is limited.
        named: How many names were given to runs.
    """

    identity: str
    windows: list[list[RunEntry]] = field(default_factory=list)
    timer_ms: int | None = None
    paths: Remembered | None = None
    shares: dict[int, Shares] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    progress: Progress | None = None
    found: dict[str, float] = field(default_factory=dict)
    named: int = 0


class BucketState:
    """Reads and writes the state of one bucket through Spark's state handles."""

    def __init__(self, blobs: Any, shelf: Shelf, identity: str) -> None:
        """Load the manifest of the current group from Spark's map state."""
        self._blobs = blobs
        self._shelf = shelf
        # Runs that were written before the end of the batch.
        self._written: dict[str, RunEntry] = {}
        # Those that were there before it.
        self._known: set[str] = set()
        stored = blobs.getValue(MANIFEST)
        self.manifest: Manifest = Manifest(identity) if stored is None else decode(stored[0], Manifest)

    def load(self, join: Kernel | ProgressiveBucket, schemas: list[pa.Schema]) -> None:
        """Give the join its windows; runs are opened when they are first looked into.

        `schemas` are those of its inputs.
        """
        if not self.manifest.windows:
            self.manifest.windows = [[] for _ in join.windows]
        self._known = set(self._entries())
        stored = [pa.schema([]) if number is None else schemas[number] for number in join.stored]
        for window, entries, schema in zip(join.windows, self.manifest.windows, stored, strict=True):
            window.runs = [
                StoredRun(
                    entry.id,
                    Slice(entry.width, entry.number),
                    entry.rows,
                    entry.earliest,
                    entry.end,
                    partial(self._open, entry, schema),
                    entry.size or entry.length,
                )
                for entry in entries
            ]

    def save(self, join: Kernel | ProgressiveBucket, identity: str) -> None:
        """Persist what changed."""
        before = self._entries()
        all_removed: list[str] = []
        for window, entries in zip(join.windows, self.manifest.windows, strict=True):
            added, removed = window.take_changes()
            gone = set(removed)
            entries[:] = [entry for entry in entries if entry.id not in gone]
            # A run may come from another window.
            entries += [before.get(stored.id) or self._entry(stored) for stored in added]
            all_removed += removed
        names = self._entries().keys()
        # And those that were written and have gone in one batch.
        all_removed = [name for name in (*all_removed, *self._written) if name not in names]
        for name in all_removed:
            self._blobs.removeKey((name,))
        self._written = {}
        self.manifest.identity = identity
        self._shelf.keep_only(set(names), all_removed)
        self._blobs.updateValue(MANIFEST, (encode(self.manifest),))

    def put_away(self, stored: StoredRun, schema: pa.Schema) -> StoredRun:
        """Write a run now instead of at the end of the batch; returns it as one that is in its file only."""
        if stored.id in self._known:
            return stored
        entry = self._written[stored.id] = self._write(stored)
        return replace(stored, open=partial(self._open, entry, schema))

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
        return self._shelf.open_runs()

    def close(self, names: set[str]) -> None:
        """Close some runs."""
        self._shelf.close_others(self._shelf.open_runs() - names)

    def close_others(self, names: set[str]) -> None:
        """Close all runs but some."""
        self._shelf.close_others(names)

    def entries(self, join: Kernel | ProgressiveBucket, number: int) -> list[RunEntry]:
        """The lines about the rows of one input."""
        windows = zip(join.stored, self.manifest.windows, strict=True)
        return [entry for stored, entries in windows if stored == number for entry in entries]

    def _entries(self) -> dict[str, RunEntry]:
        return {entry.id: entry for entries in self.manifest.windows for entry in entries}

    def _entry(self, stored: StoredRun) -> RunEntry:
        return self._written.pop(stored.id) if stored.id in self._written else self._write(stored)

    def _write(self, stored: StoredRun) -> RunEntry:
        blob = to_blob(stored.run)
        self._blobs.updateValue((stored.id,), (blob,))
        self._shelf.put(stored.id, blob)
        return RunEntry(
            stored.id,
            stored.slice.width,
            stored.slice.number,
            stored.rows,
            stored.earliest,
            stored.end,
            len(blob),
            blob_checksum(blob),
            stored.size,
        )

    def _open(self, entry: RunEntry, schema: pa.Schema) -> Run:
        run = self._shelf.get(entry.id, entry.length, entry.checksum, partial(self._fetch, entry.id))
        return run if run.columns.schema.equals(schema) else with_columns(run, schema)

    def _fetch(self, name: str) -> bytes:
        found = self._blobs.getValue((name,))
        if found is None:
            raise DamagedRun(
                f"stored run {name} is missing",
                "the state store lists it and does not have it.",
                "restore the checkpoint from a copy.",
            )
        return found[0]  # type: ignore[no-any-return]


def with_columns(run: Run, schema: pa.Schema) -> Run:
    """A run written before columns were added; the new ones are null."""
    known = dict(zip(run.columns.schema.names, run.columns.columns, strict=True))
    columns = [known.get(field.name, pa.nulls(run.rows, field.type)) for field in schema]
    return replace_columns(run, pa.record_batch(columns, schema=schema))
