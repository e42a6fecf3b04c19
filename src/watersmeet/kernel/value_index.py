"""An index of a run by further columns, within each key: it finds the rows that also have some values.

    key      host 1                        host 2
    rows     10  11  12  13  14  15        16  17         by time
    index     b   b   c   a   a   c         a   b         hashes of the values, by value, then time
    order    12  14  10  13  15  11        17  16         which rows these are

Rows of a key stay where the rows of the key are, so keys are found as without it. It says where rows with a
hash stand; whether their values are equal is judged as it is anyway, so nothing rests on hashes.

It is worth its price where a key has many rows. It is made when it is first needed and kept with the run, as
long as that is open; nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.address import AT_ENDS, AT_TIMES
from watersmeet.kernel.compiled import I64, U64, compiled
from watersmeet.kernel.hashing import hash_words
from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.run import Run
from watersmeet.kernel.sorting import order_by_hash_and_time

# Where no key has more rows than this, going through them is as fast as searching. Comparing the values of a
# pair is dear, so that is soon: with names of 26 letters 8 were slower than 4, and 1 was no better.
_FEW_ROWS = 4
# So few rows are sorted by insertion.
_SMALL = 24


@dataclass(frozen=True, slots=True)
class ValueIndex:
    """The rows of a run by key, value and time.

    Attributes:
        values: The hash of the values, row by row.
        order: Which row of the run each of them is.
        times: When they come alive.
        ends: Until when they live, where the run says it.
        addresses: As `Run.addresses`, with the times and ends of this order.
    """

    values: Any
    order: Any
    times: Any
    ends: Any | None
    addresses: Any


def value_index(run: Run, positions: tuple[int, ...]) -> ValueIndex | None:
    """The index of a run by some of its columns; None where no key has so many rows that it is worth it."""
    known = ("index", positions)
    if known not in run.derived:
        worth_it = len(run.key_hashes) and int(np.diff(run.key_rows).max()) > _FEW_ROWS
        run.derived[known] = _index(run, positions) if worth_it else None
    found: ValueIndex | None = run.derived[known]
    return found


def run_values(run: Run, positions: tuple[int, ...]) -> Any:
    """The values of some columns of a run, as hashes."""
    known = ("values", positions)
    if known not in run.derived:
        run.derived[known] = _hashed(run, positions)
    return run.derived[known]


def _hashed(run: Run, positions: tuple[int, ...]) -> Any:
    return hashed_values([run.columns.column(position) for position in positions])


def hashed_values(columns: Sequence[pa.Array]) -> Any:
    """Row by row a hash of some values (uint64), equal where they are; zero where one of them is null.

    >>> first, missing, again = hashed_values([pa.array(["a", None, "a"])]).tolist()
    >>> first == again, missing
    (True, 0)
    """
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashes = hash_words(hashes ^ encode_keys([column]).hashes)
    # The lowest and the highest number stay free: for nulls, and for the next number after a hash.
    hashes = (hashes >> np.uint64(1)) + np.uint64(1)
    for column in columns:
        if column.null_count:
            hashes[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return hashes


def _index(run: Run, positions: tuple[int, ...]) -> ValueIndex:
    values = _hashed(run, positions)
    order = _order_within_keys(values, run.key_rows)
    times = run.times[order]
    ends = None if run.ends is None else run.ends[order]
    addresses = run.addresses.copy()
    addresses[AT_TIMES] = times.ctypes.data
    addresses[AT_ENDS] = 0 if ends is None else ends.ctypes.data
    return ValueIndex(values[order], order, times, ends, addresses)


@compiled(U64, I64)
def _order_within_keys(values: Any, key_rows: Any) -> Any:
    """The rows by value within each key; rows of a key are by time already, and stay so for equal values."""
    rows = np.arange(len(values))
    order = rows.copy()
    for key in range(len(key_rows) - 1):
        first, last = key_rows[key], key_rows[key + 1]
        if last - first > _SMALL:
            order[first:last] = first + order_by_hash_and_time(values[first:last], rows[first:last])
            continue
        for i in range(first + 1, last):
            row = order[i]
            k = i - 1
            while k >= first and values[order[k]] > values[row]:
                order[k + 1] = order[k]
                k -= 1
            order[k + 1] = row
    return order
