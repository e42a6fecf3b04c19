"""Sorting rows by (hash, time) in linear time.

Hashes are spread evenly, so the leading bits alone put almost every row in its place: one counting
pass by these bits, then each small group is put in order by insertion. A group is large only when one
key is hot; those groups are merge-sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from watersmeet.kernel.compiled import I64, U64, compiled

_SMALL = 24


def directory_bits(count: int) -> int:
    """Enough leading bits for about one entry per slot, and at least one."""
    bits = 1
    while (1 << bits) < count and bits < 28:
        bits += 1
    return bits


# Called from Python it would be compiled anew in every worker, while rows wait.
_directory_bits = njit(inline="always")(directory_bits)


@njit
def _merge_sort_group(order: Any, first: int, last: int, hashes: Any, times: Any) -> None:
    group = order[first:last].copy()
    by_time = np.argsort(times[group], kind="mergesort")
    group = group[by_time]
    by_hash = np.argsort(hashes[group], kind="mergesort")
    order[first:last] = group[by_hash]


@compiled(U64, I64)
def order_by_hash_and_time(hashes: Any, times: Any) -> Any:
    """The permutation (int64) that sorts rows by hash (uint64), equal hashes by time (int64)."""
    n = len(hashes)
    bits = _directory_bits(n)
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, np.int64)
    for i in range(n):
        starts[np.int64(hashes[i] >> shift) + 1] += 1
    for slot in range(1 << bits):
        starts[slot + 1] += starts[slot]
    order = np.empty(n, np.int64)
    fill = starts.copy()
    for i in range(n):
        group = np.int64(hashes[i] >> shift)
        order[fill[group]] = i
        fill[group] += 1
    for slot in range(1 << bits):
        first, last = starts[slot], starts[slot + 1]
        if last - first > _SMALL:
            _merge_sort_group(order, first, last, hashes, times)
        elif last - first > 1:
            for i in range(first + 1, last):
                row = order[i]
                k = np.int64(i - 1)
                while k >= first and (
                    hashes[order[k]] > hashes[row]
                    or (hashes[order[k]] == hashes[row] and times[order[k]] > times[row])
                ):
                    order[k + 1] = order[k]
                    k -= 1
                order[k + 1] = row
    return order
