"""Objects of JSON that are simple, read by one loop over their bytes.

    {"id": 17, "ts": "2026-05-01T12:00:00.25Z", "more": {"of": ["no", "interest"]}, "note": "paid"}

Fields stand in any order, and those that are missing are null. Others may stand beside them, as long as the
whole is JSON. Not simple is what parsers could take in more than one way: a field twice, a number in quotes.
Nor is a text that has to be changed to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit, types

from watersmeet.kernel.compiled import I64, OUT_I64_TABLE, U8, compiled
from watersmeet.kernel.pointers import uncounted, uncounted_i64, uncounted_table
from watersmeet.kernel.simple_values import (
    Kind,
    SimpleField,
    after_number,
    after_sign,
    is_word,
    past_plain,
    read_value,
)

# A bit for each says which were seen.
MOST_FIELDS = 60


def described(fields: Sequence[SimpleField]) -> tuple[Any, Any, Any, Any]:
    """Fields as the loops take them: names, where each begins, kinds, digits."""
    names = [field.name.encode() for field in fields]
    heads = np.cumsum([0, *map(len, names)], dtype=np.int64)
    kinds = np.array([field.kind for field in fields], np.int64)
    digits = np.array([field.digits for field in fields], np.int64)
    return np.frombuffer(b"".join(names) or b" ", np.uint8), heads, kinds, digits


_NULL = -1
_QUOTE, _BACKSLASH, _SPACE, _COMMA, _COLON, _DEL = ord('"'), ord("\\"), ord(" "), ord(","), ord(":"), 0x80
_OPEN, _CLOSE, _LIST, _LIST_END = (ord(sign) for sign in "{}[]")
_TAB, _LINE, _RETURN = ord("\t"), ord("\n"), ord("\r")
_N, _T, _F, _U, _L = (ord(sign) for sign in "ntful")
_ESCAPED = tuple(ord(sign) for sign in '"\\/bfnrt')
_TEXT, _FLAG, _INSTANT = int(Kind.TEXT), int(Kind.FLAG), int(Kind.INSTANT)
_NUMBER = int(Kind.NUMBER)
# Times of records have a zone.
_NO_ZONE = False
# Parsers have their limits.
_LONGEST_OTHER, _LONGEST, _DEEPEST = 40_000, 20_000_000, 40


@njit
def _blanks(data: Any, at: Any, end: Any) -> Any:
    while at < end and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@njit
def _text(data: Any, at: Any, end: Any) -> Any:
    """Where a text ends that stands there as it is; `at` is behind its quote, and so is what is returned."""
    at = past_plain(data, at, end, _QUOTE, _BACKSLASH, _QUOTE)
    while at < end:
        sign = data[at]
        if sign == _QUOTE:
            return at + 1
        if sign < _SPACE or sign == _BACKSLASH:
            return -1
        if sign < _DEL:
            at += 1
        else:
            at = after_sign(data, at, end)
            if at < 0:
                return -1
    return -1


@njit
def _other_text(data: Any, at: Any, end: Any) -> Any:
    """The same for a text that nobody needs."""
    end = min(end, at + _LONGEST_OTHER)
    while at < end:
        sign = data[at]
        if sign == _QUOTE:
            return at + 1
        if sign < _SPACE:
            return -1
        if sign == _BACKSLASH:
            at = _after_escape(data, at + 1, end)
        elif sign < _DEL:
            at += 1
        else:
            at = after_sign(data, at, end)
        if at < 0:
            return -1
    return -1


@njit
def _after_escape(data: Any, at: Any, end: Any) -> Any:
    if at >= end:
        return -1
    if data[at] != _U:
        return at + 1 if data[at] in _ESCAPED else -1
    if at + 5 > end:
        return -1
    for i in range(1, 5):
        sign = data[at + i]
        if not (48 <= sign <= 57 or 65 <= sign <= 70 or 97 <= sign <= 102):
            return -1
    return at + 5


@njit
def _after_colon(data: Any, at: Any, end: Any) -> Any:
    at = _blanks(data, at, end)
    if at >= end or data[at] != _COLON:
        return -1
    return _blanks(data, at + 1, end)


@njit
def _other_name(data: Any, at: Any, end: Any) -> Any:
    if at >= end or data[at] != _QUOTE:
        return -1
    at = _other_text(data, at + 1, end)
    return at if at < 0 else _after_colon(data, at, end)


@njit
def _scalar(data: Any, at: Any, end: Any) -> Any:
    sign = data[at]
    if sign == _QUOTE:
        return _other_text(data, at + 1, end)
    if is_word(data, at, end, _N, _U, _L, _L) or is_word(data, at, end, _T, ord("r"), _U, ord("e")):
        return at + 4
    if sign == _F and is_word(data, at + 1, end, ord("a"), _L, ord("s"), ord("e")):
        return at + 5
    return after_number(data, at, end)


@njit
def _other(data: Any, at: Any, end: Any) -> Any:
    """Where a value ends that nobody needs."""
    # A bit for each object or list around it, 1 for an object, behind a first 1.
    inside = 1
    while True:
        at = _blanks(data, at, end)
        if at >= end:
            return -1
        if data[at] == _OPEN or data[at] == _LIST:
            is_object = data[at] == _OPEN
            at = _blanks(data, at + 1, end)
            if at >= end or inside >> _DEEPEST:
                return -1
            if data[at] == (_CLOSE if is_object else _LIST_END):
                at += 1
            else:
                inside = inside * 2 + is_object
                if is_object:
                    at = _other_name(data, at, end)
                    if at < 0:
                        return -1
                continue
        else:
            at = _scalar(data, at, end)
            if at < 0:
                return -1
        while inside > 1:
            at = _blanks(data, at, end)
            if at >= end:
                return -1
            is_object = inside % 2 == 1
            if data[at] == _COMMA:
                at += 1
                if is_object:
                    at = _other_name(data, _blanks(data, at, end), end)
                    if at < 0:
                        return -1
                break
            if data[at] != (_CLOSE if is_object else _LIST_END):
                return -1
            at += 1
            inside //= 2
        else:
            return at


@njit
def _is_name(data: Any, at: Any, end: Any, names: Any, first: Any, last: Any) -> Any:
    """Whether a name comes next, and ends."""
    if at + last - first >= end or data[at + last - first] != _QUOTE:
        return False
    for i in range(last - first):
        if data[at + i] != names[first + i]:
            return False
    return True


@njit
def _value(
    data: Any, at: Any, end: Any, kind: Any, digits: Any, utc: Any, found: Any, more: Any, f: Any, i: Any
) -> Any:
    """Where the value of a field ends. A null is one already."""
    if at >= end:
        return -1
    if data[at] == _N:
        return at + 4 if is_word(data, at, end, _N, _U, _L, _L) else -1
    if kind <= _NUMBER or kind == _FLAG:
        return read_value(data, at, end, kind, digits, utc, found, more, f, i)
    if data[at] != _QUOTE:
        return -1
    at += 1
    if kind == _TEXT:
        after = _text(data, at, end)
        found[f, i], more[f, i] = at, after - 1 - at
        return after
    at = read_value(data, at, end, kind, digits, utc, found, more, f, i)
    if at < 0 or at >= end or data[at] != _QUOTE:
        return -1
    return at + 1


@njit
def read_object(
    data: Any,
    at: Any,
    end: Any,
    names: Any,
    heads: Any,
    kinds: Any,
    digits: Any,
    utc: Any,
    found: Any,
    more: Any,
    i: Any,
) -> Any:
    """Read an object; returns where it ends, and -1 if it is not simple."""
    count = len(kinds)
    for f in range(count):
        found[f, i], more[f, i] = 0, _NULL
    if at >= end or data[at] != _OPEN:
        return -1
    start = at
    at = _blanks(data, at + 1, end)
    if at < end and data[at] == _CLOSE:
        return at + 1
    seen, guess = 0, 0
    while True:
        if at >= end or data[at] != _QUOTE:
            return -1
        at += 1
        # Nearly always it is the next one.
        field = (
            guess if guess < count and _is_name(data, at, end, names, heads[guess], heads[guess + 1]) else -1
        )
        if field < 0:
            for f in range(count):
                if _is_name(data, at, end, names, heads[f], heads[f + 1]):
                    field = f
                    break
        if field >= 0:
            if seen >> field & 1:
                return -1
            seen |= 1 << field
            guess = field + 1
            at = _after_colon(data, at + heads[field + 1] - heads[field] + 1, end)
            if at >= 0:
                at = _value(data, at, end, kinds[field], digits[field], utc, found, more, field, i)
        else:
            # As it is: with escapes it could be one of ours.
            at = _text(data, at, min(end, at + _LONGEST_OTHER))
            if at >= 0:
                at = _after_colon(data, at, end)
            if at >= 0:
                at = _other(data, at, end)
        if at < 0:
            return -1
        at = _blanks(data, at, end)
        if at >= end:
            return -1
        if data[at] == _CLOSE:
            return at + 1 if at - start <= _LONGEST else -1
        if data[at] != _COMMA:
            return -1
        at = _blanks(data, at + 1, end)


@compiled(U8, I64, U8, I64, I64, I64, OUT_I64_TABLE, OUT_I64_TABLE)
def read_records(
    data: Any, offsets: Any, names: Any, heads: Any, kinds: Any, digits: Any, found: Any, more: Any
) -> Any:
    """Read records, each of them an object; returns how many there were up to one that is not simple."""
    data, names, heads = uncounted(data), uncounted(names), uncounted_i64(heads)
    kinds, digits = uncounted_i64(kinds), uncounted_i64(digits)
    found, more = uncounted_table(found), uncounted_table(more)
    for i in range(len(offsets) - 1):
        end = offsets[i + 1]
        if read_object(data, offsets[i], end, names, heads, kinds, digits, _NO_ZONE, found, more, i) != end:
            return i
    return len(offsets) - 1


@compiled(U8, U8, I64, I64, I64, types.boolean, OUT_I64_TABLE, OUT_I64_TABLE, OUT_I64_TABLE)
def read_json_lines(
    data: Any, names: Any, heads: Any, kinds: Any, digits: Any, utc: Any, found: Any, more: Any, odd: Any
) -> Any:
    """Read lines, each of them an object.

    Returns how many were simple, and how many were not: `odd` gets where these begin and end. Lines without
    anything are none.
    """
    data, names, heads = uncounted(data), uncounted(names), uncounted_i64(heads)
    kinds, digits = uncounted_i64(kinds), uncounted_i64(digits)
    found, more = uncounted_table(found), uncounted_table(more)
    at, end = 0, len(data)
    rows, odds = 0, 0
    while at < end:
        start = at
        at = _blanks(data, at, end)
        if at < end and data[at] != _LINE and data[at] != _RETURN:
            at = read_object(data, at, end, names, heads, kinds, digits, utc, found, more, rows)
            if at >= 0:
                at = _blanks(data, at, end)
            if at >= 0 and (at == end or data[at] == _LINE or data[at] == _RETURN):
                rows += 1
            else:
                at = start
                while at < end and data[at] != _LINE and data[at] != _RETURN:
                    at += 1
                odd[0, odds], odd[1, odds] = start, at
                odds += 1
        at += 1
    return rows, odds
