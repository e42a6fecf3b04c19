"""In which types keys are compared, and how values come to have them.

Spark compares values of two types in a third, or in one of theirs, and it alone says in which (see
`spark.types`). What is known here is where no Spark can be asked, and which types can stand for others.
"""

from __future__ import annotations

import re

from watersmeet.query.expression import INTEGERS

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# As many digits as Spark gives to a whole number that becomes a decimal; what it needs may be one less.
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_NEEDED = _DIGITS | {"bigint": 19}
# Beside whole numbers and decimals.
_KEPT_APART = {
    ("tinyint", "float"),
    ("smallint", "float"),
    ("tinyint", "double"),
    ("smallint", "double"),
    ("int", "double"),
    ("float", "double"),
    ("date", "timestamp_ntz"),
}


def widest_number(left: str, right: str) -> str | None:
    """The type in which Spark compares two numbers; None where Spark has to be asked.

    >>> widest_number("int", "bigint"), widest_number("bigint", "double"), widest_number("int", "string")
    ('bigint', 'double', None)
    """
    if left == right:
        return left
    if {left, right} <= set(INTEGERS):
        return max(left, right, key=INTEGERS.index)
    if {left, right} <= {*INTEGERS, "double"} or {left, right} == {"float", "double"}:
        return "double"
    return None


def converted(text: str, given: str, wanted: str) -> str:
    """An expression of one type as one of another, the way Spark converts what it compares.

    >>> converted("a.x", "int", "bigint"), converted("a.x", "int", "decimal(12,2)")
    ('CAST(a.x AS bigint)', 'CAST(CAST(a.x AS decimal(10,0)) AS decimal(12,2))')
    """
    exact = f"decimal({_DIGITS.get(given)},0)"
    if given in _DIGITS and _DECIMAL.fullmatch(wanted) and wanted != exact:
        return f"CAST(CAST({text} AS {exact}) AS {wanted})"
    return f"CAST({text} AS {wanted})"


def keeps_apart(given: str, wanted: str) -> bool:
    """Whether values that differ in one type differ in another as well, and each has a value there.

    >>> keeps_apart("int", "double"), keeps_apart("bigint", "double"), keeps_apart("bigint", "decimal(20,0)")
    (True, False, True)
    """
    if given == wanted or (given, wanted) in _KEPT_APART:
        return True
    if given in INTEGERS and wanted in INTEGERS:
        return INTEGERS.index(given) < INTEGERS.index(wanted)
    room = _DECIMAL.fullmatch(wanted)
    if room is None:
        return False
    precision, scale = map(int, room.groups())
    if given in _NEEDED:
        return precision - scale >= _NEEDED[given]
    decimal = _DECIMAL.fullmatch(given)
    if decimal is None:
        return False
    digits, places = map(int, decimal.groups())
    return scale >= places and precision - scale >= digits - places
