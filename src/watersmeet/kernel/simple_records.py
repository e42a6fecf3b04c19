"""Records of JSON that are simple: which ones are, and how their fields become columns.

Most records that programs write look alike: one object with the fields of a schema in their order, and
nothing in them that needs a second look.

    {"id": 17, "ts": "2026-05-01T12:00:00.25Z", "note": "paid"}

What matches `simple_pattern` means the same to every parser of JSON, Spark's among them. Whoever has a parser
decodes the others with it; these are decoded by one loop over their bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit, types

from watersmeet.kernel.compiled import I64, OUT_I64_TABLE, U8, compiled
from watersmeet.kernel.pointers import copy_bytes


class Kind(IntEnum):
    """What a field may hold, beside null."""

    WHOLE = 0
    NUMBER = 1
    TEXT = 2
    FLAG = 3
    INSTANT = 4


class SimpleField(NamedTuple):
    """A field of a record.

    Attributes:
        name: Its name.
        kind: What it holds.
        digits: The most digits of a whole number.
    """

    name: str
    kind: Kind
    digits: int = 18


# Up to the 28th every month has the day.
_DAY = "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
# Java looks up single signs in a table, and compares with the ends of a range.
_PLAIN = (
    "["
    + "".join(re.escape(chr(sign)) for sign in range(ord(" "), ord("~") + 1) if chr(sign) not in '"\\')
    + "]"
)
_FORMS = {
    # Fifteen digits are exact as a whole number and as a power of ten, so one division rounds as it should.
    Kind.NUMBER: r"(?:-?[1-9][0-9]{0,8}|0)(?:\.[0-9]{1,6})?",
    # Neither quotes nor what follows a backslash, nor what bytes that are no text are turned into. What the
    # second part begins with the first cannot have taken, so going back never tries anything twice.
    Kind.TEXT: f'"{_PLAIN}*(?:[\u00a0-\ud7ff][ !#-\\[\\]-~\u00a0-\ud7ff]*)?"',
    Kind.FLAG: "true|false",
    Kind.INSTANT: rf'"(?:19|2[0-9])[0-9]{{2}}-{_DAY}[T ]{_TIME}(?:Z|\+00:00)"',
}
_NAME = re.compile("[A-Za-z0-9_]+")


def simple_pattern(fields: Sequence[SimpleField]) -> str | None:
    """A regular expression, for Java and Python, found in a record if and only if it is simple.

    None if no record with such fields is.

    >>> bool(re.search(simple_pattern([SimpleField("id", Kind.WHOLE)]), '{"id": 17}'))
    True
    """
    names = [field.name for field in fields]
    if (
        not fields
        or len({name.lower() for name in names}) < len(names)
        or not all(map(_NAME.fullmatch, names))
    ):
        return None
    said = [f'"{field.name}": ?(?:{_form(field)}|null)' for field in fields]
    return r"^\{" + ", ?".join(said) + r"\}(?![\s\S])"


def _form(field: SimpleField) -> str:
    if field.kind is Kind.WHOLE:
        return rf"-?[1-9][0-9]{{0,{field.digits - 1}}}|0"
    return _FORMS[field.kind]


def simple_columns(values: pa.Array, fields: Sequence[SimpleField]) -> list[pa.Array]:
    """The fields of simple records, column by column; `values` is binary, without nulls.

    Whole numbers are int64.
    """
    n = len(values)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset :][: n + 1].astype(np.int64)
    data = values.buffers()[2]
    data = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    heads = np.array([len(field.name) + len('"":') for field in fields], np.int64)
    kinds = np.array([field.kind for field in fields], np.int64)
    found = np.zeros((len(fields), n), np.int64)
    more = np.zeros((len(fields), n), np.int64)
    if read_records(data, offsets, heads, kinds, found, more) != n:
        raise ValueError("a record is not simple")
    return [_column(field.kind, data, found[i], more[i]) for i, field in enumerate(fields)]


def _column(kind: Kind, data: Any, found: Any, more: Any) -> pa.Array:
    absent = more == _NULL
    mask = absent if absent.any() else None
    if kind is Kind.TEXT:
        lengths = np.where(absent, 0, more)
        return _texts(data, found, lengths, mask)
    if kind is Kind.NUMBER:
        return pa.array(found / 10.0 ** np.maximum(more, 0), mask=mask)
    if kind is Kind.FLAG:
        return pa.array(found == 1, mask=mask)
    column = pa.array(found, mask=mask)
    return column.cast(pa.timestamp("us", tz="UTC")) if kind is Kind.INSTANT else column


def _texts(data: Any, starts: Any, lengths: Any, mask: Any) -> pa.Array:
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    gathered = np.empty(max(int(offsets[-1]), 1), np.uint8)
    copy_texts(data, starts, offsets, gathered.ctypes.data)
    valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(gathered)]
    return pa.Array.from_buffers(pa.string(), len(starts), buffers)


_NULL = -1
_QUOTE, _SPACE, _MINUS, _POINT, _COMMA, _ZERO, _NINE = (ord(sign) for sign in '" -.,09')
_N, _T, _END = ord("n"), ord("t"), ord("}")
_WHOLE, _NUMBER, _TEXT, _FLAG = (int(kind) for kind in (Kind.WHOLE, Kind.NUMBER, Kind.TEXT, Kind.FLAG))


@njit(inline="always")
def _digits(data: Any, at: Any, count: Any) -> Any:
    value = 0
    for i in range(count):
        value = value * 10 + (data[at + i] - _ZERO)
    return value


@njit(inline="always")
def _days(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970. Years begin in March here, so that the day that is not always there is the last."""
    year -= month <= 2
    month = (month + 9) % 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719_468


