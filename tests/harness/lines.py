"""Random lines of JSON or CSV: what programs write, with now and then something changed."""

from __future__ import annotations

import random

SCHEMA = (
    "id BIGINT, small SMALLINT, price DOUBLE, ts TIMESTAMP, note STRING, paid BOOLEAN, day DATE, "
    "n INT, tiny TINYINT"
)
_WHOLE = (
    "0", "17", "-5", "99", "-0", "007", "1.0", "1e3", "999999999999999999", "9999999999999999999",
    "12345", "+1", "00", "-", "1 ", "0x1", "1_0",
)  # fmt: skip
_NUMBER = (
    "0", "0.5", "-0.25", "19.99", "0.30000000000000004", "-0.0", "-0", "123456789.123456", "1e2", "1E-5",
    "1.5e+07", "9007199254740993", "123456789012345678901234", "0.1234567890123456789012345678", "1e99",
    "1e100", "1e-400", "1e999", "NaN", "Infinity", "-Infinity", "INF", ".5", "5.", "01.5", "1.", "1e",
    "1d", "1f", "0x1p3", "2.2250738585072012e-308", "8.41e+21", "9.5367431640625e-7",
)  # fmt: skip
_TIME = (
    "2026-05-01T12:00:00Z", "2026-05-01 12:00:00.25+00:00", "2024-02-29T23:59:59.999999Z",
    "2026-05-01T12:00:00", "2026-05-01 12:00:00.5", "2026-05-01T12:00:00.000+02:00",
    "2026-03-29T02:30:00", "2026-10-25 02:30:00.1", "2026-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
    "1900-01-01T00:00:00.1Z", "1899-12-31T23:59:59Z", "2999-12-31T23:59:59.000001Z",
    "3000-01-01T00:00:00Z", "2026-05-01T24:00:00Z", "2026-05-01T12:00Z", "2026-05-01",
    "2026-05-01T12:00:00.1234567Z", "2026-05-01T12:00:60Z", "2026-05-01T12:60:00Z",
    "2026-05-01T12:00:00-07:30", "2026-05-01T12:00:00+14:59", "2026-05-01T12:00:00+15:00",
    "2026-05-01T12:00:00-00:00", "2026-05-01T12:00:00+02", "2026-05-01T12:00:00+0200",
    "2026-05-01T12:00:00 Europe/Berlin", "2026-05-01t12:00:00z", "2026-5-1T12:00:00Z", "1777636800",
    "12:00:00", "1900-02-29T00:00:00Z", "2000-02-29 00:00:00Z", "2026-05-01T12:00:00.Z",
    "2026-13-01T00:00:00Z", " 2026-05-01T12:00:00Z", "2026-05-01T12:00:00Z ", "now",
    "2026-05-01T12:00:00.000UTC", "1900-01-01T00:00:00",
)  # fmt: skip
_DAY = (
    "2026-05-01", "2024-02-29", "1900-01-01", "2026-02-29", "2026-5-1", "2026-05-01T12:00:00Z",
    "2026-05-01 ", "2026", "1899-12-31", "2999-12-31", "2026-04-31", "20260501", "12026-05-01",
    "2026-05-32", "epoch", "0000-00-00", "2026-05-00", "2026-00-05",
)  # fmt: skip
_TEXT = (
    "x", "two words", "", "\xe4\u20ac", "\U0001f600", "'", "a'b", "\\n", "\\u0041", "\\ud83d\\ude00",
    "\\ud83d", "\\/", '\\"', "\\x", "a\tb", "[{}]", " lead", "trail ", "  ", "#c", "null", "NULL", "\x7f",
    "\x00", "\ufeff", "\u2028", "\xa0", "\x85", "a;b", "a|b", "--", "\\",
)  # fmt: skip
_FLAG = (
    "true", "false", "True", "FALSE", "0", "yes", "t", "truee", "null",
)  # fmt: skip
_VALUES = (_WHOLE, _WHOLE, _NUMBER, _TIME, _TEXT, _FLAG, _DAY, _WHOLE, _WHOLE)
_NAMES = [column.split()[0] for column in SCHEMA.split(", ")]
# Values of fields that the schema lacks.
_OTHER = (
    "1", "-2.5e3", '"x"', '"\\u00e9\\n"', "null", "true", "{}", "[]", '{"a": [1, {"b": null}], "c": {}}',
    "[[[]]]", "[1,]", '{"a"}', "{a: 1}", "[1 2]", "nul", '"\\q"', "01", "'x'", '{"id": 5}', "[1, 2",
    '{"a": 1, "a": 2}', "NaN", "tru", "-", "1.",
)  # fmt: skip
# What gets into the middle of a line. Not 0xff: in the name of a field Spark takes it for nothing, or for an
# error, depending on the names it has read before.
_CHANGES = (
    b" ", b"\t", b",", b":", b"{", b"}", b"[", b"]", b'"', b"'", b"\\", b"x", b"0", b"-", b".", b"n",
    b"e", b";", b"|", b"\x00", b"\x01", b"\x0b", b"\x7f", b"\xc3\xa4", b"\xe2\x80\xa8", b"\xfe",
    b"\xc0\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xef\xbb\xbf", b"\x80", b"\xf5\x80\x80\x80", b"null",
    b"//", b"/*", b"\xe0\x80\x80",
)  # fmt: skip
# Lines that are no object, or no row, or are not UTF-8.
_ODD_LINES = (
    b"", b" ", b"\t", b"\x0b", b" \t ", b"\x00", b"{}", b" { } ", b"[]", b"[ ]", b"[{}]", b"[{},{}]",
    b"1", b'"x"', b"null", b"true", b"{", b"}", b"[", b"]", b"[{", b'[{"id": 1}, {"id": 2, "note": "b"}]',
    b'[{"id": 1}, {"id": "x"}]', b'[{"id": 1}, 5]', b'[{"id": 1}, null]', b'[{"id": 1}', b"[1]",
    b'[{"id": 1}, {"id": 2}] x', b' [{"id": 1}, {"note": "b", "id": 1.5}]', b'[{"id": "q"}, {"id": 2}]',
    b'[[{"id": 1}]]', b'[{"id": 1},]', b"[null]", b'[{"id": 3}, {"ts": "x", "n": 5}, {"n": 6}]',
    b'[{"id": 3}, {"n": 6}]]', b'[{"id": 3} {"n": 6}]', b'[{"id": 3}, {"n": 6, "n": 7}]', b'{"id": 1}',
    b'{"note": "a\\\xc0\x80"}', b'{"note": "\xf5\x80\x80\x80"}', b'{"note": "\xf0\x80\x80\x80"}',
    b'{"note": "\xe0\x80\x80"}', b'{"note": "a\xe2\x82", "id": 1}', b'{"note": "a\xe2", "id": 1}',
    b'{"note": "a\xc3", "id": 1}', b'{"note": "a\xf0\x9f\x98", "id": 1}',
    b'{"note": "a\xf0\x9f", "id": 1}', b'{"note": "a\xff", "id": 1}', b'{"x": "a\xe2\x82", "id": 1}',
    b'{"\xe2\x82\xac": "a", "id": 1}', b'{"x\xe2\x82": "a", "id": 1}',
    b'{"note": "a\xe2\x82\\", "id": 1}', b'{"id": 1}\xff', b'{"id": 1\xff}',
    b'{"id": 1, "note": "\xe2\x82', b'{"id": 1, "note": "\xe2', b'{"id": 1, "note": "\xff',
    b'{"x": {"y": "a\xc0\x80"}, "id": 1}', b'{"note": "\xf7\xbf\xbf\xbf", "id": 1}', b'\xff{"id": 1}',
    b'\xfe\xff{"id": 1}', b'\xff\xfe{"id": 1}', b'\x00{"id": 1}', b'{\x00"id": 1}', b'\x00\x00{"id": 1}',
    b' \x00{"id": 1}', b'{"id": 1} {"id": 2}', b'{"id": 1}]', b'{"id": 1},', b'\xef\xbb\xbf{"id": 7}',
    b'\t[{"id": 1}, {"id": 2}]', b' \t [{"id": 3}]', b'{"id": 1',
    b"#", b",", b",,,,,,,,", b";;;;;;;;", b"\t\t\t\t\t\t\t\t", b'"', b'""', b",,,,,,,",
    b",,,,,,,,,", b"1,", b'"a,b",', b"\xef\xbb\xbf1,2,3,,,,,,", b"-- 1", b"\xff\xfe", b"\xa0", b"1,2,3",
)  # fmt: skip


