"""The step of the inner loop that keeps of the rows of a key those with the values of a bound row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from watersmeet.kernel.address import first_at_or_after
from watersmeet.kernel.cursor import LOOKUPS, OF_KEY, OF_VALUES
from watersmeet.kernel.pointers import u64_at

# Columns of the table that narrows a window, a row per run: the values of its rows as hashes; the same in the
# order of its index, and that order; zero where there is none.
BY_ROW, INDEXED, ORDER = range(3)


@njit
def narrow_hits(wanted: Any, wide: Any, wide_count: int, narrowing: Any, hits: Any, cursor: Any) -> int:
    """Of the rows of a key those that have a value, a hash; returns in how many runs there are any.

    Args:
        wanted: The value; zero stands for a null, which equals nothing.
        wide: Per run that has the key: the run, first row, end row. Rows are in the order of the index.
        wide_count: How many these are.
        narrowing: The table with the indexes; a run without one keeps all rows of the key.
        hits: Receives the same with fewer rows.
        cursor: What is counted: searches, rows before and after.
    """
    kept = 0
    if wanted == 0:
        return kept
    for i in range(wide_count):
        low, high = wide[i, 1], wide[i, 2]
        address = narrowing[wide[i, 0], INDEXED]
        if address != 0:
            cursor[LOOKUPS] += 1
            cursor[OF_KEY] += high - low
            values = u64_at(address, high)
            low = first_at_or_after(values, low, high, wanted)
            high = first_at_or_after(values, low, high, wanted + np.uint64(1))
            cursor[OF_VALUES] += high - low
        if low < high:
            hits[kept, 0], hits[kept, 1], hits[kept, 2] = wide[i, 0], low, high
            kept += 1
    return kept
