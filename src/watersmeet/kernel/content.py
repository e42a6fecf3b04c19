"""A number for every row that depends on all it holds: it tells rows apart that come in no fixed order."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.run import Rows


def in_order(rows: Rows) -> Rows:
    """Rows by time and, where times are equal, by content: the same however they came.

    A batch may run twice, and rows may come in another order the second time. Mail of the first run may be
    on its way already, and speaks of rows by their order.
    """
    order = np.argsort(rows.times, kind="stable")
    if len(rows) and (np.diff(rows.times[order]) == 0).any():
        order = np.lexsort((content_hashes([pa.array(rows.times), *rows.columns.columns]), rows.times))
    return rows.take(order)


def content_hashes(columns: Sequence[pa.Array]) -> Any:
    """One number per row; rows that differ have different ones, but for a chance in 2^64.

    >>> numbers = content_hashes([pa.array([1, 1]), pa.array([0.0, -0.0])])
    >>> bool(numbers[0] != numbers[1])
    True
    """
    return encode_keys([_comparable(column) for column in columns]).hashes


def _comparable(column: pa.Array) -> pa.Array:
    if pa.types.is_floating(column.type):
        # As keys 0.0 and -0.0 are one, as values they are not.
        return column.cast(pa.float64()).view(pa.int64())
    try:
        encode_keys([column.slice(0, 1)])
    except TypeError:
        # Not a key, such as a map: by how it is written.
        return pa.array([zlib.crc32(repr(value).encode()) for value in column.to_pylist()], pa.int64())
    return column
