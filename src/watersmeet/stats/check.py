"""Statistics belong to a query: names it does not have are refused, and figures that cannot be true of it."""

from __future__ import annotations

from watersmeet.errors import InvalidStatistics, choices
from watersmeet.query import JoinQuery
from watersmeet.query.keys import key_names, keys_of
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
    for pair in statistics.matches:
        members = {query.names.index(name) for name in pair}
        if not any(members <= set(attribute.streams) for attribute in query.attributes):
            raise InvalidStatistics(
                f"no equality connects {choices(sorted(pair))}",
                "there is a probability that they match.",
                "say how likely a condition holds with conditions={...}.",
            )
    for number, name in enumerate(query.names):
        _refuse_unknown_keys(query, statistics, number)
        _refuse_wrong_window(query, statistics, number, name)
    for attribute in query.attributes:
        spreads = [
            spread
            for stream in attribute.streams
            for key, spread in statistics.of(query.names[stream]).frequencies.items()
            if (member := attribute.members[stream]) is not None and key in (member.text, member.column)
        ]
        if len({(spread.width, spread.sampled) for spread in spreads}) > 1:
            raise InvalidStatistics(
                f"frequencies of {attribute.label} do not fit together",
                "they are of groups of different widths, or of different samples.",
                "give them for the same values in every stream.",
            )
    texts = list(dict.fromkeys(condition.text for condition in query.conditions))
    for text in (*statistics.conditions, *statistics.costs):
        if text not in texts:
            raise InvalidStatistics(
                f'the query has no condition "{text}" that the join judges',
                "there is a probability or a cost for it.",
                f"valid are {choices(texts)}." if texts else "it has none.",
            )


def _refuse_unknown_keys(query: JoinQuery, statistics: Statistics, number: int) -> None:
    stream = statistics.of(query.names[number])
    own = [key for key in keys_of(query) if number in query.attributes[key[0]].streams]
    named = [*own, *((attribute,) for key in own for attribute in key)]
    known = [name for key in named for name in key_names(query, key, number)]
    for name in (*stream.distinct, *stream.frequencies):
        if name != ANY_KEY and name not in known:
            raise InvalidStatistics(
                f'stream "{query.names[number]}" is not joined on "{name}"',
                "there are statistics about it.",
                f"its keys are {choices(dict.fromkeys(known)) or 'none'}.",
            )


def _refuse_wrong_window(query: JoinQuery, statistics: Statistics, number: int, name: str) -> None:
    stream, reach, window = statistics.of(name), query.reaches[number], query.streams[number].window
    if window.most_rows is not None:
        if window.counts_whole_stream and (stream.window_rows.value or 0) > window.most_rows:
            raise InvalidStatistics(
                f'statistics of stream "{name}" contradict each other',
                f"{stream.window_rows.number:g} rows alive in a window of the {window}.",
                "leave out window_rows: it follows from the window.",
            )
        return
    if reach is None:
        return
    seconds = window.mean_life_us(reach) / 1e6
    by_rate = stream.rate * seconds
    given = stream.window_rows
    if (
        by_rate.is_known
        and given.is_known
        and not by_rate.number / _TOLERANCE <= given.number <= (by_rate.number * _TOLERANCE)
    ):
        raise InvalidStatistics(
            f'statistics of stream "{name}" contradict each other',
            f"{stream.rate.number:g} rows per second live {seconds:g} s, which makes {by_rate.number:g} "
            f"rows alive, not {given.number:g}.",
            "leave out window_rows: it follows from the rate.",
        )
