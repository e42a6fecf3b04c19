"""Values in texts that every parser reads alike, and the loops that read them.

A value is simple if it is written as programs write it: `17`, `-0.25`, `true`, `2026-05-01T12:00:00.25Z`.
Whoever has a parser reads the others with it. The loops say where a value ends, and -1 where it is not
simple. What they find stands in two tables, column by column:

    found   whole numbers, 1 for true, days, microseconds; where texts and numbers begin
    more    how long texts and numbers are; -1 for nulls
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit, types

from watersmeet.kernel.compiled import I64, U8, compiled
from watersmeet.kernel.pointers import copy_bytes, u64_at


class Kind(IntEnum):
    """What a field may hold, beside null."""

    WHOLE = 0
    NUMBER = 1
    TEXT = 2
    FLAG = 3
    INSTANT = 4
    DAY = 5
    # A field of a line that nobody needs.
    ANY = 6


class SimpleField(NamedTuple):
    """A field of a record, or of a line.

    Attributes:
        name: Its name.
        kind: What it holds.
        digits: The most digits of a whole number.
    """

    name: str
    kind: Kind
    digits: int = 18


def columns_of(fields: Sequence[SimpleField], data: Any, found: Any, more: Any) -> list[pa.Array]:
    """What was found, column by column. Whole numbers are int64."""
    return [_column(field.kind, data, found[i], more[i]) for i, field in enumerate(fields)]


def _column(kind: Kind, data: Any, found: Any, more: Any) -> pa.Array:
    absent = more == _NULL
    mask = absent if absent.any() else None
    if kind is Kind.TEXT:
        return _texts(data, found, more, mask)
    if kind is Kind.NUMBER:
        # Arrow rounds as Java does: to the nearest one there is.
        return _texts(data, found, more, mask).cast(pa.float64())
    if kind is Kind.FLAG:
        return pa.array(found == 1, mask=mask)
    if kind is Kind.DAY:
        return pa.array(found.astype(np.int32), mask=mask).cast(pa.date32())
    if kind is Kind.ANY:
        return pa.nulls(len(found))
    column = pa.array(found, mask=mask)
    return column.cast(pa.timestamp("us", tz="UTC")) if kind is Kind.INSTANT else column


def _texts(data: Any, starts: Any, lengths: Any, mask: Any) -> pa.Array:
    lengths = lengths if mask is None else np.where(mask, 0, lengths)
    offsets, gathered = gather_texts(data, starts, lengths)
    valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(gathered)]
    return pa.Array.from_buffers(pa.string(), len(starts), buffers)


def gather_texts(data: Any, starts: Any, lengths: Any) -> tuple[Any, Any]:
    """Texts one behind the other, and where each begins."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    gathered = np.empty(max(int(offsets[-1]), 1), np.uint8)
    copy_texts(data, starts, offsets, gathered.ctypes.data)
    return offsets.astype(np.int32), gathered


@compiled(U8, I64, I64, types.uint64)
def copy_texts(data: Any, starts: Any, offsets: Any, target: Any) -> None:
    """Put texts one behind the other."""
    for i in range(len(starts)):
        length = offsets[i + 1] - offsets[i]
        copy_bytes(target + np.uint64(offsets[i]), np.uint64(data.ctypes.data) + np.uint64(starts[i]), length)


_NULL = -1
# So long is no number that a program writes.
_MOST_SIGNS = 40
_SPACE, _PLUS, _MINUS, _POINT, _COLON, _ZERO, _NINE = (ord(sign) for sign in " +-.:09")
_UTC, _BETWEEN, _BIG_E, _SMALL_E, _TRUE, _FALSE = (ord(sign) for sign in "ZTEetf")
_WHOLE, _NUMBER, _FLAG, _INSTANT = (int(kind) for kind in (Kind.WHOLE, Kind.NUMBER, Kind.FLAG, Kind.INSTANT))


