"""The kinds of join: which rows come out without partners, and whose partners they look for.

    kind    comes out                                        without partners
    inner   one row of every stream
    outer   one row of every required stream,                nulls for an optional stream
            and of every optional one that has partners
    full    both streams                                     nulls for the other
    semi    the first stream, once, with partners in all others
    anti    the first stream                                 only then

Rows that look for partners and come out without any are **preserved**. They wait for as long as they live, so
something has to end their lives.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.stream import Stream

INNER, OUTER, FULL, SEMI, ANTI = "inner", "outer", "full", "semi", "anti"

# What users write.
HOW = ("inner", "left", "right", "full", "semi", "anti")
# Which of two streams may be without partners.
_OPTIONAL = {"left": 1, "right": 0}


def optional(stream: Stream) -> Stream:
    """The stream as one whose rows need not be there: results go on with nulls in their place.

    >>> from watersmeet.query import Column
    >>> payments = Stream("payments", (Column("ts", "timestamp"),), "ts")
    >>> optional(payments).optional
    True
    """
    if not isinstance(stream, Stream):
        raise InvalidQuery(
            f"only a stream can be optional, not {type(stream).__name__}",
            "",
            'wrap the DataFrame: wm.optional(wm.stream("payments", df, time="ts", window="10 minutes")).',
        )
    return replace(stream, optional=True)


def kind_of(streams: Sequence[Stream], how: str) -> tuple[tuple[Stream, ...], str]:
    """The streams, with the optional ones marked, and the kind of their join."""
    if how not in HOW:
        raise InvalidQuery(f'there is no join "{how}"', "", f"how is one of {choices(HOW)}.")
    marked = [stream.name for stream in streams if stream.optional]
    if how == "inner":
        if not marked:
            return tuple(streams), INNER
        if len(marked) == len(streams):
            raise InvalidQuery(
                "every stream is optional",
                "then nothing would have to be there.",
                'leave one without wm.optional, or use how="full" for two streams.',
            )
        return tuple(streams), OUTER
    if marked:
        raise InvalidQuery(
            f'how="{how}" goes without wm.optional',
            f'stream "{marked[0]}" is optional.',
            "leave how out: streams with wm.optional may be without partners, the others may not.",
        )
    if how in (SEMI, ANTI):
        return tuple(streams), how
    if len(streams) != 2:
        raise InvalidQuery(
            f'how="{how}" is for two streams',
            f"there are {len(streams)}.",
            "mark those that may be without partners: wm.join(orders, wm.optional(payments), ...).",
        )
    if how == FULL:
        return tuple(streams), FULL
    changed = list(streams)
    changed[_OPTIONAL[how]] = optional(streams[_OPTIONAL[how]])
    return tuple(changed), OUTER


def preserved(streams: Sequence[Stream], kind: str) -> tuple[int, ...]:
    """The streams whose rows come out without partners."""
    if kind == OUTER:
        return tuple(number for number, stream in enumerate(streams) if not stream.optional)
    return {FULL: (0, 1), ANTI: (0,)}.get(kind, ())


def binding_order(streams: Sequence[Stream], kind: str) -> tuple[int, ...]:
    """The order in which rows are added to a result: required streams first, then optional ones."""
    numbers = range(len(streams))
    if kind != OUTER:
        return tuple(numbers)
    return tuple(sorted(numbers, key=lambda number: streams[number].optional))


def owner_of(
    streams: Sequence[Stream], kind: str, named: Collection[int], given: int | None, text: str
) -> int | None:
    """The optional stream whose partners a condition decides about; None where results must fulfil it.

    Args:
        streams: The streams.
        kind: The kind of their join.
        named: Those the condition names.
        given: The stream behind whose ON it stands; None where there is no ON.
        text: The condition, for people.
    """
    if kind != OUTER:
        return None
    order = binding_order(streams, kind)
    if given is not None:
        later = [n for n in named if order.index(n) > order.index(given)]
        if later:
            raise InvalidQuery(
                f'"{text}" names stream "{streams[later[0]].name}" too early',
                f'it belongs to "{streams[given].name}", which is joined before.',
                "move the condition to the ON of the stream that is joined last.",
            )
        return given
    if not named:
        raise InvalidQuery(
            f'"{text}" names no stream',
            "it is the same for all rows, so it cannot decide which of them have partners.",
            "leave it out, or filter the DataFrame that comes back.",
        )
    last = max(named, key=order.index)
    if streams[last].optional:
        return last
    if len(named) > 1:
        return None
    optional_ones = [n for n in order if streams[n].optional]
    if len(optional_ones) > 1:
        raise InvalidQuery(
            f'"{text}" names no optional stream',
            f'rows of "{streams[last].name}" come out whether or not it holds, so it can only decide about '
            "partners, and there are several streams to choose from.",
            f'filter the DataFrame of "{streams[last].name}" before the join, or write the join in SQL, '
            "with the condition behind the ON of one stream.",
        )
    return optional_ones[0]


def refuse_endless_wait(streams: Sequence[Stream], kind: str) -> None:
    """Raise InvalidQuery where rows without partners would never come out."""
    for number in preserved(streams, kind):
        stream = streams[number]
        if stream.window.endless:
            raise InvalidQuery(
                f'rows of stream "{stream.name}" would wait for ever',
                "they come out when nothing can be their partner any more, and nothing ends their wait.",
                'give it a window, for example window="1 hour".',
            )
        if stream.window.counts_rows:
            raise InvalidQuery(
                f'rows of stream "{stream.name}" cannot wait by count',
                f"its window is {stream.window}; without rows to come it would never be known that "
                "they have no partner.",
                'give it a window of time, for example window="1 hour".',
            )
    last = binding_order(streams, kind)[-1]
    for number, stream in enumerate(streams):
        if kind != INNER and stream.window.endless:
            raise InvalidQuery(
                f'window {stream.window} of stream "{stream.name}" does not go with this kind of join',
                "its rows would have to be kept for ever.",
                'give every stream a window of time, for example window="1 hour".',
            )
        if kind == OUTER and stream.window.counts_rows and number != last:
            raise InvalidQuery(
                f'window {stream.window} of stream "{stream.name}" goes with the last stream only',
                f'stream "{streams[last].name}" is added to results after it.',
                "put the stream last, or give it a window of time.",
            )
