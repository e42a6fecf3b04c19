"""Keys on their way: each once, as columns; or as a Bloom filter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.keys import Keys
from watersmeet.kernel.sites.bloom import bloom_filter, from_table, passing, to_table
from watersmeet.kernel.sites.packet import distinct, keys_of
from watersmeet.kernel.sites.store import Chunk, Store


def key_table(rows: pa.RecordBatch, columns: tuple[str, ...], numbers: Any) -> pa.RecordBatch:
    """The keys of some rows, by number."""
    taken = pa.array(numbers)
    arrays = [rows.column(name).take(taken) for name in columns]
    if not arrays:
        # Without a key all rows have the same one, and a table must have a column.
        arrays = [pa.array(np.zeros(len(numbers), np.bool_))]
    return pa.record_batch(arrays, [f"k{i}" for i in range(len(arrays))])


def asked_table(rows: pa.RecordBatch, columns: tuple[str, ...], *, bloom: bool) -> tuple[pa.RecordBatch, Any]:
    """The distinct keys of rows, to be sent; and for each row the number of its key."""
    keys = keys_of(rows, columns)
    _, first, inverse = distinct(keys)
    if bloom:
        return to_table(bloom_filter(keys.hashes[first])), inverse
    return key_table(rows, columns, first), inverse


def arrived_keys(table: pa.RecordBatch, columns: tuple[str, ...]) -> Keys:
    """Keys that have come, to be looked up by these columns."""
    return keys_of(table, tuple(table.schema.names) if columns else ())


def wanted(store: Store, columns: tuple[str, ...], table: pa.RecordBatch) -> list[tuple[Chunk, Any, Any]]:
    """Per chunk the rows that have one of the keys that have come, and which of them: two arrays.

    From a filter the keys are not known; all rows are tried, and their keys numbered 0.
    """
    if table.schema.names == ["filter"]:
        bloom = from_table(table)
        tried = []
        for chunk in store.chunks:
            rows = np.flatnonzero(passing(bloom, chunk.index(columns)[0].hashes))
            if len(rows):
                tried.append((chunk, np.zeros(len(rows), np.int64), rows))
        return tried
    return list(store.matches(arrived_keys(table, columns), columns))
