"""A run: an immutable piece of one stream's window, sorted by key and time, ready to be probed.

    directory   slot of leading hash bits -> first key     (rebuilt when a run is opened)
    keys        hash | first row | bytes, unless the hash is one to one
    rows        time | end, unless all live equally long | the columns the query keeps

A probe looks at one slot of the directory, compares hashes and then bytes, and finds all rows of the
key side by side in time order. Keys are stored once however often they occur, two keys of equal hash
are two entries, and a hot key costs no more to find than any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numba import types

from watersmeet.kernel.compiled import I64, U8, U64, compiled
from watersmeet.kernel.gather import buffer_table
from watersmeet.kernel.keys import ByteStrings, Keys
from watersmeet.kernel.sorting import directory_bits, order_by_hash_and_time

# Most lookups are for keys a run does not have. With four slots per key they mostly end at an empty slot,
# which made probing a quarter faster than one slot per key; eight were no better.
_SLOTS_PER_KEY = 4


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one input as they arrive.

    Attributes:
        keys: Their keys.
        times: When they come alive (int64 microseconds).
        columns: The columns that are stored.
        ends: Until when they live, where the input's window does not say it.
    """

    keys: Keys
    times: Any
    columns: pa.RecordBatch
    ends: Any | None = None

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.times)

    def __getitem__(self, some: slice) -> Rows:
        """Some of the rows, one after the other."""
        numbers = range(len(self))[some]
        return self if len(numbers) == len(self) else self.take(np.asarray(numbers))

    def take(self, rows: Any) -> Rows:
        """Some of the rows, by number."""
        ends = None if self.ends is None else self.ends[rows]
        return Rows(self.keys.take(rows), self.times[rows], self.columns.take(pa.array(rows)), ends)


