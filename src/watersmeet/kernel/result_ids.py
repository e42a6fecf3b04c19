"""Ids of results: the same when a batch runs again, different for different results.

    id = hash(streams, bucket, batch, content, which one among equal results of that batch and bucket)

Equal results are alike in all that anybody can see, so it does not matter which of them is the first: the
order in which results are found has no part in their ids. All the rest is the same when a batch runs again.
The bucket is part of it, so that buckets need not agree on who has the first of equal results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from watersmeet.kernel.compiled import I64, OUT_I64, OUT_U64, U8, U64, U64_TABLE, compiled
from watersmeet.kernel.digest import digests
from watersmeet.kernel.hashing import mix

# Hexadecimal digits of an id.
ID_DIGITS = 32
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_LEAST_PLACES = 1 << 10


class ResultIds:
    """Gives ids to the results of one batch of one bucket."""

    def __init__(self, streams: Sequence[str], bucket: str, batch: int) -> None:
        """Start a batch.

        Args:
            streams: The streams whose rows are in the results: a query may hold several joins.
            bucket: The name of the bucket.
            batch: A number that this batch of the bucket has, whenever it runs, and no other.
        """
        said = json.dumps([list(streams), bucket, batch]).encode()
        self._start = np.frombuffer(hashlib.blake2b(said, digest_size=16).digest(), "<u8").astype(np.uint64)
        self._seen = _Seen()

    def of(self, columns: Sequence[pa.Array], rows: int) -> pa.Array:
        """The ids of some results, as texts.

        >>> ids = ResultIds(["a", "b"], "0", 7)
        >>> first, second = ids.of([pa.array([5, 5])], 2).to_pylist()
        >>> len(first), first == second
        (32, False)
        >>> ResultIds(["a", "b"], "0", 7).of([pa.array([5])], 1)[0].as_py() == first
        True
        """
        content = digests(columns, rows)
        ordinals = self._seen.add(np.ascontiguousarray(content[:, 0]))
        offsets = np.arange(rows + 1, dtype=np.int32) * ID_DIGITS
        texts = _written(content, self._start, ordinals, _DIGITS)
        return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(texts)])


class _Seen:
    """How often each content was seen in this batch.

    Contents are told apart by 64 of their bits. Two that share them, which is a matter of chance, count
    together, and their ids still differ. A content takes 32 to 64 bytes until the batch has ended.
    """

    def __init__(self) -> None:
        """Nothing was seen."""
        self._used = 0
        self._hashes = np.zeros(_LEAST_PLACES, np.uint64)
        self._counts = np.zeros(_LEAST_PLACES, np.int64)

    def add(self, hashes: Any) -> Any:
        """For each of some contents how often it was seen before (int64)."""
        needed = 2 * (self._used + len(hashes))
        if needed > len(self._hashes):
            places = 1 << (needed - 1).bit_length()
            before = self._hashes, self._counts
            self._hashes, self._counts = np.zeros(places, np.uint64), np.zeros(places, np.int64)
            _move(self._hashes, self._counts, *before)
        ordinals = np.empty(len(hashes), np.int64)
        self._used += _count(self._hashes, self._counts, hashes, ordinals)
        return ordinals


@njit(inline="always")
def _place(table: Any, counts: Any, wanted: np.uint64) -> Any:
    """Where a content is, or where it can be put; the table is never more than half full."""
    last = np.uint64(len(table) - 1)
    at = wanted & last
    while counts[at] and table[at] != wanted:
        at = (at + np.uint64(1)) & last
    return at


@compiled(OUT_U64, OUT_I64, U64, I64)
def _move(table: Any, counts: Any, old: Any, old_counts: Any) -> None:
    for i in range(len(old)):
        if old_counts[i]:
            at = _place(table, counts, old[i])
            table[at] = old[i]
            counts[at] = old_counts[i]


@compiled(OUT_U64, OUT_I64, U64, OUT_I64)
def _count(table: Any, counts: Any, hashes: Any, ordinals: Any) -> Any:
    """Count contents; returns how many of them are new."""
    new = 0
    for i in range(len(hashes)):
        at = _place(table, counts, hashes[i])
        ordinals[i] = counts[at]
        if counts[at] == 0:
            table[at] = hashes[i]
            new += 1
        counts[at] += 1
    return new


@compiled(U64_TABLE, U64, I64, U8)
def _written(content: Any, start: Any, ordinals: Any, digits: Any) -> Any:
    """The ids, digit by digit."""
    out = np.empty(len(ordinals) * ID_DIGITS, np.uint8)
    for i in range(len(ordinals)):
        for lane in range(2):
            word = mix(mix(content[i, lane] ^ start[lane]) ^ np.uint64(ordinals[i]))
            for k in range(16):
                shift = np.uint64(60 - 4 * k)
                out[i * ID_DIGITS + lane * 16 + k] = digits[(word >> shift) & np.uint64(15)]
    return out
