"""Simple lines of JSON and CSV: which are, and what they hold.

Would catch: a line whose meaning depends on its neighbours, bytes read behind the end, a line that is lost or
comes twice, a number that is rounded otherwise, values of an odd line among those of simple ones.
"""

import json
import random

import numpy as np
import pytest

from harness.lines import random_lines
from watersmeet.kernel.simple_lines import LineForm
from watersmeet.kernel.simple_values import Kind, SimpleField, past_plain

FIELDS = (
    SimpleField("id", Kind.WHOLE),
    SimpleField("small", Kind.WHOLE, 4),
    SimpleField("price", Kind.NUMBER),
    SimpleField("ts", Kind.INSTANT),
    SimpleField("note", Kind.TEXT),
    SimpleField("paid", Kind.FLAG),
    SimpleField("day", Kind.DAY),
    SimpleField("n", Kind.WHOLE, 9),
    SimpleField("tiny", Kind.WHOLE, 2),
)
FORMS = {"json": LineForm(FIELDS), "csv": LineForm(FIELDS, ",", utc=True)}


@pytest.mark.parametrize("form", ["json", "csv"])
def test_each_line_is_judged_alone(form: str) -> None:
    """Also where it is cut anywhere: nothing is read behind the end."""
    lines = random_lines(form, random.Random(5), 300)  # noqa: S311
    lines += [line[:end] for line in lines[:40] for end in range(len(line))]
    alone = [FORMS[form].split(line) for line in lines]
    rows, odd = FORMS[form].split(b"\n".join(lines))
    assert rows == sum(count for count, _ in alone)
    assert odd.to_pylist() == [line for _, one in alone for line in one.to_pylist()]
    blank = sum(not line.strip(b" \t" if form == "json" else bytes(range(33))) for line in lines)
    assert rows + len(odd) + blank == len(lines)
    columns = FORMS[form].simple(b"\r\n".join(lines))
    each = [FORMS[form].simple(line) for line in lines]
    for place, column in enumerate(columns):
        assert column.to_pylist() == [value for one in each for value in one[place].to_pylist()]


def test_numbers_and_texts_are_those_of_a_parser() -> None:
    simple = [line for line in random_lines("json", random.Random(6), 4000) if FORMS["json"].split(line)[0]]  # noqa: S311
    assert len(simple) > 800
    columns = FORMS["json"].simple(b"\n".join(simple))
    read = [json.loads(line) for line in simple]
    for place, field in enumerate(FIELDS):
        if field.kind in (Kind.WHOLE, Kind.NUMBER, Kind.TEXT, Kind.FLAG):
            values = [one.get(field.name) for one in read]
            if field.kind is Kind.NUMBER:
                values = [value if value is None else float(value) for value in values]
            assert columns[place].to_pylist() == values


def test_eight_signs_at_a_time() -> None:
    """It goes on past plain ones, and never past another."""
    for sign in range(256):
        for place in range(24):
            data = np.frombuffer(b"a" * place + bytes([sign]) + b"~" * (30 - place), np.uint8)
            end = past_plain(data, 0, len(data), ord('"'), ord("\\"), ord(","))
            plain = 32 <= sign < 128 and chr(sign) not in '"\\,'
            assert end == (24 if plain else place // 8 * 8)


def test_no_lines() -> None:
    for form in FORMS.values():
        for data in (b"", b"\n", b"\r\n \n"):
            assert form.split(data)[0] == len(form.split(data)[1]) == len(form.simple(data)[0]) == 0
