"""A key as people read it: what `kernel.keys` encodes, decoded again.

Only reports need this, for a few keys, so it is plain Python.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from watersmeet.kernel.keys import NUMBER_BYTES
from watersmeet.kernel.run import Run

_MASK = (1 << 64) - 1
_UNSTEP = 0x9E3779B97F4A7C15


def key_text(run: Run, key: int, types: Sequence[pa.DataType], *, with_slot: bool = False) -> str:
    """The values of a key of a run; nested ones as their bytes.

    Args:
        run: The run.
        key: Which of its keys.
        types: The types of the key's columns.
        with_slot: Whether a slot follows, which is left out.
    """
    if run.key_bytes is None:
        return _word(unhashed(int(run.key_hashes[key])), types[0]) if types else ""
    start, stop = int(run.key_bytes.offsets[key]), int(run.key_bytes.offsets[key + 1])
    data = bytes(run.key_bytes.data[start:stop])
    if with_slot:
        data = data[:-NUMBER_BYTES]
        if len(types) == 1 and len(data) == NUMBER_BYTES and _is_word(types[0]):
            return _word(unhashed(int.from_bytes(data, "little")), types[0])
    if len(types) == 1 and _is_bytes(types[0]):
        return _bytes(data, types[0])
    values, at = [], 0
    for kind in types:
        if at >= len(data):
            break
        value, at = _delimited(data, at, kind)
        values.append(value)
    return ", ".join(values)


def unhashed(value: int) -> int:
    """The 64-bit word a hash was made of: every step of the mixer undone.

    >>> import numpy as np
    >>> from watersmeet.kernel.hashing import hash_words
    >>> unhashed(int(hash_words(np.array([42], np.uint64))[0]))
    42
    """
    word = value ^ (value >> 31) ^ (value >> 62)
    word = word * pow(0x94D049BB133111EB, -1, 1 << 64) & _MASK
    word ^= (word >> 27) ^ (word >> 54)
    word = word * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & _MASK
    word ^= (word >> 30) ^ (word >> 60)
    return (word - _UNSTEP) & _MASK


def _word(word: int, kind: pa.DataType) -> str:
    signed = word - (1 << 64) if word >> 63 else word
    if pa.types.is_boolean(kind):
        return "true" if word else "false"
    if pa.types.is_floating(kind):
        return repr(struct.unpack("<d", struct.pack("<Q", word))[0])
    if pa.types.is_decimal(kind):
        return str(Decimal(signed).scaleb(-kind.scale))
    if pa.types.is_temporal(kind):
        try:
            integer = pa.int32() if kind.bit_width == 32 else pa.int64()
            return str(pa.scalar(signed, pa.int64()).cast(integer).cast(kind).as_py())
        except (pa.ArrowInvalid, ValueError, OverflowError):
            return str(signed)  # a year Python has no dates for
    return str(signed)


def _delimited(data: bytes, at: int, kind: pa.DataType) -> tuple[str, int]:
    """One value of a key of several columns, and where the next one starts."""
    if not data[at]:
        return "null", at + 1
    at += 1
    if _is_bytes(kind):
        size = int.from_bytes(data[at : at + 4], "little")
        return _bytes(data[at + 4 : at + 4 + size], kind), at + 4 + size
    wide = pa.types.is_decimal(kind) and kind.precision > 18
    if wide:
        number = int.from_bytes(data[at : at + 16], "little", signed=True)
        return str(Decimal(number).scaleb(-kind.scale)), at + 16
    if pa.types.is_nested(kind):
        # What follows cannot be told apart without decoding it all.
        return "0x" + data[at:].hex(), len(data)
    return _word(int.from_bytes(data[at : at + 8], "little"), kind), at + 8


def _is_bytes(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _is_word(kind: Any) -> bool:
    """Whether values are told by their hash."""
    return not _is_bytes(kind) and not pa.types.is_nested(kind)


def _bytes(data: bytes, kind: Any) -> str:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return data.decode(errors="replace") if text else "0x" + data.hex()
