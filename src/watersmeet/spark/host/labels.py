"""Group labels that Spark sends where we want them.

Spark places a group by ``hash(label) mod partitions`` (Murmur3 with seed 42). Labels 0, 1, 2, ... would
land unevenly: with two partitions, 0 and 1 fall into the same one. Murmur3 of a 32-bit integer can be
undone, so bucket i gets the label whose hash *is* i, and sits in partition ``i mod partitions`` for any
number of partitions. Spark keeps the number of a checkpoint's first start, whatever later sessions say.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42


def label_of(bucket: int) -> int:
    """The 32-bit label whose Spark hash is `bucket`.

    >>> label_of(0), label_of(1)
    (-1693959553, -1910889132)
    """
    # Murmur3 for one 4-byte block, step by step from its end to its start.
    state = _undo_xor_shift(bucket, 16)
    state = _undo_multiply(state, 0xC2B2AE35)
    state = _undo_xor_shift(state, 13)
    state = _undo_multiply(state, 0x85EBCA6B)
    state = _undo_xor_shift(state, 16)
    state ^= 4
    state = _undo_multiply(state - 0xE6546B64, 5)
    state = _rotate_right(state, 13)
    block = _undo_multiply(state ^ _SEED, 0x1B873593)
    block = _rotate_right(block, 15)
    block = _undo_multiply(block, 0xCC9E2D51)
    return block - (1 << 32) if block >> 31 else block


def _undo_multiply(value: int, factor: int) -> int:
    return value * pow(factor, -1, 1 << 32) & _MASK


def _undo_xor_shift(value: int, bits: int) -> int:
    result = value
    for _ in range(32 // bits + 1):
        result = value ^ (result >> bits)
    return result


def _rotate_right(value: int, bits: int) -> int:
    return ((value >> bits) | (value << (32 - bits))) & _MASK
