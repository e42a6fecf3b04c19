"""Simple records: which are, and what their fields are.

Would catch: a record called simple that a parser would read otherwise, a time off by a day, a number rounded
otherwise, nulls in the wrong place, bytes of a slice taken for those of its array.
"""

import datetime as dt
import json
import re
from typing import Any

import pyarrow as pa
import pytest

from harness.records import random_records
from watersmeet.kernel.simple_records import simple_columns, simple_pattern
from watersmeet.kernel.simple_values import Kind, SimpleField

FIELDS = (
    SimpleField("id", Kind.WHOLE),
    SimpleField("small", Kind.WHOLE, 4),
    SimpleField("price", Kind.NUMBER),
    SimpleField("ts", Kind.INSTANT),
    SimpleField("note", Kind.TEXT),
    SimpleField("paid", Kind.FLAG),
)


def simple(texts: list[bytes]) -> list[bytes]:
    pattern = simple_pattern(FIELDS)
    assert pattern is not None
    return [text for text in texts if re.search(pattern, text.decode())]


def as_python_reads(text: bytes) -> tuple[Any, ...]:
    read = json.loads(text)
    assert list(read) == [field.name for field in FIELDS]
    if read["price"] is not None:
        read["price"] = float(read["price"])
    if read["ts"] is not None:
        read["ts"] = dt.datetime.fromisoformat(read["ts"])
    return tuple(read.values())


def test_they_are_what_a_parser_reads() -> None:
    texts = simple(random_records(1, 20_000))
    assert len(texts) > 3_000
    found = simple_columns(pa.array(texts, pa.binary()), FIELDS)
    rows = list(zip(*(column.to_pylist() for column in found), strict=True))
    assert rows == [as_python_reads(text) for text in texts]


def test_every_day_of_four_centuries() -> None:
    first = dt.datetime(1900, 1, 1, 1, 2, 3, 4000, tzinfo=dt.UTC)
    days = [first + dt.timedelta(days=number) for number in range(146_097)]
    # Which years have it is left to parsers.
    days = [day for day in days if (day.month, day.day) != (2, 29)]
    field = (SimpleField("t", Kind.INSTANT),)
    texts = [f'{{"t": "{day:%Y-%m-%dT%H:%M:%S.%f}Z"}}' for day in days]
    pattern = re.compile(simple_pattern(field) or "")
    assert all(map(pattern.search, texts))
    assert simple_columns(pa.array([text.encode() for text in texts]), field)[0].to_pylist() == days


def test_a_slice_and_no_records() -> None:
    values = pa.array([b'{"t":"one"}', b'{"t":null}', b'{"t":"three"}', b'{"t":""}'])
    field = (SimpleField("t", Kind.TEXT),)
    assert simple_columns(values.slice(1, 2), field)[0].to_pylist() == [None, "three"]
    assert simple_columns(values.slice(0, 0), field)[0].to_pylist() == []
    assert simple_columns(pa.array([], pa.binary()), field)[0].to_pylist() == []


def test_the_loop_does_not_read_past_what_is_there() -> None:
    for text in (b"", b"{", b'{"t":', b'{"t":"', b'{"t":"2026', b'{"t":nul', b'{"t":"x"'):
        for kind in Kind:
            with pytest.raises(ValueError, match="is not simple"):
                simple_columns(pa.array([text]), (SimpleField("t", kind),))


def test_long_records_with_many_fields() -> None:
    """What the pattern calls simple the loop can read."""
    many = [SimpleField(f"f{number}", Kind.WHOLE) for number in range(61)]
    assert simple_pattern(many) is None
    text = "{" + ",".join(f'"f{number}":{number}' for number in range(60)) + "}"
    assert re.search(simple_pattern(many[:60]) or "", text)
    assert [column.to_pylist() for column in simple_columns(pa.array([text.encode()]), many[:60])] == [
        [number] for number in range(60)
    ]
    long = '{"t":"' + "x" * (20_000_000 - 8) + '"}'
    assert (
        len(simple_columns(pa.array([long.encode()]), [SimpleField("t", Kind.TEXT)])[0][0].as_py())
        == 20_000_000 - 8
    )


def test_fields_without_a_pattern() -> None:
    assert simple_pattern([]) is None
    assert simple_pattern([SimpleField("ä", Kind.TEXT)]) is None
    assert simple_pattern([SimpleField("a", Kind.TEXT), SimpleField("A", Kind.TEXT)]) is None
