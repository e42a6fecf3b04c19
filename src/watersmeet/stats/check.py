"""Statistics belong to a query: names it does not have are refused, and figures that cannot be true of it."""

from __future__ import annotations

from watersmeet.errors import InvalidStatistics, choices
from watersmeet.query import JoinQuery, RowWindow
from watersmeet.stats.statistics import ANY_KEY, Statistics

# Rows alive may differ this much from rate times window before they contradict each other.
_TOLERANCE = 2.0


def refuse_foreign_statistics(query: JoinQuery, statistics: Statistics) -> None:
    """Raise InvalidStatistics if figures name what the query does not have, or cannot be true of it."""
    named = {*statistics.streams, *(name for pair in statistics.matches for name in pair)}
    for name in sorted(named - set(query.names)):
        raise InvalidStatistics(
            f'the query has no stream "{name}"',
            "there are statistics about it.",
            f"its streams are {choices(query.names)}.",
        )
    for number, name in enumerate(query.names):
        _refuse_unknown_keys(query, statistics, number)
        _refuse_wrong_window(query, statistics, number, name)
    texts = list(dict.fromkeys(condition.text for condition in query.conditions))
    for text in statistics.conditions:
        if text not in texts:
            raise InvalidStatistics(
                f'the query has no condition "{text}" that the join judges',
                "there is a probability for it.",
                f"valid are {choices(texts)}." if texts else "it has none.",
            )


def _refuse_unknown_keys(query: JoinQuery, statistics: Statistics, number: int) -> None:
    stream = statistics.of(query.names[number])
    members = [attribute.members[number] for attribute in query.attributes]
    known = [name for m in members if m is not None for name in (m.column, m.text) if name is not None]
    for key in (*stream.distinct, *stream.frequencies):
        if key != ANY_KEY and key not in known:
            raise InvalidStatistics(
                f'stream "{query.names[number]}" is not joined on "{key}"',
                "there are statistics about it.",
                f"its keys are {choices(dict.fromkeys(known)) or 'none'}.",
            )


def _refuse_wrong_window(query: JoinQuery, statistics: Statistics, number: int, name: str) -> None:
    stream, reach = statistics.of(name), query.reaches[number]
    if reach is None or isinstance(query.streams[number].window, RowWindow):
        return
    by_rate = stream.rate * (reach / 1e6)
    given = stream.window_rows
    if (
        by_rate.is_known
        and given.is_known
        and not by_rate.number / _TOLERANCE <= given.number <= (by_rate.number * _TOLERANCE)
    ):
        raise InvalidStatistics(
            f'statistics of stream "{name}" contradict each other',
            f"{stream.rate.number:g} rows per second live {reach / 1e6:g} s, which makes {by_rate.number:g} "
            f"rows alive, not {given.number:g}.",
            "leave out window_rows: it follows from the rate.",
        )
