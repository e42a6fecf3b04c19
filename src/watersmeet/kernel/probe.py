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
its time in [start - T, end]; rows of a key are sorted by time, so that is one binary search.

Nothing is materialised between the windows. The loop stops when the output is full and goes on from
its cursor at the next call, so one hot key cannot exhaust memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from watersmeet.kernel.compiled import I64, OUT_I64, OUT_I64_TABLE, U64_TABLE, compiled
from watersmeet.kernel.pointers import i64_at, u8_at, u32_at, u64_at

# Columns of the address table; `Run.addresses` fills them.
_HASHES, _ROWS, _DIRECTORY, _SHIFT, _TIMES, _KEY_OFFSETS, _KEY_DATA, _KEY_COUNT, _ROW_COUNT = range(9)

# Cursor layout: where to go on, and what was counted. After these come, per window, run and row.
CURSOR_KEY, CURSOR_ROW, CURSOR_INSIDE, EXAMINED = range(4)
CURSOR_WINDOWS = 4


def new_cursor(windows: int) -> Any:
    """A cursor at the first row."""
    cursor = np.zeros(CURSOR_WINDOWS + 2 * windows, np.int64)
    cursor[CURSOR_ROW] = -1
    return cursor


@njit(inline="always")
def _same_bytes(left: Any, i: int, right: Any, j: int) -> bool:
    left_offsets = i64_at(left[_KEY_OFFSETS], np.int64(left[_KEY_COUNT]) + 1)
    right_offsets = i64_at(right[_KEY_OFFSETS], np.int64(right[_KEY_COUNT]) + 1)
    size = left_offsets[i + 1] - left_offsets[i]
    if size != right_offsets[j + 1] - right_offsets[j]:
        return False
    a = u8_at(left[_KEY_DATA], left_offsets[i + 1])
    b = u8_at(right[_KEY_DATA], right_offsets[j + 1])
    for k in range(size):
        if a[left_offsets[i] + k] != b[right_offsets[j] + k]:
            return False
    return True


@njit(inline="always")
def _find_key(head: Any, key: int, wanted: np.uint64, run: Any) -> int:
    """The position of the head's key in a run, or -1."""
    count = np.int64(run[_KEY_COUNT])
    hashes = u64_at(run[_HASHES], count)
    slot = np.int64(wanted >> run[_SHIFT])
    directory = u32_at(run[_DIRECTORY], slot + 2)
    at, stop = np.int64(directory[slot]), np.int64(directory[slot + 1])
    while at < stop and hashes[at] < wanted:
        at += 1
    while at < stop and hashes[at] == wanted:
        if head[_KEY_OFFSETS] == 0 or _same_bytes(head, key, run, at):
            return at
        at += 1
    return -1


