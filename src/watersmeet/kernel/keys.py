"""Keys as the kernel sees them: a 64-bit hash, and bytes when the hash alone cannot tell keys apart.

Two rows have the same key when Spark's ``=`` says so for every key column. Bytes are compared
instead of values, so each value gets one canonical encoding:

* -0.0 becomes 0.0 and every NaN the same NaN, as Spark does for join keys, inside arrays too;
* every encoding says where it ends, so ("ab", "c") and ("a", "bc") differ;
* a null inside an array or struct equals another null there; a null key column never matches
  anything and is dropped before it gets here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.kernel.compiled import I64, U8, U64_TABLE, compiled
from watersmeet.kernel.hashing import hash_bytes, hash_words

# What `Keys.followed_by` adds to a key.
NUMBER_BYTES = 8

_CANONICAL_NAN = np.uint64(0x7FF8000000000000)


@dataclass(frozen=True, slots=True)
class ByteStrings:
    """Byte strings data[offsets[i]:offsets[i + 1]], int64 offsets."""

    offsets: Any
    data: Any

    def take(self, rows: Any) -> ByteStrings:
        """The strings at these positions."""
        return ByteStrings(*_gather(self.offsets, self.data, rows))

    def __len__(self) -> int:
        """How many strings there are."""
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class Keys:
    """One key per row; `encoded` is None when the hash is one to one."""

    hashes: Any
    encoded: ByteStrings | None

    def take(self, rows: Any) -> Keys:
        """The keys at these positions."""
        return Keys(self.hashes[rows], None if self.encoded is None else self.encoded.take(rows))

    def followed_by(self, numbers: Any) -> Keys:
        """The keys with one more number each (int64), which ends their bytes; it takes `NUMBER_BYTES`."""
        starts = np.arange(len(numbers) + 1, dtype=np.int64) * NUMBER_BYTES
        # A hash that is one to one stands for its key.
        first = self.encoded or ByteStrings(starts, self.hashes.view(np.uint8))
        more = np.ascontiguousarray(numbers).view(np.uint8)
        hashes = hash_words(self.hashes ^ hash_words(numbers.view(np.uint64)))
        return Keys(hashes, ByteStrings(*_concatenate(first.offsets, first.data, starts, more)))


def encode_keys(columns: list[pa.Array]) -> Keys:
    """Hash and encode key columns that hold no null.

    >>> a = encode_keys([pa.array([0.0, 1.0])])
    >>> b = encode_keys([pa.array([-0.0, 1.0])])
    >>> bool((a.hashes == b.hashes).all()), a.encoded is None
    (True, True)
    """
    if len(columns) == 1:
        words = words_of(columns[0])
        if words is not None:
            return Keys(hash_words(words), None)
        raw = raw_bytes(columns[0])
        if raw is not None:
            return Keys(hash_bytes(raw.offsets, raw.data), raw)
    encoded = _side_by_side([_self_delimited(column) for column in columns])
    return Keys(hash_bytes(encoded.offsets, encoded.data), encoded)


def same_keys(left: Keys, right: Keys) -> Any:
    """Row by row, whether two keys are equal."""
    same = left.hashes == right.hashes
    if left.encoded is not None and right.encoded is not None:
        # Hashes can be equal by chance, bytes cannot.
        same &= _same_bytes(
            left.encoded.offsets, left.encoded.data, right.encoded.offsets, right.encoded.data
        )
    return same


@compiled(I64, U8, I64, U8)
def _same_bytes(left_offsets: Any, left: Any, right_offsets: Any, right: Any) -> Any:
    rows = len(left_offsets) - 1
    same = np.zeros(rows, np.bool_)
    for i in range(rows):
        size = left_offsets[i + 1] - left_offsets[i]
        if size != right_offsets[i + 1] - right_offsets[i]:
            continue
        k = 0
        while k < size and left[left_offsets[i] + k] == right[right_offsets[i] + k]:
            k += 1
        same[i] = k == size
    return same


def words_of(column: pa.Array) -> Any:
    """The values as 64-bit words, or None for types that need more; nulls read as zero."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return _filled(column.cast(pa.uint8())).astype(np.uint64)
    if pa.types.is_floating(kind):
        bits = (_filled(column.cast(pa.float64())) + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
        return np.where(np.isnan(bits.view(np.float64)), _CANONICAL_NAN, bits)
    if pa.types.is_integer(kind):
        return _filled(column.cast(pa.int64())).view(np.uint64)
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        integer = pa.int32() if kind.bit_width == 32 else pa.int64()
        return _filled(column.cast(integer).cast(pa.int64())).view(np.uint64)
    if pa.types.is_decimal128(kind) and kind.precision <= 18:
        # Eighteen digits fit in the low word of the two's complement value.
        return np.ascontiguousarray(decimal_words(column)[:, 0])
    return None


def _filled(column: pa.Array) -> Any:
    if column.null_count:
        column = pc.fill_null(column, 0)
    return column.to_numpy(zero_copy_only=False)


def decimal_words(column: pa.Array) -> Any:
    """Decimals as two words each, the lower one first; nulls read as zero."""
    buffer = column.buffers()[1]
    words = np.frombuffer(buffer, np.uint64)[2 * column.offset :][: 2 * len(column)].reshape(-1, 2)
    if column.null_count:
        words = np.where(column.is_null().to_numpy(zero_copy_only=False)[:, None], np.uint64(0), words)
    return words


def raw_bytes(column: pa.Array) -> ByteStrings | None:
    """Strings and binaries as they are; the offsets may start anywhere."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        width: type[np.signedinteger[Any]] = np.int32
    elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        width = np.int64
    elif pa.types.is_fixed_size_binary(kind):
        return raw_bytes(column.cast(pa.binary()))
    else:
        return None
    _, offsets_buffer, data_buffer = column.buffers()
    if len(column) == 0 or offsets_buffer is None:
        return ByteStrings(np.zeros(len(column) + 1, np.int64), np.empty(0, np.uint8))
    offsets = np.frombuffer(offsets_buffer, width)[column.offset :][: len(column) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    return ByteStrings(offsets, data)


def _self_delimited(column: pa.Array) -> ByteStrings:
    """Encode each value as: one byte for null or not, then its content, which says where it ends."""
    valid = column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
    words = words_of(column)
    if words is not None:
        return ByteStrings(*_encode_fixed(valid, words.reshape(-1, 1)))
    kind = column.type
    if pa.types.is_decimal128(kind):
        return ByteStrings(*_encode_fixed(valid, decimal_words(column)))
    raw = raw_bytes(column)
    if raw is not None:
        return ByteStrings(*_encode_counted(valid, raw.offsets, raw.offsets, raw.data))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        starts = np.asarray(column.offsets, np.int64)
        items = _self_delimited(column.values)
        return ByteStrings(*_encode_counted(valid, starts, items.offsets[starts], items.data))
    if pa.types.is_struct(kind):
        fields = [_self_delimited(child) for child in column.flatten()]
        inner = (
            _side_by_side(fields) if fields else ByteStrings(np.zeros(len(column) + 1, np.int64), valid[:0])
        )
        return ByteStrings(*_encode_counted(valid, inner.offsets, inner.offsets, inner.data))
    if pa.types.is_null(kind):
        return ByteStrings(np.arange(len(column) + 1, dtype=np.int64), valid)
    raise TypeError(f"values of type {kind} cannot be keys")


def _side_by_side(parts: list[ByteStrings]) -> ByteStrings:
    joined = parts[0]
    for part in parts[1:]:
        joined = ByteStrings(*_concatenate(joined.offsets, joined.data, part.offsets, part.data))
    return joined


@compiled(U8, U64_TABLE)
def _encode_fixed(valid: Any, words: Any) -> Any:
    n, width = words.shape
    offsets = np.empty(n + 1, np.int64)
    data = np.empty(n * (1 + 8 * width), np.uint8)
    at = 0
    for i in range(n):
        offsets[i] = at
        data[at] = valid[i]
        at += 1
        if valid[i]:
            for w in range(width):
                word = words[i, w]
                for k in range(8):
                    data[at] = np.uint8((word >> np.uint64(8 * k)) & np.uint64(255))
                    at += 1
    offsets[n] = at
    return offsets, data[:at]


@compiled(U8, I64, I64, U8)
def _encode_counted(valid: Any, counts: Any, bounds: Any, source: Any) -> Any:
    """Null byte, 4-byte count (of items or bytes), then source[bounds[i]:bounds[i + 1]]."""
    n = len(valid)
    size = 5 * n
    for i in range(n):
        if valid[i]:
            size += bounds[i + 1] - bounds[i]
    offsets = np.empty(n + 1, np.int64)
    data = np.empty(size, np.uint8)
    at = 0
    for i in range(n):
        offsets[i] = at
        data[at] = valid[i]
        at += 1
        if valid[i]:
            count = np.uint64(counts[i + 1] - counts[i])
            for k in range(4):
                data[at] = np.uint8((count >> np.uint64(8 * k)) & np.uint64(255))
                at += 1
            for k in range(bounds[i], bounds[i + 1]):
                data[at] = source[k]
                at += 1
    offsets[n] = at
    return offsets, data[:at]


@compiled(I64, U8, I64, U8)
def _concatenate(left_offsets: Any, left: Any, right_offsets: Any, right: Any) -> Any:
    n = len(left_offsets) - 1
    size = left_offsets[n] - left_offsets[0] + right_offsets[n] - right_offsets[0]
    offsets = np.empty(n + 1, np.int64)
    data = np.empty(size, np.uint8)
    at = 0
    for i in range(n):
        offsets[i] = at
        for k in range(left_offsets[i], left_offsets[i + 1]):
            data[at] = left[k]
            at += 1
        for k in range(right_offsets[i], right_offsets[i + 1]):
            data[at] = right[k]
            at += 1
    offsets[n] = at
    return offsets, data


@compiled(I64, U8, I64)
def _gather(offsets: Any, data: Any, rows: Any) -> Any:
    size = 0
    for row in rows:
        size += offsets[row + 1] - offsets[row]
    out_offsets = np.empty(len(rows) + 1, np.int64)
    out = np.empty(size, np.uint8)
    at = 0
    for i in range(len(rows)):
        out_offsets[i] = at
        for k in range(offsets[rows[i]], offsets[rows[i] + 1]):
            out[at] = data[k]
            at += 1
    out_offsets[len(rows)] = at
    return out_offsets, out