@compiled(U8, I64, I64, I64, OUT_I64_TABLE, OUT_I64_TABLE)
def read_records(data: Any, offsets: Any, heads: Any, kinds: Any, found: Any, more: Any) -> int:
    """Read fields one after the other; returns how many records were as they should be.

    `found` gets whole numbers, numbers without their point, where texts begin, 1 for true, and microseconds;
    `more` the digits behind the point, how long texts are, and -1 for nulls.
    """
    for i in range(len(offsets) - 1):
        at, end = offsets[i] + 1, offsets[i + 1] - 1
        for f in range(len(kinds)):
            at += heads[f]
            if at < end and data[at] == _SPACE:
                at += 1
            if at >= end:
                return i
            kind = kinds[f]
            if data[at] == _N:
                more[f, i] = _NULL
                at += 4
            elif kind == _FLAG:
                found[f, i] = data[at] == _T
                at += 4 if data[at] == _T else 5
            elif kind == _TEXT:
                at += 1
                start = at
                while at < end and data[at] != _QUOTE:
                    at += 1
                found[f, i], more[f, i] = start, at - start
                at += 1
            elif kind <= _NUMBER:
                negative = data[at] == _MINUS
                if negative:
                    at += 1
                value, behind, counting = 0, 0, 0
                while at < end and (_ZERO <= data[at] <= _NINE or data[at] == _POINT):
                    if data[at] == _POINT:
                        counting = 1
                    else:
                        value = value * 10 + (data[at] - _ZERO)
                        behind += counting
                    at += 1
                found[f, i], more[f, i] = -value if negative else value, behind
            else:
                # "yyyy-mm-ddThh:mm:ss" has its signs in fixed places.
                at += 1
                if at + 20 > end:
                    return i
                year = _digits(data, at, 4)
                month, day = _digits(data, at + 5, 2), _digits(data, at + 8, 2)
                clock = _digits(data, at + 11, 2) * 3600 + _digits(data, at + 14, 2) * 60
                seconds = _days(year, month, day) * 86_400 + clock + _digits(data, at + 17, 2)
                at += 19
                micros, scale = 0, 1_000_000
                if data[at] == _POINT:
                    at += 1
                    while at < end and _ZERO <= data[at] <= _NINE:
                        micros = micros * 10 + (data[at] - _ZERO)
                        scale //= 10
                        at += 1
                found[f, i] = seconds * 1_000_000 + micros * scale
                while at < end and data[at] != _QUOTE:
                    at += 1
                at += 1
            if at < end and data[at] == _COMMA:
                at += 1
                if at < end and data[at] == _SPACE:
                    at += 1
        if at != end or data[at] != _END:
            return i
    return len(offsets) - 1


@compiled(U8, I64, I64, types.uint64)
def copy_texts(data: Any, starts: Any, offsets: Any, target: Any) -> None:
    """Put texts one behind the other."""
    for i in range(len(starts)):
        length = offsets[i + 1] - offsets[i]
        copy_bytes(target + np.uint64(offsets[i]), np.uint64(data.ctypes.data) + np.uint64(starts[i]), length)
