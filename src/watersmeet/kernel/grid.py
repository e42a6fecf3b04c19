"""An index for numbers that are near each other: a line of cells, each as wide as numbers may be apart.

        cell 4        cell 5        cell 6        cell 7
    |-------------|------x------|-------------|-------------|
                  ^ whatever is near x is in cells 4 to 6

A stored row has the number of its cell as its key, and a row that looks for partners comes three times, once
for each cell they can be in. So numbers are found like keys, and every pair once. What is found is judged by
the condition itself: cells only have to be wide enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.hashing import hash_words
from watersmeet.query.number_band import NumberBand

# Further out a double cannot tell cells apart; what lies there is one cell.
_FURTHEST = float(1 << 50)


def cells(band: NumberBand, values: pa.Array, *, left: bool) -> Any:
    """The cells of numbers; those of nulls mean nothing.

    >>> from watersmeet.query.expression import Field
    >>> band = NumberBand(Field(0, "v", "int"), Field(1, "v", "int"), -3, 3)
    >>> cells(band, pa.array([0, 5, 6, 11, 12]), left=True).tolist()
    [0, 0, 1, 1, 2]
    """
    half = (band.high - band.low) / 2
    # Twice as wide as it has to be: rounding moves a number by less than half a cell.
    width = 2 * half or 1.0
    shift = 0.0 if left else (band.high + band.low) / 2
    numbers = values.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        place = np.floor((numbers + shift) / width)
    # Where a condition could hold for NaN there are no cells, see `query.number_band`.
    return np.nan_to_num(np.clip(place, -_FURTHEST, _FURTHEST)).astype(np.int64)


def cell_hashes(numbers: Any) -> Any:
    """Cells as the hashes of keys, one to one."""
    return hash_words(np.ascontiguousarray(numbers).astype(np.uint64))


def around(numbers: Any) -> tuple[Any, Any]:
    """The cells in which partners can be, three per row, and the rows they belong to."""
    rows = np.repeat(np.arange(len(numbers)), 3)
    return np.repeat(numbers, 3) + np.tile([-1, 0, 1], len(numbers)), rows
