"""Durations as people write them: "10 minutes", "1 hour 30 minutes", or a timedelta."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from numbers import Real
from typing import Any

from watersmeet.errors import WatersmeetError

# Months and years are missing on purpose: their length depends on the calendar, and a window must
# have one length.
_UNITS_US = {
    "microsecond": 1,
    "us": 1,
    "millisecond": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "sec": 1_000_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "h": 3_600_000_000,
    "day": 86_400_000_000,
    "d": 86_400_000_000,
    "week": 604_800_000_000,
}
_LONGEST = timedelta(days=36_525)
_PART = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*,?")


def parse_duration(value: str | timedelta) -> timedelta:
    """Read a duration; raises ValueError with the reason when it cannot be read.

    >>> parse_duration("1 hour 30 minutes")
    datetime.timedelta(seconds=5400)
    >>> parse_duration("250 ms")
    datetime.timedelta(microseconds=250000)
    >>> parse_duration("2 months")
    Traceback (most recent call last):
    ValueError: unknown unit "months"; use weeks, days, hours, minutes, seconds, milliseconds or microseconds
    """
    if isinstance(value, timedelta):
        return _not_longer_than_a_century(value, str(value))
    if not isinstance(value, str):
        raise ValueError(f"expected text or a timedelta, got {type(value).__name__}")
    text = value.strip()
    if text.lower().startswith("interval "):
        text = text[len("interval ") :]
    parts: list[float] = []
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise ValueError(f'cannot read "{value}" as a duration, for example "10 minutes"')
        number, unit = part.group(1), part.group(2).lower()
        scale = _UNITS_US.get(unit) or _UNITS_US.get(unit.removesuffix("s"))
        if scale is None:
            raise ValueError(
                f'unknown unit "{part.group(2)}"; use weeks, days, hours, minutes, seconds, '
                "milliseconds or microseconds"
            )
        parts.append(float(number) * scale)
        position = part.end()
    if not parts:
        raise ValueError('empty text is not a duration, write for example "10 minutes"')
    if len(parts) > 1 and min(parts) < 0:
        raise ValueError(f'"{value}" adds and subtracts, write the difference itself')
    try:
        duration = timedelta(microseconds=round(sum(parts)))
    except OverflowError:
        duration = timedelta.max
    return _not_longer_than_a_century(duration, value)


def _not_longer_than_a_century(duration: timedelta, text: str) -> timedelta:
    """Longer ones would leave the range of timestamps when they are added to one."""
    if abs(duration) > _LONGEST:
        raise ValueError(f'"{text}" is longer than a hundred years')
    return duration


def parse_seconds(value: object) -> float:
    """Read a duration that may also be a number of seconds, and is more than nothing.

    >>> parse_seconds("50 us"), parse_seconds(0.25)
    (5e-05, 0.25)
    >>> parse_seconds(0)
    Traceback (most recent call last):
    ValueError: 0 is not above zero
    """
    if isinstance(value, bool) or not isinstance(value, str | timedelta | Real):
        raise ValueError(f"expected a duration or seconds, got {value!r}")
    try:
        found = parse_duration(value).total_seconds() if isinstance(value, str | timedelta) else float(value)
    except OverflowError:
        found = math.inf
    if not 0 < found < math.inf:
        raise ValueError(f"{value} is not above zero" if found <= 0 else "it is without end")
    return found


def duration(value: Any, what: str, error: type[WatersmeetError], example: str) -> timedelta:
    """Read what a user has given as a duration; if it is none, the error says so.

    >>> from watersmeet.errors import InvalidQuery
    >>> duration("soon", "trigger", InvalidQuery, "1 second")
    Traceback (most recent call last):
    watersmeet.errors.InvalidQuery: trigger is not a duration
    detail: cannot read "soon" as a duration, for example "10 minutes".
    hint: write a number and a unit, for example "1 second".
    """
    try:
        return parse_duration(value)
    except ValueError as reason:
        raise _no_duration(what, reason, error, example) from None


def seconds(value: Any, what: str, error: type[WatersmeetError], example: str) -> float:
    """The same for a duration that may also be a number of seconds, and is more than nothing.

    >>> from watersmeet.errors import InvalidQuery
    >>> seconds(0, "timeout", InvalidQuery, "5 minutes")
    Traceback (most recent call last):
    watersmeet.errors.InvalidQuery: timeout is not a duration
    detail: 0 is not above zero.
    hint: write a number and a unit, for example "5 minutes".
    """
    try:
        return parse_seconds(value)
    except ValueError as reason:
        raise _no_duration(what, reason, error, example) from None


def _no_duration(
    what: str, reason: ValueError, error: type[WatersmeetError], example: str
) -> WatersmeetError:
    return error(
        f"{what} is not a duration", f"{reason}.", f'write a number and a unit, for example "{example}".'
    )


def to_us(duration: timedelta) -> int:
    """Whole microseconds, the unit of every timestamp inside the kernel.

    >>> to_us(timedelta(seconds=2))
    2000000
    """
    return duration // timedelta(microseconds=1)


def describe_duration(duration: timedelta) -> str:
    """The shortest way to say it.

    >>> describe_duration(timedelta(minutes=90)), describe_duration(timedelta(milliseconds=250))
    ('90 min', '250 ms')
    """
    micros = to_us(duration)
    for unit, label in (("day", "d"), ("hour", "h"), ("minute", "min"), ("second", "s"), ("ms", "ms")):
        if micros % _UNITS_US[unit] == 0 and micros:
            return f"{micros // _UNITS_US[unit]} {label}"
    return f"{micros} us" if micros else "0 s"
