"""Rows of a source on their way to their site: a few large binary rows.

(c0, c1, ..., time, usable)  ->  (label, input, sender, number, blob)      blob: Arrow IPC
"""

from __future__ import annotations

from collections.abc import Iterator
from time import time_ns

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.kernel.sites.packet import TIME, USABLE
from watersmeet.spark.sites.task import SiteTask

# Wide rows do not become blobs that fill the memory.
_CHUNK_BYTES = 1 << 26


def pack(
    task: SiteTask, stream: int, site: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Pack the batches of one source partition."""
    label = task.label(site)
    for batch in batches:
        rows = conformed(task, stream, batch)
        pieces = -(-rows.nbytes // _CHUNK_BYTES) or 1
        size = -(-rows.num_rows // pieces) or 1
        for first in range(0, rows.num_rows, size):
            yield _packed(label, stream, rows.slice(first, size))


def conformed(task: SiteTask, stream: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows as a site takes them: their time, the columns by name, and where all are counted who can join.

    The batch has the columns of the stream, then its time, then whether a row can be in a result at all.
    """
    schema, limit = task.schemas[stream], task.query.streams[stream].max_future_us
    time = batch.column(len(schema)).cast(pa.int64())
    good = time.is_valid()
    if limit is not None:
        good = pc.and_(good, pc.fill_null(pc.less_equal(time, time_ns() // 1000 + limit), False))
    usable = pc.fill_null(batch.column(len(schema) + 1), False)
    columns = [time, *(batch.column(i).cast(field.type) for i, field in enumerate(schema))]
    names = [TIME, *schema.names]
    if task.counted(stream):
        return pa.record_batch([*columns, usable], [*names, USABLE]).filter(good)
    return pa.record_batch(columns, names).filter(pc.and_(good, usable))


def _packed(label: int, stream: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return pa.record_batch(
        [
            pa.array([label], pa.int32()),
            pa.array([stream], pa.int32()),
            pa.array([None], pa.string()),
            pa.array([None], pa.int64()),
            pa.array([sink.getvalue().to_pybytes()], pa.binary()),
        ],
        ["label", "input", "sender", "number", "blob"],
    )
