"""Rows that can never join, as they are handed to who asks for them: stream, reason, time, content.

Rows without a time or a key, dated too far ahead, or marked by their source as unusable, are found when they
are packed; late ones in the bucket they came to. All of them leave through the ledger of their operator, or
go on to the ledger of the one above, until they are rows of the result that have nothing but this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.bucket import Bucket
from watersmeet.kernel.run import Rows
from watersmeet.spark.host.task import InputTask, Task

# The column of the result, and its fields.
SET_ASIDE = "set_aside"
FIELDS = pa.schema(
    [
        ("stream", pa.string()),
        ("reason", pa.string()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("content", pa.string()),
    ]
)
STRUCT = pa.struct(list(FIELDS))

LATE = "late"
NULL_TIME = "null time"
NULL_KEY = "null key"
AHEAD = "dated ahead"
# What a source may say of a record that is no row (`spark.problem`).
MALFORMED = "malformed"
TOMBSTONE = "tombstone"


def set_aside(batch: pa.RecordBatch, spec: InputTask, reason: str) -> pa.RecordBatch:
    """Packed rows of an input as rows that were set aside."""
    assert spec.content is not None
    names = [pa.array([text] * batch.num_rows, pa.string()) for text in (spec.name, reason)]
    own = [batch.column(spec.time), batch.column(spec.content)]
    return pa.record_batch(
        [column.cast(field.type) for column, field in zip([*names, *own], FIELDS, strict=True)],
        schema=FIELDS,
    )


def late_rows(
    task: Task, bucket: Bucket, name: str, number: int, batch: pa.RecordBatch, rows: Rows
) -> Iterator[pa.RecordBatch]:
    """The rows of a batch that come too late, from one of the buckets that get them.

    Args:
        task: The join.
        bucket: The bucket they came to.
        name: What it is called.
        number: The input.
        batch: The rows as they were packed.
        rows: The same rows as the bucket takes them.
    """
    spec = task.spec(number)
    if spec.content is None:
        return
    late = bucket.late(number, rows)
    if late.any():
        mine = np.flatnonzero(late & _told_here(task, spec, task.buckets.index(name), rows.times))
        if len(mine):
            yield set_aside(batch.take(pa.array(mine)), spec, LATE)


def _told_here(task: Task, spec: InputTask, bucket: int, times: Any) -> Any:
    """Which rows this bucket speaks for, where others get them as well."""
    if spec.aligned is not None:
        first = (times - spec.aligned.before) // spec.aligned.segment
        return first % len(task.buckets) == bucket
    return np.full(len(times), not spec.replicated or bucket == 0)
