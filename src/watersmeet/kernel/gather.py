"""Fetching rows from many runs at once.

Arrow can pick rows from one array; for a window of many runs it would first have to join them into one,
at a cost that follows the window. The loops below pick straight from the buffers of every run, so the
cost follows the rows picked. Columns they do not know (booleans, nested types) are picked run by run with
Arrow and then put in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numba import types

from watersmeet.kernel.compiled import I64, U64_TABLE, compiled
from watersmeet.kernel.pointers import copy_bytes, i32_at, u8_at, u32_at, u64_at

# More bytes than this are not gathered into one string column: Arrow's offsets end at 2 GB, and memory
# should not follow the largest value times the number of rows.
_MOST_BYTES = 1 << 28

# Columns of a buffer table, one row per column of a run.
_VALID, _VALID_AT, _VALUES, _BYTES = range(4)


class TooManyBytes(Exception):
    """The rows asked for do not fit one column; ask for fewer at a time."""


def buffer_table(columns: pa.RecordBatch) -> Any:
    """Where the buffers of a run's columns lie: a row per column, as `gather` needs it."""
    table = np.zeros((columns.num_columns, 4), np.uint64)
    for i, column in enumerate(columns.columns):
        width = _width(column.type)
        if width == 0:
            continue
        buffers = column.buffers()
        if column.null_count:
            table[i, _VALID], table[i, _VALID_AT] = buffers[0].address, column.offset
        if buffers[1] is not None:
            table[i, _VALUES] = buffers[1].address + column.offset * abs(width)
        if width == _STRINGS and buffers[2] is not None:
            table[i, _BYTES] = buffers[2].address
    return table


def gather(runs: Sequence[Any], owners: Any, rows: Any, positions: Sequence[int]) -> list[pa.Array]:
    """Some columns of the rows `rows[i]` of the runs `runs[owners[i]]`, in this order (int64 arrays).

    Raises:
        TooManyBytes: More than one row was asked for and they are too large together.
    """
    tables = np.stack([run.buffers for run in runs], axis=1)
    schema = runs[0].columns.schema
    columns = []
    for i in positions:
        field = schema.field(i)
        width = _width(field.type)
        if width == 0:
            try:
                columns.append(_run_by_run([run.columns.column(i) for run in runs], owners, rows))
            except pa.ArrowInvalid:  # offsets of a nested column overflow
                if len(rows) > 1:
                    raise TooManyBytes from None
                raise
            continue
        table = tables[i]
        valid = None
        if table[:, _VALID].any():
            valid = pa.py_buffer(np.packbits(_validity(table, owners, rows), bitorder="little"))
        if width == _STRINGS:
            offsets = _string_offsets(table, owners, rows)
            if offsets[-1] > _MOST_BYTES and len(rows) > 1:
                raise TooManyBytes
            data = _string_bytes(table, owners, rows, offsets)
            buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        else:
            buffers = [valid, pa.py_buffer(_FIXED[width](table, owners, rows))]
        columns.append(pa.Array.from_buffers(field.type, len(rows), buffers))
    return columns


_STRINGS = -4  # offsets are four bytes wide


def _width(kind: pa.DataType) -> int:
    """Bytes per value, `_STRINGS`, or 0 for types that are left to Arrow."""
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _STRINGS
    if pa.types.is_decimal128(kind):
        return 16
    if pa.types.is_primitive(kind) and not pa.types.is_boolean(kind):
        return int(kind.bit_width) // 8
    return 0


def _run_by_run(arrays: Sequence[pa.Array], owners: Any, rows: Any) -> pa.Array:
    order = np.argsort(owners, kind="stable")
    used, first = np.unique(owners[order], return_index=True)
    bounds = np.append(first, len(order))
    parts = [
        arrays[owner].take(pa.array(rows[order[bounds[i] : bounds[i + 1]]])) for i, owner in enumerate(used)
    ]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(place))


@compiled(U64_TABLE, I64, I64)
def _validity(table: Any, owners: Any, rows: Any) -> Any:
    out = np.ones(len(rows), np.uint8)
    for i in range(len(rows)):
        address = table[owners[i], _VALID]
        if address != 0:
            bit = rows[i] + np.int64(table[owners[i], _VALID_AT])
            out[i] = (u8_at(address, (bit >> 3) + 1)[bit >> 3] >> np.uint8(bit & 7)) & np.uint8(1)
    return out


@compiled(U64_TABLE, I64, I64)
def _gather_1(table: Any, owners: Any, rows: Any) -> Any:
    out = np.empty(len(rows), np.uint8)
    for i in range(len(rows)):
        out[i] = u8_at(table[owners[i], _VALUES], rows[i] + 1)[rows[i]]
    return out


@compiled(U64_TABLE, I64, I64)
def _gather_2(table: Any, owners: Any, rows: Any) -> Any:
    out = np.empty(2 * len(rows), np.uint8)
    for i in range(len(rows)):
        values = u8_at(table[owners[i], _VALUES], 2 * rows[i] + 2)
        out[2 * i] = values[2 * rows[i]]
        out[2 * i + 1] = values[2 * rows[i] + 1]
    return out


@compiled(U64_TABLE, I64, I64)
def _gather_4(table: Any, owners: Any, rows: Any) -> Any:
    out = np.empty(len(rows), np.uint32)
    for i in range(len(rows)):
        out[i] = u32_at(table[owners[i], _VALUES], rows[i] + 1)[rows[i]]
    return out


@compiled(U64_TABLE, I64, I64)
def _gather_8(table: Any, owners: Any, rows: Any) -> Any:
    out = np.empty(len(rows), np.uint64)
    for i in range(len(rows)):
        out[i] = u64_at(table[owners[i], _VALUES], rows[i] + 1)[rows[i]]
    return out


@compiled(U64_TABLE, I64, I64)
def _gather_16(table: Any, owners: Any, rows: Any) -> Any:
    out = np.empty(2 * len(rows), np.uint64)
    for i in range(len(rows)):
        values = u64_at(table[owners[i], _VALUES], 2 * rows[i] + 2)
        out[2 * i] = values[2 * rows[i]]
        out[2 * i + 1] = values[2 * rows[i] + 1]
    return out


_FIXED = {1: _gather_1, 2: _gather_2, 4: _gather_4, 8: _gather_8, 16: _gather_16}


@compiled(U64_TABLE, I64, I64)
def _string_offsets(table: Any, owners: Any, rows: Any) -> Any:
    out = np.empty(len(rows) + 1, np.int64)
    out[0] = 0
    for i in range(len(rows)):
        offsets = i32_at(table[owners[i], _VALUES], rows[i] + 2)
        out[i + 1] = out[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    return out


@compiled(U64_TABLE, I64, I64, types.int64[::1])
def _string_bytes(table: Any, owners: Any, rows: Any, places: Any) -> Any:
    out = np.empty(places[len(rows)], np.uint8)
    target = np.uint64(out.ctypes.data)
    for i in range(len(rows)):
        offsets = i32_at(table[owners[i], _VALUES], rows[i] + 2)
        first, last = np.int64(offsets[rows[i]]), np.int64(offsets[rows[i] + 1])
        copy_bytes(target + np.uint64(places[i]), table[owners[i], _BYTES] + np.uint64(first), last - first)
    return out
