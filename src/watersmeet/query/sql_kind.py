"""The kind of join that the words before JOIN ask for, and what its conditions decide about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from watersmeet.errors import InvalidQuery
from watersmeet.query.condition import OnCondition
from watersmeet.query.sql import SqlCondition, SqlJoin, SqlStream
from watersmeet.query.stream import Stream
from watersmeet.query.syntax import point_at

# Kinds of join that a query can have one of, and nothing beside it.
_ALONE = {
    "right": "write it as a LEFT JOIN, with the streams the other way round.",
    "full": "a full join is one of two streams: write the results to a table and join that.",
    "semi": "use WHERE EXISTS (SELECT 1 FROM b JOIN c ON ... WHERE ...) to ask for several streams.",
    "anti": "use WHERE NOT EXISTS (SELECT 1 FROM b JOIN c ON ... WHERE ...) to ask for several streams.",
}


def sql_kind(query: SqlJoin, streams: Sequence[Stream]) -> tuple[list[Stream], str, list[str | OnCondition]]:
    """The streams with the optional ones marked, `how` of the join, and its conditions."""
    hows = [stream.how for stream in query.streams]
    alone = [stream for stream in query.streams if stream.how in _ALONE]
    if alone and not _fits(query.streams):
        raise _not_alone(query, alone[0])
    if alone:
        how = alone[0].how
        # Of a right join the first stream is the optional one.
        owner = 0 if how == "right" else None
        return list(streams), how, [_decides(one, owner) for one in query.conditions]
    marked = [replace(s, optional=how == "left") for s, how in zip(streams, hows, strict=True)]
    if "left" not in hows:
        return marked, "inner", [one.text for one in query.conditions]
    return marked, "inner", [_of_outer(one, marked) for one in query.conditions]


def _fits(streams: Sequence[SqlStream]) -> bool:
    """Two streams, or one against those inside EXISTS."""
    return len(streams) == 2 or all(stream.inside_exists for stream in streams[1:])


def _not_alone(query: SqlJoin, stream: SqlStream) -> InvalidQuery:
    return InvalidQuery(
        f"{stream.how.upper()} JOIN goes with no other join",
        point_at(query.text, stream.place),
        _ALONE[stream.how],
    )


def _decides(condition: SqlCondition, owner: int | None) -> OnCondition:
    """Behind ON a condition decides about partners, in WHERE about results."""
    if condition.stream is None:
        return OnCondition(condition.text, of_results=True)
    return OnCondition(condition.text, owner)


def _of_outer(condition: SqlCondition, streams: Sequence[Stream]) -> OnCondition:
    """Behind the ON of an optional stream it is about its partners; elsewhere about results."""
    if condition.stream is not None and streams[condition.stream].optional:
        return OnCondition(condition.text, condition.stream)
    return OnCondition(condition.text, of_results=True, inner=condition.stream is not None)