@njit
def is_word(data: Any, at: Any, end: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Whether these four signs come next."""
    if at + 4 > end:
        return False
    return data[at] == a and data[at + 1] == b and data[at + 2] == c and data[at + 3] == d


@njit
def after_sign(data: Any, at: Any, end: Any) -> Any:
    """Where a sign beyond ASCII ends; -1 where there is none in UTF-8."""
    first = data[at]
    if 0xC2 <= first <= 0xDF:
        more = 1
    elif 0xE0 <= first <= 0xEF:
        more = 2
    elif 0xF0 <= first <= 0xF4:
        more = 3
    else:
        return -1
    if at + more >= end:
        return -1
    second = data[at + 1]
    # Written longer than need be, halves of pairs, and beyond the last sign.
    if (
        (first == 0xE0 and second < 0xA0)
        or (first == 0xED and second > 0x9F)
        or (first == 0xF0 and second < 0x90)
        or (first == 0xF4 and second > 0x8F)
    ):
        return -1
    for i in range(1, more + 1):
        if data[at + i] & 0xC0 != 0x80:
            return -1
    return at + more + 1


_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@njit
def past_plain(data: Any, at: Any, end: Any, first: Any, second: Any, third: Any) -> Any:
    """Go on by eight bytes as long as all are ASCII, no control signs, and none of these three."""
    address = np.uint64(data.ctypes.data)
    while at + 8 <= end:
        word = u64_at(address + np.uint64(at), 1)[0]
        a, b = word ^ (_ONES * np.uint64(first)), word ^ (_ONES * np.uint64(second))
        c = word ^ (_ONES * np.uint64(third))
        small = (word - _ONES * np.uint64(_SPACE)) & ~word
        found = small | ((a - _ONES) & ~a) | ((b - _ONES) & ~b) | ((c - _ONES) & ~c) | word
        if found & _TOPS:
            break
        at += 8
    return at


@njit
def read_value(
    data: Any, at: Any, end: Any, kind: Any, digits: Any, utc: Any, found: Any, more: Any, f: Any, i: Any
) -> Any:
    """Read what is no text. With `utc` times without a zone are those of UTC, else they are not simple."""
    start = at
    more[f, i] = 0
    if kind == _WHOLE:
        at, found[f, i] = _whole(data, at, end, digits)
    elif kind == _NUMBER:
        at = after_number(data, at, end)
        found[f, i], more[f, i] = start, at - start
    elif kind == _FLAG:
        at, found[f, i] = _flag(data, at, end)
    elif kind == _INSTANT:
        at, found[f, i] = _instant(data, at, end, utc)
    else:
        at, found[f, i] = _day(data, at, end)
    return at


@njit
def _is_digit(data: Any, at: Any, end: Any) -> Any:
    return at < end and _ZERO <= data[at] <= _NINE


@njit
def _whole(data: Any, at: Any, end: Any, most: Any) -> Any:
    negative = at < end and data[at] == _MINUS
    if negative:
        at += 1
    first, value = at, 0
    while _is_digit(data, at, end) and at - first <= most:
        value = value * 10 + (data[at] - _ZERO)
        at += 1
    count = at - first
    # Neither "007" nor "-0".
    if count == 0 or count > most or (data[first] == _ZERO and (count > 1 or negative)):
        return -1, 0
    return at, -value if negative else value


@njit
def after_number(data: Any, at: Any, end: Any) -> Any:
    """Where a number ends as JSON has it."""
    start = at
    negative = at < end and data[at] == _MINUS
    if negative:
        at += 1
    first = at
    while _is_digit(data, at, end):
        at += 1
    if at == first or (data[first] == _ZERO and at - first > 1):
        return -1
    if at < end and data[at] == _POINT:
        at += 1
        behind = at
        while _is_digit(data, at, end):
            at += 1
        if at == behind:
            return -1
    elif negative and data[first] == _ZERO:
        return -1
    if at < end and (data[at] == _BIG_E or data[at] == _SMALL_E):
        at += 1
        if at < end and (data[at] == _MINUS or data[at] == _PLUS):
            at += 1
        power = at
        while _is_digit(data, at, end):
            at += 1
        if not 1 <= at - power <= 2:
            return -1
    return at if at - start <= _MOST_SIGNS else -1


@njit
def _flag(data: Any, at: Any, end: Any) -> Any:
    if is_word(data, at, end, _TRUE, ord("r"), ord("u"), _SMALL_E):
        return at + 4, 1
    if at < end and data[at] == _FALSE and is_word(data, at + 1, end, ord("a"), ord("l"), ord("s"), _SMALL_E):
        return at + 5, 0
    return -1, 0


@njit
def _digits(data: Any, at: Any, count: Any) -> Any:
    """So many digits as a number; -1 if they are none."""
    value = 0
    for i in range(count):
        if not _ZERO <= data[at + i] <= _NINE:
            return -1
        value = value * 10 + (data[at + i] - _ZERO)
    return value


@njit
def _day(data: Any, at: Any, end: Any) -> Any:
    """Days since 1970 of "yyyy-mm-dd"."""
    if at + 10 > end or data[at + 4] != _MINUS or data[at + 7] != _MINUS:
        return -1, 0
    year, month, day = _digits(data, at, 4), _digits(data, at + 5, 2), _digits(data, at + 8, 2)
    if not (1900 <= year <= 2999 and 1 <= month <= 12 and 1 <= day <= _days_of(year, month)):
        return -1, 0
    # Years begin in March here, so that the day that is not always there is the last.
    year -= month <= 2
    month = (month + 9) % 12
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719_468
    return at + 10, days


@njit
def _days_of(year: Any, month: Any) -> Any:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@njit
def _instant(data: Any, at: Any, end: Any, utc: Any) -> Any:
    """Microseconds since 1970 of "yyyy-mm-ddThh:mm:ss[.ffffff][zone]"."""
    at, days = _day(data, at, end)
    if at < 0 or at + 9 > end or not (data[at] == _BETWEEN or data[at] == _SPACE):
        return -1, 0
    if data[at + 3] != _COLON or data[at + 6] != _COLON:
        return -1, 0
    hour, minute = _digits(data, at + 1, 2), _digits(data, at + 4, 2)
    second = _digits(data, at + 7, 2)
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59):
        return -1, 0
    at += 9
    micros, scale = 0, 1_000_000
    if at < end and data[at] == _POINT:
        at += 1
        while scale > 1 and _is_digit(data, at, end):
            micros = micros * 10 + (data[at] - _ZERO)
            scale //= 10
            at += 1
        if scale == 1_000_000 or _is_digit(data, at, end):
            return -1, 0
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    if at < end and data[at] == _UTC:
        at += 1
    elif at < end and (data[at] == _PLUS or data[at] == _MINUS):
        if at + 6 > end or data[at + 3] != _COLON:
            return -1, 0
        hours, minutes = _digits(data, at + 1, 2), _digits(data, at + 4, 2)
        if not (0 <= hours <= 14 and 0 <= minutes <= 59):
            return -1, 0
        ahead = hours * 3600 + minutes * 60
        seconds += ahead if data[at] == _MINUS else -ahead
        at += 6
    elif not utc:
        return -1, 0
    return at, seconds * 1_000_000 + micros * scale
