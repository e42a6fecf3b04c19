"""Random texts that are JSON, or nearly: what programs write, with now and then something changed."""

from __future__ import annotations

import random

FIELDS = ("id", "small", "price", "ts", "note", "paid")
SCHEMA = "id BIGINT, small SMALLINT, price DOUBLE, ts TIMESTAMP, note STRING, paid BOOLEAN"

_WHOLE = ("0", "17", "-5", "-0", "007", "1.0", "1e3", "9" * 18, "9" * 19, '"17"', "12345", "+1", "00")
_NUMBER = (
    "0",
    "0.5",
    "-0.0",
    "-0.25",
    "19.99",
    "123456789.123456",
    "0.1234567",
    "1e2",
    "NaN",
    ".5",
    "5.",
    "1",
)
_TIME = (
    '"2026-05-01T12:00:00Z"',
    '"2026-05-01 12:00:00.25+00:00"',
    '"2024-02-29T23:59:59.999999Z"',
    '"2026-02-29T00:00:00Z"',
    '"2026-04-31T00:00:00Z"',
    '"1900-01-01T00:00:00.1Z"',
    '"1899-12-31T23:59:59Z"',
    '"2999-12-31T23:59:59.000001Z"',
    '"2026-05-01T24:00:00Z"',
    '"2026-05-01T12:00Z"',
    '"2026-05-01T12:00:00"',
    '"2026-05-01T12:00:00.1234567Z"',
    '"2026-05-01T12:00:60Z"',
    '"2026-05-01T14:00:00+02:00"',
    '"2026-05-01t12:00:00z"',
    '"2026-5-1T12:00:00Z"',
    "1777636800",
)
_TEXT = (
    '""',
    '"x"',
    '"two words"',
    '"ä€"',
    '"\\n"',
    '"\\u0041"',
    '"a\tb"',
    '"[{}], \'"',
    "{}",
    "1",
    "'x'",
    '"\U0001f600"',
)
_FLAG = ("true", "false", "True", "0", '"true"')
_VALUES = (_WHOLE, _WHOLE, _NUMBER, _TIME, _TEXT, _FLAG)
_CHANGES = " \t\n,:{}[]\"'\\x0null"


def random_records(seed: int, count: int) -> list[bytes]:
    """Texts; about half are what a program would write."""
    chance = random.Random(seed)  # noqa: S311
    return [_record(chance).encode() for _ in range(count)]


def _record(chance: random.Random) -> str:
    fields = list(zip(FIELDS, _VALUES, strict=True))
    if chance.random() < 0.05:
        chance.shuffle(fields)
    if chance.random() < 0.05:
        del fields[chance.randrange(len(fields))]
    if chance.random() < 0.05:
        fields.insert(chance.randrange(len(fields)), chance.choice([*fields, ("more", _TEXT)]))
    odd = chance.random() < 0.5
    comma, colon = chance.choice([(",", ":"), (", ", ": ")])
    said = [f'"{name}"{colon}{_value(chance, values, odd)}' for name, values in fields]
    text = "{" + comma.join(said) + "}"
    if chance.random() < 0.1:
        place = chance.randrange(len(text))
        text = text[:place] + chance.choice(_CHANGES) + text[place + chance.randrange(2) :]
    return text + chance.choice(["", "", "", "", "", "", "", "", " ", "\n", "{}"])


def _value(chance: random.Random, values: tuple[str, ...], odd: bool) -> str:
    if chance.random() < 0.1:
        return "null"
    return chance.choice(values if odd else values[:2])