@dataclass(frozen=True, slots=True)
class Run:
    """Rows of one stream, sorted; every array may be a view of a memory-mapped file.

    `derived` has what was computed of it once and is of use again (`kernel.value_index`); it is not stored.
    """

    key_hashes: Any
    key_rows: Any
    key_bytes: ByteStrings | None
    times: Any
    ends: Any | None
    columns: pa.RecordBatch
    directory: Any
    addresses: Any
    buffers: Any
    row_bytes: int
    derived: dict[tuple[str, tuple[int, ...]], Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows the run holds."""
        return len(self.times)


def assemble_run(
    key_hashes: Any, key_rows: Any, key_bytes: ByteStrings | None, times: Any, ends: Any | None, columns: Any
) -> Run:
    """Add the directory, and the row of addresses by which compiled loops know the run (`kernel.address`)."""
    bits = directory_bits(_SLOTS_PER_KEY * len(key_hashes))
    directory = _directory(key_hashes, bits)
    offsets, data = (0, 0)
    if key_bytes is not None:
        offsets, data = key_bytes.offsets.ctypes.data, key_bytes.data.ctypes.data
    addresses = np.array(
        [
            key_hashes.ctypes.data,
            key_rows.ctypes.data,
            directory.ctypes.data,
            64 - bits,
            times.ctypes.data,
            offsets,
            data,
            len(key_hashes),
            len(times),
            0 if ends is None else ends.ctypes.data,
        ],
        np.uint64,
    )
    row_bytes = columns.nbytes // max(1, len(times))
    buffers = buffer_table(columns)
    return Run(
        key_hashes, key_rows, key_bytes, times, ends, columns, directory, addresses, buffers, row_bytes
    )


def run_bytes(run: Run) -> int:
    """About what a run takes: its columns and times, and its keys with their slots of the directory."""
    keys = 0 if run.key_bytes is None else run.key_bytes.data.nbytes + run.key_bytes.offsets.nbytes
    return int(run.columns.nbytes + run.times.nbytes + run.key_hashes.nbytes + run.directory.nbytes + keys)


def replace_columns(run: Run, columns: pa.RecordBatch) -> Run:
    """The same run with other kept columns for its rows."""
    return replace(run, columns=columns, buffers=buffer_table(columns), derived={})


def build_run(rows: Rows) -> Run:
    """Sort rows into a run."""
    keys = rows.keys
    order = order_by_hash_and_time(keys.hashes, rows.times)
    if keys.encoded is not None:
        order = _separate_collisions(order, keys, rows.times)
        starts = _key_starts_verified(keys.hashes, order, keys.encoded.offsets, keys.encoded.data)
    else:
        starts = _key_starts(keys.hashes, order)
    first = order[starts[:-1]]
    key_hashes = keys.hashes[first]
    key_bytes = None if keys.encoded is None else keys.encoded.take(first)
    ends = None if rows.ends is None else rows.ends[order]
    columns = rows.columns.take(pa.array(order))
    return assemble_run(key_hashes, starts, key_bytes, rows.times[order], ends, columns)


def merge_runs(runs: Sequence[Run]) -> Run:
    """One run with the rows of several."""
    return build_run(concat_rows([rows_of(run) for run in runs]))


def rows_of(run: Run) -> Rows:
    """The rows of a run, in its order."""
    per_key = np.diff(run.key_rows)
    encoded = None
    if run.key_bytes is not None:
        encoded = run.key_bytes.take(np.repeat(np.arange(len(per_key)), per_key))
    return Rows(Keys(np.repeat(run.key_hashes, per_key), encoded), run.times, run.columns, run.ends)


def concat_rows(parts: Sequence[Rows]) -> Rows:
    """Rows of one input, one after the other."""
    if len(parts) == 1:
        return parts[0]
    encoded = None
    strings = [part.keys.encoded for part in parts if part.keys.encoded is not None]
    if strings:
        sizes = np.concatenate([np.diff(some.offsets) for some in strings])
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        encoded = ByteStrings(offsets, np.concatenate([some.data for some in strings]))
    ends = [part.ends for part in parts if part.ends is not None]
    return Rows(
        Keys(np.concatenate([part.keys.hashes for part in parts]), encoded),
        np.concatenate([part.times for part in parts]),
        pa.concat_batches([part.columns for part in parts]),
        np.concatenate(ends) if ends else None,
    )


def keys_of_rows(runs: Sequence[Run], owners: Any, rows: Any) -> Keys:
    """The keys of the rows `rows[i]` of the runs `runs[owners[i]]`."""
    hashes = np.empty(len(rows), np.uint64)
    sizes = np.zeros(len(rows), np.int64)
    pieces: list[tuple[Any, ByteStrings]] = []
    for number, run in enumerate(runs):
        mine = np.flatnonzero(owners == number)
        if not len(mine):
            continue
        keys = np.searchsorted(run.key_rows, rows[mine], side="right") - 1
        hashes[mine] = run.key_hashes[keys]
        if run.key_bytes is not None:
            taken = run.key_bytes.take(keys)
            sizes[mine] = np.diff(taken.offsets)
            pieces.append((mine, taken))
    if not pieces:
        return Keys(hashes, None)
    # The pieces one after the other, then each row's bytes from where its piece has them.
    order = np.concatenate([mine for mine, _ in pieces])
    together = ByteStrings(
        np.concatenate([[0], np.cumsum(sizes[order])]), np.concatenate([taken.data for _, taken in pieces])
    )
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Keys(hashes, together.take(place))


def _separate_collisions(order: Any, keys: Keys, times: Any) -> Any:
    """Make rows of one key adjacent where different keys share a hash, which almost never happens."""
    assert keys.encoded is not None
    offsets, data = keys.encoded.offsets, keys.encoded.data
    mixed = _mixed_groups(keys.hashes, order, offsets, data)
    for first, last in mixed.reshape(-1, 2):
        group = order[first:last]
        by_key = sorted(
            group.tolist(), key=lambda row: (data[offsets[row] : offsets[row + 1]].tobytes(), times[row])
        )
        order[first:last] = by_key
    return order


@compiled(U64, I64)
def _key_starts(hashes: Any, order: Any) -> Any:
    n = len(order)
    starts = np.empty(n + 1, np.int64)
    count = 0
    for i in range(n):
        if i == 0 or hashes[order[i]] != hashes[order[i - 1]]:
            starts[count] = i
            count += 1
    starts[count] = n
    return starts[: count + 1].copy()


@compiled(U64, I64, I64, U8)
def _key_starts_verified(hashes: Any, order: Any, offsets: Any, data: Any) -> Any:
    n = len(order)
    starts = np.empty(n + 1, np.int64)
    count = 0
    for i in range(n):
        if i > 0 and hashes[order[i]] == hashes[order[i - 1]]:
            a, b = order[i], order[i - 1]
            size = offsets[a + 1] - offsets[a]
            same = size == offsets[b + 1] - offsets[b]
            k = 0
            while same and k < size:
                same = data[offsets[a] + k] == data[offsets[b] + k]
                k += 1
            if same:
                continue
        starts[count] = i
        count += 1
    starts[count] = n
    return starts[: count + 1].copy()


@compiled(U64, I64, I64, U8)
def _mixed_groups(hashes: Any, order: Any, offsets: Any, data: Any) -> Any:
    """Flat (first, last) pairs of the groups of equal hash that hold more than one key."""
    found = np.empty(len(order) + 1, np.int64)
    count = 0
    n = len(order)
    first = 0
    while first < n:
        last = first + 1
        mixed = False
        while last < n and hashes[order[last]] == hashes[order[first]]:
            a, b = order[first], order[last]
            size = offsets[a + 1] - offsets[a]
            same = size == offsets[b + 1] - offsets[b]
            k = 0
            while same and k < size:
                same = data[offsets[a] + k] == data[offsets[b] + k]
                k += 1
            mixed = mixed or not same
            last += 1
        if mixed:
            found[count] = first
            found[count + 1] = last
            count += 2
        first = last
    return found[:count].copy()


@compiled(U64, types.int64)
def _directory(key_hashes: Any, bits: int) -> Any:
    slots = 1 << bits
    shift = np.uint64(64 - bits)
    directory = np.empty(slots + 1, np.uint32)
    key = 0
    for slot in range(slots):
        while key < len(key_hashes) and np.int64(key_hashes[key] >> shift) < slot:
            key += 1
        directory[slot] = key
    directory[slots] = len(key_hashes)
    return directory