def random_lines(form: str, chance: random.Random, count: int, separator: str = ",") -> list[bytes]:
    """Lines; about half are what a program would write."""
    json = form == "json"
    return [_changed(_json(chance) if json else _csv(chance, separator), chance) for _ in range(count)]


def _changed(line: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.02:
        return chance.choice(_ODD_LINES)
    if chance.random() < 0.08:
        place = chance.randrange(len(line) + 1)
        line = line[:place] + chance.choice(_CHANGES) + line[place + chance.randrange(2) :]
    if chance.random() < 0.02:
        line = line[: chance.randrange(len(line) + 1)]
    return line


def _value(chance: random.Random, field: int) -> str:
    values = _VALUES[field]
    if chance.random() < 0.15:
        return chance.choice(values)
    if field in (2, 3, 6) and chance.random() < 0.3:
        return _made(chance, field)
    return chance.choice(values[:2] if field == 8 else values[:3] if field != 5 else values[:2])


def _made(chance: random.Random, field: int) -> str:
    if field == 2:
        power = 10.0 ** chance.randrange(-30, 30)
        return chance.choice(
            [
                repr(chance.random()),
                repr(chance.uniform(-1e9, 1e9)),
                f"{chance.random() * power:.16e}",
                f"{chance.randrange(10**17)}.{chance.randrange(10**17)}",
                repr(chance.expovariate(1) / 3),
            ]
        )
    day = f"{chance.randrange(1899, 3001)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 32):02d}"
    if field == 6:
        return day
    clock = f"{chance.randrange(25):02d}:{chance.randrange(60):02d}:{chance.randrange(60):02d}"
    digits = chance.choice([0, 0, 1, 3, 6])
    part = f".{chance.randrange(10**digits):0{digits}d}" if digits else ""
    offset = f"{chance.choice('+-')}{chance.randrange(16):02d}:{chance.choice(['00', '30', '45', '59'])}"
    return f"{day}{chance.choice('T ')}{clock}{part}{chance.choice(['Z', 'Z', '', offset])}"


def _json(chance: random.Random) -> bytes:
    fields = [(name, number) for number, name in enumerate(_NAMES)]
    if chance.random() < 0.2:
        chance.shuffle(fields)
    while chance.random() < 0.15:
        del fields[chance.randrange(len(fields))]
    comma, colon = chance.choice([(",", ":"), (", ", ": "), (" , ", "\t: ")])
    said = [f'"{name}"{colon}{_in_json(chance, number)}' for name, number in fields]
    while chance.random() < 0.15:
        name = chance.choice(["more", "ID", "id ", "\xe4", "i\\u0064", "id", "", "x\\n"])
        said.insert(chance.randrange(len(said) + 1), f'"{name}"{colon}' + chance.choice(_OTHER))
    end = "" if chance.random() < 0.95 else chance.choice([" ", "{}", ",", "x", "\t"])
    return ("{" + comma.join(said) + "}" + end).encode()


def _in_json(chance: random.Random, number: int) -> str:
    if chance.random() < 0.05:
        return "null"
    value = _value(chance, number)
    quoted = (number in (3, 4, 6)) != (chance.random() < 0.02)
    return f'"{value}"' if quoted else value or "1"


def _csv(chance: random.Random, separator: str) -> bytes:
    values = ["" if chance.random() < 0.1 else _value(chance, number) for number in range(len(_NAMES))]
    for number in range(len(values)):
        if chance.random() < 0.02:
            values[number] = '"' + values[number] + '"'
        if chance.random() < 0.01:
            values[number] = chance.choice([" ", ""]) + values[number] + " "
    if chance.random() < 0.04:
        values.append("more")
    if chance.random() < 0.04:
        values = values[: chance.randrange(1, len(values))]
    return separator.join(values).encode()
