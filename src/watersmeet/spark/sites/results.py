"""What leaves a batch: mail into the mailbox, and results as the user sees them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from watersmeet.kernel.sites.packet import TIME
from watersmeet.plan.layout import Ref
from watersmeet.plan.sites.columns import named
from watersmeet.query import JoinQuery
from watersmeet.query.stream import RESULT_TIME
from watersmeet.spark.sites.mailbox import Address, FolderMailbox
from watersmeet.spark.sites.task import SiteTask

POSTED_SCHEMA = "bytes bigint"


def post(task: SiteTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Post mail where it was written; how many bytes that were comes back."""
    mailbox = FolderMailbox(task.mailbox)
    for batch in batches:
        sizes = [
            mailbox.post(Address(task.deployment, row["site"], row["receiver"], row["number"]), row["blob"])
            for row in batch.to_pylist()
        ]
        yield pa.record_batch([pa.array(sizes, pa.int64())], ["bytes"])


def unpack(task: SiteTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Results as rows: a struct per stream, and the result time."""
    for batch in batches:
        for blob in batch.column(batch.schema.get_field_index("blob")):
            for rows in pa.ipc.open_stream(blob.as_buffer()):
                yield _structs(task, rows)


def _structs(task: SiteTask, rows: pa.RecordBatch) -> pa.RecordBatch:
    names, columns = [], []
    for name, refs in _by_stream(task.query, task.result_refs):
        arrays = [rows.column(named(ref)) for ref in refs]
        fields = [
            pa.field(ref.column, array.type, nullable=True) for ref, array in zip(refs, arrays, strict=True)
        ]
        names.append(name)
        columns.append(pa.StructArray.from_arrays(arrays, fields=fields))
    columns.append(rows.column(TIME).cast(pa.timestamp("us", tz="UTC")))
    return pa.record_batch(columns, [*names, RESULT_TIME])


def _by_stream(query: JoinQuery, refs: tuple[Ref, ...]) -> list[tuple[str, list[Ref]]]:
    grouped = [(name, [ref for ref in refs if ref.stream == n]) for n, name in enumerate(query.names)]
    return [(name, found) for name, found in grouped if found]
