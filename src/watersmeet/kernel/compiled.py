"""How loops are compiled: one signature each, written down, so nothing compiles while rows wait.

Arrays arrive writable (fresh) or read-only (memory-mapped); a read-only signature takes both, where
leaving it open would compile every loop twice. Compiled code is kept on disk beside the package, or
in the user's cache directory where the package cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numba import njit, types

Function = TypeVar("Function", bound=Callable[..., Any])


def _read_only(element: Any, dimensions: int = 1) -> Any:
    return types.Array(element, dimensions, "C", readonly=True)


U8 = _read_only(types.uint8)
U32 = _read_only(types.uint32)
U64 = _read_only(types.uint64)
I64 = _read_only(types.int64)
U64_TABLE = _read_only(types.uint64, 2)
OUT_I64 = types.int64[::1]
OUT_U64 = types.uint64[::1]
OUT_U64_TABLE = types.uint64[:, ::1]
OUT_I64_TABLE = types.int64[:, ::1]


def compiled(*arguments: Any) -> Callable[[Function], Function]:
    """Compile a function for exactly these argument types."""
    return compiled_for(arguments)


def compiled_for(*signatures: Sequence[Any]) -> Callable[[Function], Function]:
    """Compile a function for each of several lists of argument types, and for nothing else.

    Where an argument has the type of None, what is done only if it is not None is left out of the loop. The
    interpreter lock is released while it runs. Forked workers rule out parallel loops.
    """

    def decorate(function: Function) -> Function:
        result: Function = njit([tuple(one) for one in signatures], cache=True, nogil=True)(function)
        return result

    return decorate
