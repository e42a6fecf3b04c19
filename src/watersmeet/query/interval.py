"""Intervals from one unit to another, as SQL writes them: ``INTERVAL '1:30' MINUTE TO SECOND``."""

from __future__ import annotations

import re

_UNITS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_MOST = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}
_SECONDS = r"(\d{1,2})(?:\.(\d{1,6}))?"
# The numbers, and at the end the fraction of a second.
_FORMS = {
    ("DAY", "HOUR"): r"(\d{1,9}) (\d{1,2})()",
    ("DAY", "MINUTE"): r"(\d{1,9}) (\d{1,2}):(\d{1,2})()",
    ("DAY", "SECOND"): rf"(\d{{1,9}}) (\d{{1,2}}):(\d{{1,2}}):{_SECONDS}",
    ("HOUR", "MINUTE"): r"(\d{1,9}):(\d{1,2})()",
    ("HOUR", "SECOND"): rf"(\d{{1,9}}):(\d{{1,2}}):{_SECONDS}",
    ("MINUTE", "SECOND"): rf"(\d{{1,9}}):{_SECONDS}",
}


def span_us(value: str, first: str, last: str) -> int:
    """The microseconds of an interval from one unit to a smaller one.

    >>> span_us("1:30", "MINUTE", "SECOND"), span_us("-1 02:00", "DAY", "MINUTE")
    (90000000, -93600000000)

    Raises:
        ValueError: It is written in another way.
    """
    found = re.fullmatch(f"([+-]?){_FORMS.get((first, last), '(?!)')}", value)
    if found is None:
        raise ValueError(f"interval {value!r} from {first} to {last}")
    sign, *parts, fraction = found.groups()
    names = list(_UNITS)
    numbers = dict(zip(names[names.index(first) :], map(int, parts), strict=False))
    # The first of them may be any number.
    if any(number > _MOST[unit] for unit, number in numbers.items() if unit != first):
        raise ValueError(f"interval {value!r}, of which a part is larger than its unit")
    total = sum(number * _UNITS[unit] for unit, number in numbers.items())
    total += int((fraction or "").ljust(6, "0"))
    return -total if sign == "-" else total
