"""The key hash. It decides buckets and is stored in runs: changing it needs a new format version.

Keys that fit in 64 bits go through a mixer that loses nothing (every step can be undone), so for
them equal hashes *are* equal keys. All other keys are hashed as bytes and compared as bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from watersmeet.kernel.compiled import I64, U8, U64, compiled

_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def mix(word: np.uint64) -> np.uint64:
    """A bijection of 64-bit words whose output bits each depend on every input bit."""
    word = (word ^ (word >> np.uint64(30))) * _A
    word = (word ^ (word >> np.uint64(27))) * _B
    return word ^ (word >> np.uint64(31))


@compiled(U64)
def hash_words(words: Any) -> Any:
    """Hash 64-bit words (uint64 array) one to one."""
    out = np.empty(len(words), np.uint64)
    for i in range(len(words)):
        out[i] = mix(words[i] + _STEP)
    return out


@njit(inline="always")
def hash_range(data: Any, start: np.int64, stop: np.int64) -> Any:
    """Hash data[start:stop] (uint8 array), eight bytes at a time; the length is part of the hash."""
    state = mix(np.uint64(stop - start) + _STEP)
    position = start
    while position + 8 <= stop:
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(data[position + k]) << np.uint64(8 * k)
        state = mix(state ^ word) + _STEP
        position += 8
    word = np.uint64(0)
    shift = np.uint64(0)
    while position < stop:
        word |= np.uint64(data[position]) << shift
        shift += np.uint64(8)
        position += 1
    return mix(state ^ word)


@compiled(I64, U8)
def hash_bytes(offsets: Any, data: Any) -> Any:
    """Hash the byte strings data[offsets[i]:offsets[i + 1]] (int64 offsets, uint8 data)."""
    n = len(offsets) - 1
    out = np.empty(n, np.uint64)
    for i in range(n):
        out[i] = hash_range(data, offsets[i], offsets[i + 1])
    return out


@compiled(U64, U8)
def checksum(words: Any, tail: Any) -> Any:
    """A fast checksum of a blob given as uint64 words and the bytes left over.

    Four independent lanes keep the multiplier busy; it guards against damage, not against forgery.
    """
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    n = len(words)
    i = 0
    while i + 4 <= n:
        a = (a ^ words[i]) * _A
        b = (b ^ words[i + 1]) * _A
        c = (c ^ words[i + 2]) * _A
        d = (d ^ words[i + 3]) * _A
        # A multiplication alone never moves a high bit down; the shift does.
        a ^= a >> np.uint64(29)
        b ^= b >> np.uint64(29)
        c ^= c >> np.uint64(29)
        d ^= d >> np.uint64(29)
        i += 4
    while i < n:
        a = (a ^ words[i]) * _A
        a ^= a >> np.uint64(29)
        i += 1
    state = mix(a) ^ mix(b + _STEP) ^ mix(c + _STEP + _STEP) ^ mix(d ^ _B)
    return mix(state ^ hash_range(tail, 0, len(tail)) ^ np.uint64(n))
