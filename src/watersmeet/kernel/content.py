"""A number for every row that depends on all it holds: it tells rows apart that come in no fixed order."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from watersmeet.kernel.keys import encode_keys


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
