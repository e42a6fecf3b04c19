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

import numpy as np
import pyarrow as pa

from watersmeet.kernel.simple_json import MOST_FIELDS, described, read_records
from watersmeet.kernel.simple_values import Kind, SimpleField, columns_of

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
        not 1 <= len(fields) <= MOST_FIELDS
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
    values = values.cast(pa.binary())
    n = len(values)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset :][: n + 1].astype(np.int64)
    data = values.buffers()[2]
    data = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    found, more = (np.empty((len(fields), n), np.int64) for _ in range(2))
    if read_records(data, offsets, *described(fields), found, more) != n:
        raise ValueError("a record is not simple")
    return columns_of(fields, data, found, more)
