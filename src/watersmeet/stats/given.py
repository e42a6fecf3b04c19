"""Statistics as a user writes them, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

from watersmeet.errors import InvalidStatistics, choices
from watersmeet.query.duration import duration, seconds
from watersmeet.stats.figure import ABSENT, Figure
from watersmeet.stats.frequencies import Frequencies
from watersmeet.stats.statistics import ANY_KEY, Statistics, StreamStatistics

_FIGURES = ("rate", "window_rows", "row_bytes", "key_bytes")
_FIELDS = (*_FIGURES, "distinct", "frequencies")


def statistics(
    streams: Mapping[str, Mapping[str, Any]],
    *,
    matches: Mapping[tuple[str, str], float] | None = None,
    conditions: Mapping[str, float] | None = None,
    batch: str | timedelta | None = None,
    costs: Mapping[str, str | float | timedelta] | None = None,
) -> Statistics:
    """Say what is known about the data; whatever is left out is not known, which is not the same as zero.

    Args:
        streams: Per stream any of `rate` (rows per second), `window_rows` (rows alive at a time),
            `row_bytes`, `key_bytes`, `distinct` (values of the key: a number, or numbers by key column) and
            `frequencies` (by key column the share of rows per value). A `wm.Figure` may stand for a number.
        matches: How likely a row of one stream and a row of another agree, by the two names.
        conditions: How likely a condition holds, by its text as in `on`.
        batch: The event time one micro-batch spans, for example ``"10 seconds"``.
        costs: What the function of a condition takes for a pair, by the condition's text: seconds, or a
            duration such as ``"50 us"``.

    Example:
        >>> known = statistics({"orders": {"rate": 100, "distinct": 5000}}, batch="10 seconds")
        >>> known.of("orders").rate.value, known.of("orders").row_bytes.is_known
        (100.0, False)
    """
    for what, given in (
        ("streams", streams),
        ("matches", matches or {}),
        ("conditions", conditions or {}),
        ("costs", costs or {}),
    ):
        if not isinstance(given, Mapping):
            raise InvalidStatistics(
                f"{what} are not given by name", f"they are {given!r}.", 'write {"orders": {"rate": 100}}.'
            )
    pairs: dict[frozenset[str], Figure] = {}
    for names, p in (matches or {}).items():
        pair = _pair(names)
        if pair in pairs:
            raise InvalidStatistics(
                f"matches of {names} are given twice", "the order of the two does not matter.", "give one."
            )
        pairs[pair] = _probability(f"matches of {names}", p)
    return Statistics(
        {name: _stream(name, values) for name, values in streams.items()},
        pairs,
        {text: _probability(f'condition "{text}"', p) for text, p in (conditions or {}).items()},
        ABSENT if batch is None else _batch(batch),
        {text: _cost(text, value) for text, value in (costs or {}).items()},
    )


def _cost(text: str, value: Any) -> float:
    return seconds(value, f'cost of condition "{text}"', InvalidStatistics, "50 us")


def _batch(value: Any) -> Figure:
    length = duration(value, "batch", InvalidStatistics, "10 seconds").total_seconds()
    if length <= 0:
        raise InvalidStatistics(
            "batch is not longer than nothing", f"it is {value}.", 'write batch="10 seconds".'
        )
    return Figure.estimated(length)


def _stream(name: str, values: Mapping[str, Any]) -> StreamStatistics:
    if not isinstance(values, Mapping):
        raise InvalidStatistics(
            f'statistics of stream "{name}" are not a table', f"they are {values!r}.", 'write {"rate": 100}.'
        )
    unknown = [field for field in values if field not in _FIELDS]
    if unknown:
        raise InvalidStatistics(
            f'stream "{name}" has no statistic "{unknown[0]}"',
            f"there are {len(_FIELDS)}.",
            f"valid are {choices(_FIELDS)}.",
        )
    figures = {field: _figure(name, field, values.get(field)) for field in _FIGURES}
    distinct = values.get("distinct", {})
    if not isinstance(distinct, Mapping):
        distinct = {ANY_KEY: distinct}
    found = StreamStatistics(
        **figures,
        distinct={key: _figure(name, f"distinct {key}", value) for key, value in distinct.items()},
        frequencies={key: _frequencies(name, key, f) for key, f in _by_key(name, values).items()},
    )
    _refuse_contradictions(name, found)
    return found


def _by_key(name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    given = values.get("frequencies") or {}
    if not isinstance(given, Mapping):
        raise InvalidStatistics(
            f'frequencies of stream "{name}" are not given by key',
            f"they are {given!r}.",
            'write {"k": {7: 0.5}}.',
        )
    return given


def _figure(stream: str, what: str, value: Any) -> Figure:
    if value is None:
        return ABSENT
    figure = _number(value, Figure.exact)
    least = 1 if what.startswith("distinct") else 0
    if figure is None or (figure.is_known and not (math.isfinite(figure.number) and figure.number >= least)):
        raise InvalidStatistics(
            f'{what} of stream "{stream}" is not a number from {"one" if least else "zero"} up',
            f"it is {value!r}.",
            "leave out what is not known: absent is not zero.",
        )
    return figure


def _number(value: Any, known: Callable[[float], Figure]) -> Figure | None:
    """A number of any kind as a figure; None for what is not a number."""
    if isinstance(value, Figure):
        return value if value.is_known == (value.value is not None) else None
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        return known(float(value))
    except OverflowError:
        return None


def _probability(what: str, value: Any) -> Figure:
    figure = _number(value, Figure.estimated)
    if figure is None or (figure.is_known and not 0 <= figure.number <= 1):
        raise InvalidStatistics(
            f"{what} is not a probability", f"it is {value!r}.", "give a number from 0 to 1."
        )
    return figure


def _frequencies(stream: str, key: str, value: Any) -> Frequencies:
    if not isinstance(value, Frequencies | Mapping):
        raise InvalidStatistics(
            f'frequencies of {key} in stream "{stream}" are not given by value',
            f"they are {value!r}.",
            'write {"k": {7: 0.5, 8: 0.1}}.',
        )
    found = value if isinstance(value, Frequencies) else Frequencies(dict(value))
    shares = [_number(share, Figure.exact) for share in found.shares.values()]
    total = sum(share.number for share in shares if share is not None and share.is_known)
    fine = all(share is not None and share.is_known and 0 <= share.number <= 1 for share in shares)
    if not shares or not fine or total > 1 + 1e-6 or found.width <= 0 or not 0 < found.sampled <= 1:
        raise InvalidStatistics(
            f'frequencies of {key} in stream "{stream}" are not shares of its rows',
            f"they add up to {total:g}.",
            "give every value a share from 0 to 1, all together at most 1.",
        )
    return found


def _pair(names: Any) -> frozenset[str]:
    pair = frozenset(names)
    if isinstance(names, str) or len(pair) != 2:
        raise InvalidStatistics(
            "matches are between two different streams", f"given for {names!r}.", 'write ("a", "b"): 0.01.'
        )
    return pair


def _refuse_contradictions(name: str, found: StreamStatistics) -> None:
    if (
        found.key_bytes.is_known
        and found.row_bytes.is_known
        and found.key_bytes.number > found.row_bytes.number
    ):
        raise InvalidStatistics(
            f'statistics of stream "{name}" contradict each other',
            f"a key of {found.key_bytes.number:g} bytes in a row of {found.row_bytes.number:g}.",
            "row_bytes counts the whole row, its key included.",
        )
    for key, frequencies in found.frequencies.items():
        given = found.distinct.get(key, found.distinct.get(ANY_KEY, ABSENT))
        if given.is_known and given.number < sum(share > 0 for share in frequencies.shares.values()):
            raise InvalidStatistics(
                f'statistics of stream "{name}" contradict each other',
                f"{given.number:g} distinct values of {key}, but frequencies of "
                f"{len(frequencies.shares)} values.",
                "leave out distinct: it follows from the frequencies.",
            )
    if found.rate.is_known and found.rate.number == 0 and found.window_rows.value:
        raise InvalidStatistics(
            f'statistics of stream "{name}" contradict each other',
            f"{found.window_rows.number:g} rows alive at a rate of zero.",
            "leave out what is not known: absent is not zero.",
        )
