"""128 bits for every row that depend on all it holds, to the last bit, and on nothing else.

The same in every process and however rows are put into blocks. Unlike as keys, 0.0 and -0.0 are two values,
and so are two kinds of NaN. Every value says where it ends, so ("ab", "c") and ("a", "bc") differ.

Two lanes of 64 bits start from different numbers and take in one word after the other. That guards against
chance, not against somebody who wants two rows to look the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from watersmeet.kernel.compiled import I64, OUT_U64_TABLE, U8, U64_TABLE, compiled
from watersmeet.kernel.hashing import mix
from watersmeet.kernel.keys import decimal_words, raw_bytes, words_of

_STEP = np.uint64(0x9E3779B97F4A7C15)
_LANES = np.array([0x243F6A8885A308D3, 0x13198A2E03707344], np.uint64)
_BITS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def digests(columns: Sequence[pa.Array], rows: int) -> Any:
    """Two words for each of some rows (uint64).

    >>> found = digests([pa.array([1, 1, 1]), pa.array([0.0, -0.0, 0.0])], 3)
    >>> bool((found[0] == found[2]).all()), bool((found[0] == found[1]).any())
    (True, False)
    """
    lanes = np.tile(_LANES, (rows, 1))
    for column in columns:
        _absorb(lanes, column)
    return lanes


def _absorb(lanes: Any, column: pa.Array) -> None:
    """Take in a column; what follows a null is not looked at."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_floating(kind):
        column = column.view(_BITS[kind.bit_width])
    valid = column.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
    words = words_of(column)
    if words is not None:
        _absorb_words(lanes, valid, words.reshape(-1, 1))
    elif pa.types.is_decimal128(kind):
        _absorb_words(lanes, valid, decimal_words(column))
    elif (raw := raw_bytes(column)) is not None:
        _absorb_bytes(lanes, valid, raw.offsets, raw.data)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        _absorb_items(lanes, valid, np.asarray(column.offsets, np.int64), _items([column.values]))
    elif pa.types.is_map(kind):
        _absorb_items(lanes, valid, np.asarray(column.offsets, np.int64), _items([column.keys, column.items]))
    elif pa.types.is_struct(kind):
        _absorb_words(lanes, valid, np.zeros((len(column), 1), np.uint64))
        for child in column.flatten():
            _absorb(lanes, child)
    elif pa.types.is_null(kind):
        _absorb_words(lanes, valid, np.zeros((len(column), 1), np.uint64))
    else:
        # By how it is written.
        text = [None if value is None else repr(value) for value in column.to_pylist()]
        _absorb(lanes, pa.array(text, pa.string()))


def _items(columns: list[pa.Array]) -> Any:
    """The items of lists, or the entries of maps, each by itself."""
    return digests(columns, len(columns[0]))


@njit(inline="always")
def _take_in(lanes: Any, row: int, first: np.uint64, second: np.uint64) -> None:
    """One word into each lane."""
    lanes[row, 0] = mix(lanes[row, 0] ^ first) + _STEP
    lanes[row, 1] = mix(lanes[row, 1] ^ second) + _STEP


@njit(inline="always")
def _take_null(lanes: Any, row: int) -> None:
    """A step that no word makes."""
    lanes[row, 0] = mix(~lanes[row, 0])
    lanes[row, 1] = mix(~lanes[row, 1])


@compiled(OUT_U64_TABLE, U8, U64_TABLE)
def _absorb_words(lanes: Any, valid: Any, words: Any) -> None:
    for i in range(len(valid)):
        if valid[i]:
            for w in range(words.shape[1]):
                _take_in(lanes, i, words[i, w], words[i, w])
        else:
            _take_null(lanes, i)


@compiled(OUT_U64_TABLE, U8, I64, U8)
def _absorb_bytes(lanes: Any, valid: Any, offsets: Any, data: Any) -> None:
    """The length, then eight bytes at a time."""
    for i in range(len(valid)):
        if not valid[i]:
            _take_null(lanes, i)
            continue
        at, stop = offsets[i], offsets[i + 1]
        size = np.uint64(stop - at)
        _take_in(lanes, i, size, size)
        while at < stop:
            word = np.uint64(0)
            for k in range(min(8, stop - at)):
                word |= np.uint64(data[at + k]) << np.uint64(8 * k)
            _take_in(lanes, i, word, word)
            at += 8


@compiled(OUT_U64_TABLE, U8, I64, U64_TABLE)
def _absorb_items(lanes: Any, valid: Any, offsets: Any, items: Any) -> None:
    """The number of items, then what stands for each."""
    for i in range(len(valid)):
        if not valid[i]:
            _take_null(lanes, i)
            continue
        size = np.uint64(offsets[i + 1] - offsets[i])
        _take_in(lanes, i, size, size)
        for k in range(offsets[i], offsets[i + 1]):
            _take_in(lanes, i, items[k, 0], items[k, 1])
