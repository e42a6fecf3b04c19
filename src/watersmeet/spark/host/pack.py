"""Packing: rows of a source become a few large binary rows, one per bucket, before the shuffle.

Spark hands a stateful Python operator its input row by row. Packed, an operator of eight buckets sees a
few dozen rows per batch instead of half a million, and the shuffle moves them as they are.

    (k, ts, payload) ...  ->  (label, input, blob, newest)     blob: see `host.blobs`

Rows that can never join leave here: no time, a time too far ahead of the clock, a null in the key, or a
record that its source could not read, which says nothing about time either. The clock
is that of the batch, so a batch that runs again decides the same. What leaves is counted, and the counts go
to the ledger group with the newest time seen; so do the rows themselves, if somebody asks for them. That time
is also what Spark's watermark follows: it is the newest of all rows that arrived, whether or not they join.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.kernel.grouping import in_groups
from watersmeet.kernel.ipc import to_ipc
from watersmeet.spark.host.allocator import return_freed_memory
from watersmeet.spark.host.arrivals import ASIDE
from watersmeet.spark.host.blobs import PACKED_SCHEMA, PackedRows
from watersmeet.spark.host.handover import handover
from watersmeet.spark.host.hot_notes import hot_notes
from watersmeet.spark.host.hot_rows import HotRoutes
from watersmeet.spark.host.set_aside import AHEAD, MALFORMED, NULL_KEY, NULL_TIME, TOMBSTONE, set_aside
from watersmeet.spark.host.task import ROW_TIMES, InputTask, Task

NEWEST = "newest"
SOURCE_SCHEMA = f"{PACKED_SCHEMA}, {NEWEST} timestamp"

# Arrow batches are collected up to this size before they are split, so that a stream of small batches
# does not become a stream of tiny blobs, and wide rows do not become blobs that fill the memory.
_CHUNK_ROWS = 1 << 18
_CHUNK_BYTES = 1 << 26


@dataclass
class Report:
    """What one pack task saw of its stream; or what a stream is said to have reached while it is idle."""

    input: int
    rows: int = 0
    row_bytes: int = 0
    null_times: int = 0
    future_times: int = 0
    null_keys: int = 0
    malformed: int = 0
    tombstones: int = 0
    newest: int | None = None
    idle: int | None = None

    def follow(self, times: pa.Array) -> None:
        """Remember the newest of some times."""
        newest = pc.max(times).as_py()
        if newest is not None:
            self.newest = newest if self.newest is None else max(self.newest, newest)

    def to_bytes(self) -> bytes:
        """For the ledger."""
        return json.dumps(asdict(self)).encode()


# What a report counts.
COUNTED = ("rows", "row_bytes", "null_times", "future_times", "null_keys", "malformed", "tombstones")


def pack(
    task: Task, number: int, batches: Iterator[pa.RecordBatch], *, heartbeat: bool
) -> Iterator[pa.RecordBatch]:
    """Split the batches of one source partition by bucket.

    With `heartbeat` every bucket gets an empty row too: one task per batch does this, so that buckets
    without new rows still let go of expired ones and are still counted.
    """
    spec = task.inputs[number]
    labels = task.labels_of(spec)
    report = Report(number)
    packed = PackedRows(handover(used=task.one_host, tidy=heartbeat), hot_routes(task))
    most_bytes = _CHUNK_BYTES if task.memory is None else task.memory.chunk_bytes
    for chunk in _chunks(batches, most_bytes):
        sorted_out = _sorted_out(chunk, spec, report)
        timely, usable = sorted_out.times, sorted_out.usable
        if spec.row_times is not None and len(timely):
            packed.add_rows(labels, spec.row_times, _times(timely), ROW_TIMES)
        if usable.num_rows:
            report.row_bytes += usable.nbytes
            packed.add_rows(labels, number, usable, spec)
        for rows in sorted_out.aside:
            packed.add(task.ledger, ASIDE, to_ipc([rows]))
        if len(packed):
            yield _with_newest(packed, report)
    if heartbeat:
        packed.add_heartbeats(labels, number)
    if heartbeat or report.rows or report.newest is not None:
        packed.add(task.ledger, number, report.to_bytes())
        yield _with_newest(packed, report)
    packed.close()
    if task.memory is not None:
        return_freed_memory()


def hot_routes(task: Task) -> HotRoutes | None:
    """How rows of hot keys are sent in the batch that runs now; None if there are none."""
    notes = hot_notes(task)
    routes = {} if notes is None else notes.read()
    return HotRoutes(routes, len(task.buckets)) if routes else None


def _with_newest(packed: PackedRows, report: Report) -> pa.RecordBatch:
    batch = packed.take()
    newest = pa.array([report.newest] * batch.num_rows, pa.timestamp("us", tz="UTC"))
    return batch.append_column(NEWEST, newest)


def _chunks(batches: Iterator[pa.RecordBatch], most_bytes: int) -> Iterator[pa.RecordBatch]:
    pieces = (piece for batch in batches for piece in _pieces(batch, most_bytes))
    limits = (lambda piece: piece.num_rows, _CHUNK_ROWS), (lambda piece: piece.nbytes, most_bytes)
    for group in in_groups(pieces, *limits):
        yield pa.concat_batches(group) if len(group) > 1 else group[0]


def _pieces(batch: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """A batch in parts of equal rows, as many as its bytes ask for; none for an empty one."""
    parts = -(-batch.nbytes // most_bytes) or 1
    rows = batch.num_rows // parts or 1
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)


def pack_clock(task: Task, number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Tell an operator the times of a stream that joins further down.

    The batches hold just the time and, where not every time is believed, whether this one is.
    """
    packed = PackedRows()
    for chunk in _chunks(batches, _CHUNK_BYTES):
        spec = ROW_TIMES if chunk.num_columns == 1 else replace(ROW_TIMES, believed=1)
        timely = _sorted_out(chunk, spec, Report(number)).times
        if len(timely):
            packed.add_rows(task.labels, number, _times(timely), ROW_TIMES)
            yield packed.take()


