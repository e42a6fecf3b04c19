"""Bloom filters of keys: small, and sometimes wrong in one direction, never in the other.

Written here because keys are already hashed to 64 bits, whole columns at a time and alike on every machine; a
filter is then a few lines of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.plan.sites.bloom import ONE_FILTER, FilterSize

# Its powers are the factors of multiplicative hashes.
_ODD = 0x9E3779B97F4A7C15


def bloom_filter(hashes: Any, size: FilterSize = ONE_FILTER) -> Any:
    """The filter of some distinct keys, by their hashes (uint8 array).

    >>> some = np.array([3, 7], np.uint64) << np.uint64(40)
    >>> passing(bloom_filter(some), some).tolist()
    [True, True]
    """
    bits = np.zeros(max(8, -(-len(hashes) * size.bits // 8) * 8), np.bool_)
    for positions in _positions(hashes, len(bits), size):
        bits[positions] = True
    return np.packbits(bits)


def passing(bloom: Any, hashes: Any, size: FilterSize = ONE_FILTER) -> Any:
    """Which keys may be in a filter."""
    bits = np.unpackbits(bloom).view(np.bool_)
    found = np.ones(len(hashes), np.bool_)
    for positions in _positions(hashes, len(bits), size):
        found &= bits[positions]
    return found


def _positions(hashes: Any, length: int, size: FilterSize) -> Iterator[Any]:
    """Where the bits of keys are, each by a hash of its own.

    Two hashes for all positions would do for large filters. In one of twenty keys or fewer bits would then be
    equally far apart, and keys with the same distance share most of them: three to twenty times the errors.
    """
    for number in range(size.positions):
        factor = np.uint64(pow(_ODD, number + 1, 1 << 64))
        yield (hashes * factor >> np.uint64(32)) % np.uint64(length)


def to_table(bloom: Any) -> pa.RecordBatch:
    """A filter on its way."""
    return pa.record_batch([pa.array(bloom)], ["filter"])


def from_table(table: pa.RecordBatch) -> Any:
    """A filter that has come."""
    return table.column(0).to_numpy()
