"""The inner loop: rows of one run look for partners in the windows of the other streams.

    dQ/dA := dA, B, C, ...        dA a run of new rows, B and C whatever is visible of their windows

For each key of the head run the loop finds the key in every visible run of every window; a window
without the key ends the work for that key. Otherwise each head row walks the windows depth first:

    head     |----------------|                 (start, end) = alive interval of what is bound so far
    b            |-----------------|            partner: alive at an instant of (start, end)
    bound        |------------|                 = max of starts, min of ends
    c                    |--------|             next window, same test

On a line, intervals that meet pairwise meet all together, so narrowing (start, end) step by step
accepts exactly the combinations whose alive intervals share an instant. A partner of window T must have
its time in [start - T, end]; rows of a key are sorted by time, so that is one binary search. Rows that do not
live equally long (results of another join) carry their ends; then T is the longest life, and each end is
looked at.

A window that has no part in the key is scanned: all its rows within reach are partners.

The last window may be *narrowed*: of the rows of a key only those are gone through that have the values of a
row bound before, of the head or of a window on the way (`kernel.narrow`). That is a loop of its own, compiled
from the same text; the one without has no trace of it.

Nothing is materialised between the windows. The loop stops when the output is full and goes on from
its cursor at the next call, so one hot key cannot exhaust memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from watersmeet.kernel.address import (
    AT_DIRECTORY,
    AT_ENDS,
    AT_HASHES,
    AT_KEY_COUNT,
    AT_KEY_DATA,
    AT_KEY_OFFSETS,
    AT_ROW_COUNT,
    AT_ROWS,
    AT_SHIFT,
    AT_TIMES,
    first_at_or_after,
    same_bytes,
)
from watersmeet.kernel.compiled import I64, OUT_I64, OUT_I64_TABLE, U64, U64_TABLE, compiled_for
from watersmeet.kernel.cursor import (
    CURSOR_INSIDE,
    CURSOR_KEY,
    CURSOR_ROW,
    CURSOR_WINDOWS,
    EXAMINED,
    LOOKUPS,
)
from watersmeet.kernel.narrow_hits import BY_ROW, ORDER, narrow_hits
from watersmeet.kernel.pointers import i64_at, u8_at, u32_at, u64_at

# A place is run << ROW_BITS | row.
ROW_BITS = 32

# Keys located at a time: what is known about them stays in the cache until it is used.
_BLOCK = 256


@njit(inline="always")
def _same_key(left: Any, i: int, right: Any, j: int) -> bool:
    left_offsets = i64_at(left[AT_KEY_OFFSETS], np.int64(left[AT_KEY_COUNT]) + 1)
    right_offsets = i64_at(right[AT_KEY_OFFSETS], np.int64(right[AT_KEY_COUNT]) + 1)
    a = u8_at(left[AT_KEY_DATA], left_offsets[i + 1])
    b = u8_at(right[AT_KEY_DATA], right_offsets[j + 1])
    return same_bytes(left_offsets, a, i, right_offsets, b, j)  # type: ignore[no-any-return]


@njit
def _locate(
    head: Any,
    runs: Any,
    chosen: Any,
    first_run: Any,
    scanned: Any,
    first_key: int,
    keys: Any,
    hits: Any,
    hit_count: Any,
    cursor: Any,
) -> int:
    """Find a block of head keys in every window; returns how many keys every window holds.

    Run by run rather than key by key: both sides are in hash order, so memory is read front to back.
    `keys` receives the surviving keys; `hits[i, j]` receives (run, first row, end row) of the j-th run that
    has the i-th key, where j counts from the first run of the window.
    """
    key_count = np.int64(head[AT_KEY_COUNT])
    head_hashes = u64_at(head[AT_HASHES], key_count)
    verify = head[AT_KEY_OFFSETS] != 0
    alive: int = min(len(keys), int(key_count) - first_key)
    for i in range(alive):
        keys[i] = first_key + i
    for level in range(len(first_run) - 1):
        cursor[LOOKUPS] += alive * (first_run[level + 1] - first_run[level])
        for i in range(alive):
            hit_count[keys[i] - first_key, level] = 0
        for r in range(first_run[level], first_run[level + 1]):
            run = runs[chosen[r]]
            if scanned[level]:
                for i in range(alive):
                    place = keys[i] - first_key
                    j = first_run[level] + hit_count[place, level]
                    hits[place, j, 0] = chosen[r]
                    hits[place, j, 1] = 0
                    hits[place, j, 2] = np.int64(run[AT_ROW_COUNT])
                    hit_count[place, level] += 1
                continue
            hashes = u64_at(run[AT_HASHES], np.int64(run[AT_KEY_COUNT]))
            rows = i64_at(run[AT_ROWS], np.int64(run[AT_KEY_COUNT]) + 1)
            shift = run[AT_SHIFT]
            directory = u32_at(run[AT_DIRECTORY], (np.int64(1) << np.int64(np.uint64(64) - shift)) + 1)
            for i in range(alive):
                key = keys[i]
                wanted = head_hashes[key]
                slot = np.int64(wanted >> shift)
                at, stop = np.int64(directory[slot]), np.int64(directory[slot + 1])
                while at < stop and hashes[at] < wanted:
                    at += 1
                while at < stop and hashes[at] == wanted:
                    if not verify or _same_key(head, key, run, at):
                        place = key - first_key
                        j = first_run[level] + hit_count[place, level]
                        hits[place, j, 0] = chosen[r]
                        hits[place, j, 1] = rows[at]
                        hits[place, j, 2] = rows[at + 1]
                        hit_count[place, level] += 1
                        break
                    at += 1
        # A window without the key ends the work for that key.
        kept = 0
        for i in range(alive):
            if hit_count[keys[i] - first_key, level] > 0:
                keys[kept] = keys[i]
                kept += 1
        alive = kept
    return alive


@njit(inline="always")
def _end_of(run: Any, row: int, time: int, window: int) -> int:
    if run[AT_ENDS] == 0:
        return time + window
    return i64_at(run[AT_ENDS], row + 1)[row]  # type: ignore[no-any-return]


_HEADS = U64_TABLE, types.int64
_RUNS = U64_TABLE, I64, I64, I64, I64, types.int64
_OUT = OUT_I64, OUT_I64_TABLE, types.int64
_PLAIN = types.none, types.none, types.int64
_NARROWED = U64_TABLE, U64, types.int64


@compiled_for((*_HEADS, *_RUNS, *_OUT, *_PLAIN), (*_HEADS, *_RUNS, *_OUT, *_NARROWED))
def probe(
    heads: Any,
    head_number: int,
    runs: Any,
    chosen: Any,
    first_run: Any,
    scanned: Any,
    windows: Any,
    head_window: int,
    cursor: Any,
    out: Any,
    filled: int,
    narrowing: Any,
    head_values: Any,
    source: int,
) -> int:
    """Append combinations to `out` and return how many it holds then; less than all it can hold means done.

    Args:
        heads: Runs of new rows.
        head_number: Which of them looks for partners.
        runs: Runs of the other windows.
        chosen: Which of them to look into, window by window in probe order.
        first_run: Where the runs of each window start in `chosen`, and one past the last.
        scanned: Per window whether it has no part in the key; its runs then hold a single key.
        windows: The window lengths in probe order, microseconds.
        head_window: The window length of the head's stream.
        cursor: From `new_cursor`; kept between calls.
        out: One row per combination: the places of the head and of each window, then start and end.
        filled: How many combinations `out` holds already.
        narrowing: Per run what narrows the last window, see above; None leaves it as it is.
        head_values: The value that each row of the head looks for, a hash; zero is a null.
        source: The window whose row has the value instead, by its place in probe order; -1 is the head.
    """
    levels = len(windows)
    deepest = levels - 1
    head = heads[head_number]
    key_count = np.int64(head[AT_KEY_COUNT])
    key_rows = i64_at(head[AT_ROWS], key_count + 1)
    head_times = i64_at(head[AT_TIMES], np.int64(head[AT_ROW_COUNT]))
    keys = np.empty(_BLOCK, np.int64)
    hits = np.empty((_BLOCK, len(chosen), 3), np.int64)
    hit_count = np.empty((_BLOCK, levels), np.int64)
    # Where the last window is narrowed: what it has of a key before that.
    last = first_run[deepest]
    wide = np.empty((0 if narrowing is None else len(chosen) - last, 3), np.int64)
    wide_count = 0
    # Per level: which hit, which row of it, where its rows end, and what is bound above the level.
    hit_at = np.empty(levels, np.int64)
    row_at = np.empty(levels, np.int64)
    row_stop = np.empty(levels, np.int64)
    start = np.empty(levels + 1, np.int64)
    end = np.empty(levels + 1, np.int64)
    capacity = len(out)
    examined = cursor[EXAMINED]
    resume = cursor[CURSOR_INSIDE] == 1
    first_key = cursor[CURSOR_KEY]

    while first_key < key_count:
        alive = _locate(head, runs, chosen, first_run, scanned, first_key, keys, hits, hit_count, cursor)
        for i in range(alive):
            key = keys[i]
            mine = hits[key - first_key]
            counts = hit_count[key - first_key]
            if narrowing is not None:
                wide_count = counts[deepest]
                wide[:wide_count] = mine[last : last + wide_count]
            row = cursor[CURSOR_ROW] if resume else key_rows[key]
            while row < key_rows[key + 1]:
                start[0] = head_times[row]
                end[0] = _end_of(head, row, head_times[row], head_window)
                if narrowing is not None and source < 0:
                    value = head_values[row]
                    counts[deepest] = narrow_hits(value, wide, wide_count, narrowing, mine[last:], cursor)
                    if counts[deepest] == 0:
                        row += 1
                        continue
                if resume:
                    # Walk down again to where the output was full.
                    resume = False
                    level = deepest
                    for above in range(levels):
                        hit_at[above] = cursor[CURSOR_WINDOWS + 2 * above]
                        row_at[above] = cursor[CURSOR_WINDOWS + 2 * above + 1]
                        hit = mine[first_run[above] + hit_at[above]]
                        times = i64_at(runs[hit[0], AT_TIMES], hit[2])
                        row_stop[above] = first_at_or_after(times, hit[1], hit[2], end[above] + 1)
                        time = times[row_at[above]]
                        start[above + 1] = max(start[above], time)
                        row_end = _end_of(runs[hit[0]], row_at[above], time, windows[above])
                        end[above + 1] = min(end[above], row_end)
                        if narrowing is not None and above == source:
                            value = u64_at(narrowing[hit[0], BY_ROW], row_at[above] + 1)[row_at[above]]
                            counts[deepest] = narrow_hits(
                                value, wide, wide_count, narrowing, mine[last:], cursor
                            )
                else:
                    level = 0
                    hit_at[0] = -1
                    row_at[0] = 0
                    row_stop[0] = 0
                while level >= 0:
                    row_at[level] += 1
                    if row_at[level] >= row_stop[level]:
                        # This run is finished: on to the next one of the window that has a row in reach.
                        found = False
                        at = hit_at[level] + 1
                        while at < counts[level]:
                            hit = mine[first_run[level] + at]
                            times = i64_at(runs[hit[0], AT_TIMES], hit[2])
                            first = first_at_or_after(times, hit[1], hit[2], start[level] - windows[level])
                            if first < hit[2] and times[first] <= end[level]:
                                row_at[level] = first
                                row_stop[level] = first_at_or_after(times, first, hit[2], end[level] + 1)
                                found = True
                                break
                            at += 1
                        hit_at[level] = at
                        if not found:
                            level -= 1
                            continue
                    examined += 1
                    hit = mine[first_run[level] + hit_at[level]]
                    time = i64_at(runs[hit[0], AT_TIMES], hit[2])[row_at[level]]
                    row_end = _end_of(runs[hit[0]], row_at[level], time, windows[level])
                    if row_end < start[level]:
                        continue
                    start[level + 1] = max(start[level], time)
                    end[level + 1] = min(end[level], row_end)
                    if level < deepest:
                        if narrowing is not None and level == source:
                            value = u64_at(narrowing[hit[0], BY_ROW], row_at[level] + 1)[row_at[level]]
                            counts[deepest] = narrow_hits(
                                value, wide, wide_count, narrowing, mine[last:], cursor
                            )
                            if counts[deepest] == 0:
                                continue
                        level += 1
                        hit_at[level] = -1
                        row_at[level] = 0
                        row_stop[level] = 0
                        continue
                    out[filled, 0] = (head_number << ROW_BITS) | row
                    for above in range(levels):
                        owner = mine[first_run[above] + hit_at[above], 0]
                        out[filled, above + 1] = (owner << ROW_BITS) | row_at[above]
                    if narrowing is not None:
                        owner, place = mine[last + hit_at[deepest], 0], row_at[deepest]
                        if narrowing[owner, ORDER] != 0:
                            place = i64_at(narrowing[owner, ORDER], place + 1)[place]
                        out[filled, levels] = (owner << ROW_BITS) | place
                    out[filled, levels + 1] = start[levels]
                    out[filled, levels + 2] = end[levels]
                    filled += 1
                    if filled == capacity:
                        cursor[CURSOR_KEY] = key
                        cursor[CURSOR_ROW] = row
                        cursor[CURSOR_INSIDE] = 1
                        cursor[EXAMINED] = examined
                        for above in range(levels):
                            cursor[CURSOR_WINDOWS + 2 * above] = hit_at[above]
                            cursor[CURSOR_WINDOWS + 2 * above + 1] = row_at[above]
                        return filled
                row += 1
        first_key += _BLOCK
    cursor[CURSOR_KEY] = key_count
    cursor[CURSOR_INSIDE] = 0
    cursor[EXAMINED] = examined
    return filled
