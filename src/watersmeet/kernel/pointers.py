"""Arrays by address, so that one compiled loop can walk any number of runs.

A compiled function takes a fixed number of arguments, but a window has as many runs as it has. Each
run therefore describes itself as one row of a table of addresses, and the loop turns an address back
into an array. The caller keeps the runs alive for as long as the loop may touch them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def _as_pointer(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(address), codegen


@intrinsic
def copy_bytes(typing_context: Any, target: Any, source: Any, count: Any) -> Any:  # noqa: ARG001
    """Copy `count` bytes from one address to another; they must not overlap."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        byte_pointer = cgutils.voidptr_t
        to, start = (builder.inttoptr(address, byte_pointer) for address in arguments[:2])
        cgutils.raw_memcpy(builder, to, start, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.int64), codegen


@njit(inline="always")
def u64_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` unsigned 64-bit integers at `address`."""
    return carray(_as_pointer(address), (length,), np.uint64)


@njit(inline="always")
def i64_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` signed 64-bit integers at `address`."""
    return carray(_as_pointer(address), (length,), np.int64)


@njit(inline="always")
def i32_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` signed 32-bit integers at `address`."""
    return carray(_as_pointer(address), (length,), np.int32)


@njit(inline="always")
def u32_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` unsigned 32-bit integers at `address`."""
    return carray(_as_pointer(address), (length,), np.uint32)


@njit(inline="always")
def u8_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` bytes at `address`."""
    return carray(_as_pointer(address), (length,), np.uint8)


@njit(inline="always")
def i64_table_at(address: np.uint64, rows: np.int64, columns: np.int64) -> Any:
    """The same as a table."""
    return carray(_as_pointer(address), (rows, columns), np.int64)


@njit(inline="always")
def uncounted(data: Any) -> Any:
    """Bytes by their address. To count who holds them, at each call, takes longer than to read a value."""
    return u8_at(np.uint64(data.ctypes.data), len(data))


@njit(inline="always")
def uncounted_i64(values: Any) -> Any:
    """The same for numbers."""
    return i64_at(np.uint64(values.ctypes.data), len(values))


@njit(inline="always")
def uncounted_table(table: Any) -> Any:
    """The same for a table."""
    return i64_table_at(np.uint64(table.ctypes.data), table.shape[0], table.shape[1])
