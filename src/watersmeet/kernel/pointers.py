"""Arrays by address, so that one compiled loop can walk any number of runs.

A compiled function takes a fixed number of arguments, but a window has as many runs as it has. Each
run therefore describes itself as one row of a table of addresses, and the loop turns an address back
into an array. The caller keeps the runs alive for as long as the loop may touch them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic


@intrinsic
def _as_pointer(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(address), codegen


@njit(inline="always")
def u64_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` unsigned 64-bit integers at `address`."""
    return carray(_as_pointer(address), (length,), np.uint64)


@njit(inline="always")
def i64_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` signed 64-bit integers at `address`."""
    return carray(_as_pointer(address), (length,), np.int64)


@njit(inline="always")
def u32_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` unsigned 32-bit integers at `address`."""
    return carray(_as_pointer(address), (length,), np.uint32)


@njit(inline="always")
def u8_at(address: np.uint64, length: np.int64) -> Any:
    """The `length` bytes at `address`."""
    return carray(_as_pointer(address), (length,), np.uint8)
