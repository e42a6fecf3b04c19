"""How compiled loops see a run: a row of addresses, and the two steps every look into a run begins with."""

from __future__ import annotations

from typing import Any

from numba import njit

# Columns of the address table; `Run.addresses` fills them.
(
    AT_HASHES,
    AT_ROWS,
    AT_DIRECTORY,
    AT_SHIFT,
    AT_TIMES,
    AT_KEY_OFFSETS,
    AT_KEY_DATA,
    AT_KEY_COUNT,
    AT_ROW_COUNT,
    AT_ENDS,
) = range(10)


@njit(inline="always")
def same_bytes(left_offsets: Any, left: Any, i: int, right_offsets: Any, right: Any, j: int) -> bool:
    """Whether the i-th string on the left is the j-th on the right."""
    size = left_offsets[i + 1] - left_offsets[i]
    if size != right_offsets[j + 1] - right_offsets[j]:
        return False
    for k in range(size):
        if left[left_offsets[i] + k] != right[right_offsets[j] + k]:
            return False
    return True


@njit(inline="always")
def first_at_or_after(times: Any, low: int, high: int, wanted: int) -> int:
    """The first place in [low, high) whose time is not before the wanted one; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
