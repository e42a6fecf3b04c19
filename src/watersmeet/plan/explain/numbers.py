"""Figures as people read them: three digits, a unit, and how well they are known."""

from __future__ import annotations

from datetime import timedelta

from watersmeet.query.duration import describe_duration
from watersmeet.stats import Figure

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def number(value: float) -> str:
    """A number with as many digits as say something.

    >>> number(1234.5), number(0.01234), number(12.34), number(0.0)
    ('1,234', '0.0123', '12.3', '0')
    """
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def figure(known: Figure, unit: str = "") -> str:
    """A figure with its unit, or a question mark.

    >>> figure(Figure.estimated(2.5), "per s")
    '2.5 per s'
    """
    text = number(known.number) if known.is_known else "?"
    return f"{text} {unit}".rstrip()


def size(value: float) -> str:
    """Bytes.

    >>> size(1536), size(3_200_000)
    ('1.54 kB', '3.2 MB')
    """
    place = 0
    while value >= 1000 and place < len(_UNITS) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.3g} {_UNITS[place]}"


def bytes_of(known: Figure) -> str:
    """A figure in bytes, or a question mark."""
    return size(known.number) if known.is_known else "?"


def off_by(predicted: float, measured: float) -> str:
    """How far a prediction was off.

    >>> off_by(110, 100), off_by(100, 100), off_by(1, 0)
    ('+10 %', '+0 %', '')
    """
    return f"{100 * (predicted / measured - 1):+.0f} %" if measured else ""


def seconds(value: float) -> str:
    """A duration, to the millisecond.

    >>> seconds(90.0), seconds(0.25)
    ('90 s', '250 ms')
    """
    digits = 0 if value >= 10 else 1 if value >= 1 else 3
    return describe_duration(timedelta(milliseconds=round(1000 * round(value, digits))))