@njit(inline="always")
def _first_at_or_after(times: Any, low: int, high: int, wanted: int) -> int:
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(U64_TABLE, U64_TABLE, I64, I64, types.int64, OUT_I64, OUT_I64_TABLE)
def probe(
    head_table: Any, runs: Any, first_run: Any, windows: Any, head_window: int, cursor: Any, out: Any
) -> int:
    """Fill `out` with combinations and return how many there are; fewer than it holds means done.

    Args:
        head_table: One row, the head run.
        runs: The visible runs of all windows, window by window in probe order.
        first_run: Where the runs of each window start in `runs`, and one past the last.
        windows: The window lengths in probe order, microseconds.
        head_window: The window length of the head's stream.
        cursor: From `new_cursor`; kept between calls.
        out: One row per combination: head row, then per window run * 2**32 + row, then the result time.
    """
    levels = len(windows)
    deepest = levels - 1
    head = head_table[0]
    key_count = np.int64(head[_KEY_COUNT])
    key_hashes = u64_at(head[_HASHES], key_count)
    key_rows = i64_at(head[_ROWS], key_count + 1)
    head_times = i64_at(head[_TIMES], np.int64(head[_ROW_COUNT]))
    # Per run the rows of the current key; per level where the walk stands and what is bound above it.
    low = np.empty(len(runs), np.int64)
    high = np.empty(len(runs), np.int64)
    run_at = np.empty(levels, np.int64)
    row_at = np.empty(levels, np.int64)
    row_stop = np.empty(levels, np.int64)
    start = np.empty(levels + 1, np.int64)
    end = np.empty(levels + 1, np.int64)
    capacity = len(out)
    filled = 0
    examined = cursor[EXAMINED]
    row = cursor[CURSOR_ROW]
    resume = cursor[CURSOR_INSIDE] == 1

    for key in range(cursor[CURSOR_KEY], key_count):
        wanted = key_hashes[key]
        alive = True
        for level in range(levels):
            present = False
            for r in range(first_run[level], first_run[level + 1]):
                at = _find_key(head, key, wanted, runs[r])
                if at >= 0:
                    rows_of_key = i64_at(runs[r, _ROWS], at + 2)
                    low[r] = rows_of_key[at]
                    high[r] = rows_of_key[at + 1]
                    present = True
                else:
                    low[r] = 0
                    high[r] = 0
            if not present:
                alive = False
                break
        if not alive:
            continue
        if not resume:
            row = key_rows[key]
        while row < key_rows[key + 1]:
            start[0] = head_times[row]
            end[0] = head_times[row] + head_window
            if resume:
                # Walk down again to where the output was full.
                resume = False
                level = deepest
                for above in range(levels):
                    run_at[above] = cursor[CURSOR_WINDOWS + 2 * above]
                    row_at[above] = cursor[CURSOR_WINDOWS + 2 * above + 1]
                    r = run_at[above]
                    times = i64_at(runs[r, _TIMES], high[r])
                    row_stop[above] = _first_at_or_after(times, low[r], high[r], end[above] + 1)
                    time = times[row_at[above]]
                    start[above + 1] = max(start[above], time)
                    end[above + 1] = min(end[above], time + windows[above])
            else:
                level = 0
                run_at[0] = first_run[0] - 1
                row_at[0] = 0
                row_stop[0] = 0
            while level >= 0:
                row_at[level] += 1
                if row_at[level] >= row_stop[level]:
                    # This run is finished: the next one of this window that has a row in reach.
                    found = False
                    r = run_at[level] + 1
                    while r < first_run[level + 1]:
                        if low[r] < high[r]:
                            times = i64_at(runs[r, _TIMES], high[r])
                            first = _first_at_or_after(times, low[r], high[r], start[level] - windows[level])
                            if first < high[r] and times[first] <= end[level]:
                                row_at[level] = first
                                row_stop[level] = _first_at_or_after(times, first, high[r], end[level] + 1)
                                found = True
                                break
                        r += 1
                    run_at[level] = r
                    if not found:
                        level -= 1
                        continue
                r = run_at[level]
                examined += 1
                if level == deepest:
                    out[filled, 0] = row
                    for above in range(levels):
                        out[filled, above + 1] = (run_at[above] << 32) | row_at[above]
                    time = i64_at(runs[r, _TIMES], high[r])[row_at[level]]
                    out[filled, levels + 1] = max(start[level], time)
                    filled += 1
                    if filled == capacity:
                        cursor[CURSOR_KEY] = key
                        cursor[CURSOR_ROW] = row
                        cursor[CURSOR_INSIDE] = 1
                        cursor[EXAMINED] = examined
                        for above in range(levels):
                            cursor[CURSOR_WINDOWS + 2 * above] = run_at[above]
                            cursor[CURSOR_WINDOWS + 2 * above + 1] = row_at[above]
                        return filled
                else:
                    time = i64_at(runs[r, _TIMES], high[r])[row_at[level]]
                    start[level + 1] = max(start[level], time)
                    end[level + 1] = min(end[level], time + windows[level])
                    level += 1
                    run_at[level] = first_run[level] - 1
                    row_at[level] = 0
                    row_stop[level] = 0
            row += 1
    cursor[CURSOR_KEY] = key_count
    cursor[CURSOR_INSIDE] = 0
    cursor[EXAMINED] = examined
    return filled