def _times(times: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([times], ["time"])


class _SortedOut(NamedTuple):
    """The rows of a batch by what becomes of them.

    Attributes:
        times: The times of the rows that have a usable one.
        usable: The rows that can join, with the stored columns in their stored types.
        aside: The others, if somebody asks for them.
    """

    times: pa.Array
    usable: pa.RecordBatch
    aside: list[pa.RecordBatch]


def _sorted_out(batch: pa.RecordBatch, spec: InputTask, report: Report) -> _SortedOut:
    aside = {}
    if spec.problem is not None:
        reasons = batch.column(spec.problem)
        aside = {reason: batch.filter(pc.equal(reasons, reason)) for reason in (MALFORMED, TOMBSTONE)}
        report.malformed += aside[MALFORMED].num_rows
        report.tombstones += aside[TOMBSTONE].num_rows
        report.rows += batch.num_rows - reasons.null_count
        batch = batch.filter(reasons.is_null())
    if spec.wanted is not None:
        # Rows that fail a condition on their stream alone are gone, but the stream is not silent.
        time, good = _times_of(batch, spec)
        report.follow(time.filter(good))
        batch = batch.filter(batch.column(spec.wanted))
    report.rows += batch.num_rows
    time, good = _times_of(batch, spec)
    report.null_times += time.null_count
    report.future_times += batch.num_rows - time.null_count - _count(good)
    # The watermark follows every row with a usable time, whatever its key.
    timely = time.filter(good)
    report.follow(timely)
    # A row dropped for its time is not counted again for its key.
    keyed = good
    for position in spec.required:
        column = batch.column(position)
        if column.null_count:
            keyed = pc.and_(keyed, column.is_valid())
    report.null_keys += _count(good) - _count(keyed)
    if spec.content is None:
        aside = {}
    else:
        aside[NULL_TIME] = batch.filter(time.is_null())
        aside[AHEAD] = batch.filter(pc.and_not(time.is_valid(), good))
        aside[NULL_KEY] = batch.filter(pc.and_not(good, keyed))
    told = [set_aside(rows, spec, reason) for reason, rows in aside.items() if rows.num_rows]
    return _SortedOut(timely, _conformed(batch, spec, keyed), told)


def _times_of(batch: pa.RecordBatch, spec: InputTask) -> tuple[pa.Array, pa.Array]:
    """The times of all rows, and which of them can be used."""
    time = batch.column(spec.time).cast(pa.int64())
    good = time.is_valid()
    if spec.believed is not None:
        good = pc.and_(good, pc.fill_null(batch.column(spec.believed), False))
    return time, good


def _conformed(batch: pa.RecordBatch, spec: InputTask, usable: pa.Array) -> pa.RecordBatch:
    """Some rows of a batch, with the stored columns in their stored types."""
    # What is known now need not travel: what is wrong, whether a time is believed, whether conditions hold.
    known = [position for position in (spec.problem, spec.believed, spec.wanted) if position is not None]
    columns = batch.columns[: min(known, default=None)]
    for position, field in enumerate(spec.kept):
        if columns[position].type != field.type:
            columns[position] = columns[position].cast(field.type)
    names = spec.kept.names + [f"__{i}" for i in range(len(columns) - len(spec.kept))]
    conformed = pa.record_batch(columns, names)
    return conformed if _count(usable) == batch.num_rows else conformed.filter(usable)


def _count(mask: pa.Array) -> int:
    return pc.sum(mask).as_py() or 0
