"""Arrow batches as bytes, in Arrow's own streaming format."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

# What comes of bytes that make no sense.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
    OSError,
    struct.error,
    pa.ArrowException,
)


def to_ipc(batches: Sequence[pa.RecordBatch]) -> bytes:
    """Batches of one schema, one after the other; there must be one.

    >>> rows = pa.record_batch([pa.array([7])], ["x"])
    >>> from_ipc(to_ipc([rows])).equals(rows)
    True
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def from_ipc(content: bytes | memoryview) -> pa.RecordBatch:
    """The first batch, without copying it."""
    return pa.ipc.open_stream(content).read_next_batch()
