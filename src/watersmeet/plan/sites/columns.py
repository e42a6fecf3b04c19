"""Which columns of a stream travel, and by which of them streams meet."""

from __future__ import annotations

from collections.abc import Iterable

from watersmeet.plan.layout import Ref, result_columns, value_ref
from watersmeet.plan.plan import Source
from watersmeet.plan.sites.step import JoinStep, column_name
from watersmeet.query import JoinQuery
from watersmeet.query.condition import Condition
from watersmeet.query.expression import fields
from watersmeet.query.number_band import number_band


def named(ref: Ref) -> str:
    """How a column is called on its way."""
    return column_name(ref.stream, ref.column)


def final_columns(query: JoinQuery) -> tuple[str, ...]:
    """The columns of results."""
    return tuple(named(ref) for ref in result_columns(query))


def source_refs(query: JoinQuery, stream: int) -> tuple[Ref, ...]:
    """What a stream brings: what results show of it, its key values, and what conditions look at."""
    shown = [ref for ref in result_columns(query) if ref.stream == stream]
    values = [
        value_ref(query, number, Source(stream))
        for number, attribute in enumerate(query.attributes)
        if stream in attribute.streams
    ]
    return tuple(dict.fromkeys([*shown, *values, *_judged(query, range(len(query.conditions)), stream)]))


def _judged(query: JoinQuery, conditions: Iterable[int], stream: int) -> list[Ref]:
    mentioned = [field for number in conditions for field in fields(query.conditions[number].expression)]
    return [Ref(field.stream, field.column) for field in mentioned if field.stream == stream]


def step_between(
    query: JoinQuery, done: tuple[int, ...], joined: tuple[int, ...], *, ties: bool, ends: bool
) -> JoinStep:
    """The step in which results over some streams meet a window of others.

    Args:
        query: What is joined.
        done: The streams of the heads.
        joined: The streams of the window's rows.
        ties: Whether rows of equal time meet.
        ends: Whether results say until when they live.
    """
    left, right = set(done), set(joined)
    shared = [
        number
        for number, attribute in enumerate(query.attributes)
        if left & set(attribute.streams) and right & set(attribute.streams)
    ]
    ready = ready_conditions(query, left, right)
    return JoinStep(
        head_key=tuple(_value(query, number, done) for number in shared),
        window_key=tuple(_value(query, number, joined) for number in shared),
        ties=ties,
        conditions=tuple(condition.expression for condition in ready),
        columns=_kept(query, left | right),
        ends=ends,
        head_reach=(query.reaches[done[0]] or 0) if len(done) == 1 else 0,
        band=None if shared else number_band((condition.expression for condition in ready), done, joined),
    )


def ready_conditions(query: JoinQuery, left: set[int], right: set[int]) -> list[Condition]:
    """The conditions that can be judged when two sides meet, and not before.

    What lies within several streams that have met was judged then; a stream alone was never judged.
    """
    judged = [side for side in (left, right) if len(side) > 1]
    return [
        condition
        for condition in query.conditions
        if condition.streams <= left | right and not any(condition.streams <= side for side in judged)
    ]


def _value(query: JoinQuery, attribute: int, streams: Iterable[int]) -> str:
    having = query.attributes[attribute].streams
    return named(value_ref(query, attribute, Source(next(s for s in sorted(streams) if s in having))))


def _kept(query: JoinQuery, streams: set[int]) -> tuple[str, ...]:
    """What is still needed of some streams when they have met: for results, and to meet the others."""
    shown = [ref for ref in result_columns(query) if ref.stream in streams]
    values = [
        value_ref(query, number, Source(next(s for s in sorted(streams) if s in attribute.streams)))
        for number, attribute in enumerate(query.attributes)
        if streams & set(attribute.streams) and not set(attribute.streams) <= streams
    ]
    open_conditions = [n for n, c in enumerate(query.conditions) if not c.streams <= streams]
    judged = [ref for stream in sorted(streams) for ref in _judged(query, open_conditions, stream)]
    return tuple(named(ref) for ref in dict.fromkeys([*shown, *values, *judged]))
