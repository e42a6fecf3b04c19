"""Rows of a source on their way to their site: a few large binary rows.

    (c0, c1, ..., time, believed, usable)  ->  (label, input, sender, number, blob)      blob: Arrow IPC

Instead of a sender such a row has what was left out of it: rows whose time is missing or too far ahead, and
rows that can never join.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.kernel.ipc import to_ipc
from watersmeet.kernel.sites.packet import TIME, USABLE
from watersmeet.spark.sites.task import SiteTask

# Wide rows do not become blobs that fill the memory.
_CHUNK_BYTES = 1 << 26


def pack(
    task: SiteTask, stream: int, sites: tuple[str, ...], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Pack the batches of one source partition, for every site at which the stream arrives."""
    labels = [task.label(site) for site in sites]
    for batch in batches:
        rows, left_out = conformed(task, stream, batch)
        pieces = -(-rows.nbytes // _CHUNK_BYTES) or 1
        size = -(-rows.num_rows // pieces) or 1
        for first in range(0, rows.num_rows, size) or [0]:
            yield _packed(labels, stream, rows.slice(first, size), left_out)
            left_out = {}


def conformed(task: SiteTask, stream: int, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, int]]:
    """Rows as a site takes them: their time, the columns by name, and where all are counted who can join.

    The batch is laid out by `sources.prepared_source`. Also how many rows were left out, and why.
    """
    schema = task.schemas[stream]
    time = batch.column(len(schema)).cast(pa.int64())
    believed, usable = (pc.fill_null(batch.column(len(schema) + i), False) for i in (1, 2))
    columns = [time, *(batch.column(i).cast(field.type) for i, field in enumerate(schema))]
    names = [TIME, *schema.names]
    aside = batch.num_rows - (pc.sum(believed).as_py() or 0)
    if task.counted(stream):
        rows = pa.record_batch([*columns, usable], [*names, USABLE]).filter(believed)
        return rows, {"aside": aside, "unusable": 0}
    rows = pa.record_batch(columns, names).filter(pc.and_(believed, usable))
    return rows, {"aside": aside, "unusable": batch.num_rows - aside - rows.num_rows}


def _packed(labels: list[int], stream: int, rows: pa.RecordBatch, left_out: dict[str, int]) -> pa.RecordBatch:
    copies = len(labels)
    return pa.record_batch(
        [
            pa.array(labels, pa.int32()),
            pa.array([stream] * copies, pa.int32()),
            pa.array([json.dumps(left_out)] * copies),
            pa.array([None] * copies, pa.int64()),
            pa.array([to_ipc([rows])] * copies, pa.binary()),
        ],
        ["label", "input", "sender", "number", "blob"],
    )
