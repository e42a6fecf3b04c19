"""Arrow columns as the arguments of a user's function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import PredicateFailed
from watersmeet.query.function import Function

_LONGEST = 80


def as_arguments(function: Function, columns: Sequence[pa.Array]) -> list[Any]:
    """What a function is given: Arrow arrays, NumPy arrays, or lists of plain values; no column has nulls."""
    if not function.vectorized:
        return [column.to_pylist() for column in columns]
    if function.arrays == "arrow":
        return list(columns)
    return [
        _numpy(column, stacked=function.stacked, text=f"{name} of predicate {function.text}")
        for name, column in zip(function.columns, columns, strict=True)
    ]


def _numpy(column: pa.Array, *, stacked: bool, text: str) -> Any:
    kind = column.type
    if stacked and (_is_bytes(kind) or _is_list(kind)):
        return _stacked(column, text)
    if pa.types.is_timestamp(kind):
        # A time zone is nothing NumPy knows; the instants are the same.
        return column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
    if pa.types.is_nested(kind) and not _is_list(kind):
        found = np.empty(len(column), object)
        found[:] = column.to_pylist()
        return found
    return column.to_numpy(zero_copy_only=False)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _stacked(column: pa.Array, text: str) -> Any:
    """A row per value.

    >>> _stacked(pa.array([b"ab", b"cd"]), "a.x").tolist()
    [[97, 98], [99, 100]]
    """
    offsets = _offsets(column)
    lengths = np.diff(offsets)
    if len(lengths) and (lengths != lengths[0]).any():
        other = int(np.flatnonzero(lengths != lengths[0])[0])
        raise PredicateFailed(
            f"{text} cannot be stacked",
            f"there are values of {lengths[0]} and of {lengths[other]} items.",
            "make all values equally long, or leave out stacked=True.",
        )
    width = int(lengths[0]) if len(lengths) else 0
    if _is_bytes(column.type):
        data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
        values = data[offsets[0] : offsets[-1]]
    else:
        inner = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        if inner.null_count:
            raise PredicateFailed(f"{text} cannot be stacked", "an array has a null inside.")
        values = inner.to_numpy(zero_copy_only=False)
    return values.reshape(len(column), width)


def _offsets(column: pa.Array) -> Any:
    large = pa.types.is_large_binary(column.type) or pa.types.is_large_list(column.type)
    kind = np.int64 if large else np.int32
    if not len(column):
        return np.zeros(1, kind)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column) + 1]


def described(value: pa.Scalar) -> str:
    """A value in a message, cut where it gets long."""
    text = repr(value.as_py())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"
