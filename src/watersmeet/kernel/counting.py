"""How many rows of a key fall into a span of time: what a window of rows is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from watersmeet.kernel.address import (
    AT_DIRECTORY,
    AT_HASHES,
    AT_KEY_COUNT,
    AT_KEY_DATA,
    AT_KEY_OFFSETS,
    AT_ROWS,
    AT_SHIFT,
    AT_TIMES,
    first_at_or_after,
    same_bytes,
)
from watersmeet.kernel.compiled import I64, U8, U64, U64_TABLE, compiled
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.pointers import i64_at, u8_at, u32_at, u64_at
from watersmeet.kernel.run import Run

_NO_OFFSETS, _NO_BYTES = np.zeros(1, np.int64), np.zeros(0, np.uint8)


def rows_between(runs: Sequence[Run], keys: Keys, after: Any, until: Any) -> Any:
    """Per key given, how many of its rows in some runs have a time in ``(after, until]``.

    Args:
        runs: The runs to count in.
        keys: The keys.
        after: One time per key, excluded.
        until: One time per key, included.
    """
    if not runs:
        return np.zeros(len(keys.hashes), np.int64)
    table = np.stack([run.addresses for run in runs])
    encoded = keys.encoded
    offsets, data = (_NO_OFFSETS, _NO_BYTES) if encoded is None else (encoded.offsets, encoded.data)
    return _count(table, keys.hashes, encoded is not None, offsets, data, after, until)


@compiled(U64_TABLE, U64, types.boolean, I64, U8, I64, I64)
def _count(runs: Any, wanted: Any, verify: Any, offsets: Any, data: Any, after: Any, until: Any) -> Any:
    counts = np.zeros(len(wanted), np.int64)
    for r in range(len(runs)):
        run = runs[r]
        key_count = np.int64(run[AT_KEY_COUNT])
        hashes = u64_at(run[AT_HASHES], key_count)
        rows = i64_at(run[AT_ROWS], key_count + 1)
        times = i64_at(run[AT_TIMES], rows[key_count])
        shift = run[AT_SHIFT]
        directory = u32_at(run[AT_DIRECTORY], (np.int64(1) << np.int64(np.uint64(64) - shift)) + 1)
        for i in range(len(wanted)):
            slot = np.int64(wanted[i] >> shift)
            at, stop = np.int64(directory[slot]), np.int64(directory[slot + 1])
            while at < stop:
                if hashes[at] == wanted[i]:
                    found = True
                    if verify:
                        run_offsets = i64_at(run[AT_KEY_OFFSETS], key_count + 1)
                        run_data = u8_at(run[AT_KEY_DATA], run_offsets[key_count])
                        found = same_bytes(offsets, data, i, run_offsets, run_data, at)
                    if found:
                        first = first_at_or_after(times, rows[at], rows[at + 1], after[i] + 1)
                        last = first_at_or_after(times, first, rows[at + 1], until[i] + 1)
                        counts[i] += last - first
                        break
                at += 1
    return counts
