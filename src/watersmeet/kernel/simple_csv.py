"""Lines of CSV that are simple, read by one loop over their bytes.

    17,2026-05-01T12:00:00.25Z,paid

They have a value, or nothing, for each field. Not simple are lines with quotes and what goes with them, and
texts that begin or end with a blank, which parsers may leave out.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types

from watersmeet.kernel.compiled import I64, OUT_I64_TABLE, U8, compiled
from watersmeet.kernel.pointers import uncounted, uncounted_i64, uncounted_table
from watersmeet.kernel.simple_values import Kind, after_sign, past_plain, read_value

_NULL = -1
_QUOTE, _BACKSLASH, _SPACE, _BEYOND = ord('"'), ord("\\"), ord(" "), 0x80
_LINE, _RETURN = ord("\n"), ord("\r")
_TEXT, _ANY = int(Kind.TEXT), int(Kind.ANY)
# Parsers have their limits.
_LONGEST = 10_000_000


@njit
def _text(data: Any, at: Any, end: Any, separator: Any) -> Any:
    start = at
    at = past_plain(data, at, end, _QUOTE, _BACKSLASH, separator)
    while at < end:
        sign = data[at]
        if sign in (separator, _LINE, _RETURN):
            break
        if sign < _SPACE or sign in (_QUOTE, _BACKSLASH):
            return -1
        if sign < _BEYOND:
            at += 1
        else:
            at = after_sign(data, at, end)
            if at < 0:
                return -1
    if at - start > _LONGEST:
        return -1
    # It is not empty.
    return -1 if data[start] == _SPACE or data[at - 1] == _SPACE else at


@njit
def _read_line(
    data: Any,
    at: Any,
    end: Any,
    separator: Any,
    kinds: Any,
    digits: Any,
    utc: Any,
    found: Any,
    more: Any,
    i: Any,
) -> Any:
    last = len(kinds) - 1
    for f in range(last + 1):
        found[f, i], more[f, i] = 0, _NULL
        if at < end and data[at] != separator and data[at] != _LINE and data[at] != _RETURN:
            start = at
            if kinds[f] == _TEXT or kinds[f] == _ANY:
                at = _text(data, at, end, separator)
                found[f, i], more[f, i] = start, at - start
            else:
                at = read_value(data, at, end, kinds[f], digits[f], utc, found, more, f, i)
            if at < 0:
                return -1
        if f < last:
            if at >= end or data[at] != separator:
                return -1
            at += 1
    return at if at >= end or data[at] == _LINE or data[at] == _RETURN else -1


@compiled(U8, types.int64, I64, I64, types.boolean, OUT_I64_TABLE, OUT_I64_TABLE, OUT_I64_TABLE)
def read_csv_lines(
    data: Any, separator: Any, kinds: Any, digits: Any, utc: Any, found: Any, more: Any, odd: Any
) -> Any:
    """Read lines.

    Returns how many were simple, and how many were not: `odd` gets where these begin and end. Lines of blanks
    are none.
    """
    data = uncounted(data)
    kinds, digits = uncounted_i64(kinds), uncounted_i64(digits)
    found, more = uncounted_table(found), uncounted_table(more)
    at, end = 0, len(data)
    rows, odds = 0, 0
    while at < end:
        start = at
        while at < end and data[at] <= _SPACE and data[at] != _LINE and data[at] != _RETURN:
            at += 1
        if at < end and data[at] > _SPACE:
            at = _read_line(data, start, end, separator, kinds, digits, utc, found, more, rows)
            if at >= 0:
                rows += 1
            else:
                at = start
                while at < end and data[at] != _LINE and data[at] != _RETURN:
                    at += 1
                odd[0, odds], odd[1, odds] = start, at
                odds += 1
        at += 1
    return rows, odds
