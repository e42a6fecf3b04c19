"""Columns that ``JOIN ... USING (k)`` merges: the condition it stands for, and what ``k`` alone means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import Member
from watersmeet.query.sql import SqlCondition, SqlJoin, SqlUsing
from watersmeet.query.stream import Stream
from watersmeet.query.syntax import point_at

# Makes a statement of an item or a condition.
_BEFORE = "SELECT "


def without_using(query: SqlJoin, streams: Sequence[Stream]) -> SqlJoin:
    """The query with conditions in place of USING, and with a stream before every merged column.

    As in Spark, a merged column is that of the stream on the left, of a right join that on the right, and of
    a full join the one that is there.
    """
    merged: dict[str, str] = {}
    hidden: set[tuple[int, str]] = set()
    conditions = []
    for using in query.using:
        for name in using.columns:
            left = _left_of(query, streams, using, name, hidden)
            owner, right = Member.of_column(streams[left[0]], left[1]), _column(streams[using.stream], name)
            if right is None:
                raise _missing(query, using, name, [streams[using.stream]])
            other = Member.of_column(streams[using.stream], right)
            conditions.append(SqlCondition(f"{owner.text} = {other.text}", using.stream))
            hidden.add((using.stream, name.lower()))
            how = query.streams[using.stream].how
            value = {"right": other.text, "full": f"coalesce({owner.text}, {other.text})"}.get(
                how, owner.text
            )
            merged.setdefault(name.lower(), value)
    return replace(
        query,
        items=tuple(
            # A merged column keeps its name, whatever stands for it.
            replace(item, text=_qualified(item.text, merged), name=item.name or _own_name(item.text, merged))
            for item in query.items
        ),
        conditions=(
            *conditions,
            *(replace(one, text=_qualified(one.text, merged)) for one in query.conditions),
        ),
    )


def _left_of(
    query: SqlJoin, streams: Sequence[Stream], using: SqlUsing, name: str, hidden: set[tuple[int, str]]
) -> tuple[int, str]:
    """The stream on the left that has a column, and the column's name there."""
    before = range(using.first, using.stream)
    found = [(number, column) for number in before if (column := _column(streams[number], name))]
    found = [(number, column) for number, column in found if (number, name.lower()) not in hidden]
    if not found:
        raise _missing(query, using, name, [streams[number] for number in before])
    if len(found) > 1:
        owners = choices(streams[number].name for number, _ in found)
        raise InvalidQuery(
            f'it is not clear which "{name}" USING means',
            f"{point_at(query.text, using.place)}\nseveral streams before it have that column: {owners}.",
            f"write ON {streams[found[0][0]].name}.{name} = {streams[using.stream].name}.{name}.",
        )
    return found[0]


def _missing(query: SqlJoin, using: SqlUsing, name: str, streams: Sequence[Stream]) -> InvalidQuery:
    columns = [f"{stream.name}.{column}" for stream in streams for column in stream.column_names]
    return InvalidQuery(
        f'USING names the column "{name}", which is missing in {choices(stream.name for stream in streams)}',
        point_at(query.text, using.place),
        f"the columns there are {choices(columns)}.",
    )


def _column(stream: Stream, name: str) -> str | None:
    return next((column for column in stream.column_names if column.lower() == name.lower()), None)


def _own_name(text: str, merged: Mapping[str, str]) -> str | None:
    """The name of an item that is just a merged column which two streams make together; None for others."""
    made_of_two = "(" in merged.get(text.strip().strip("`").lower(), "")
    return text.strip().strip("`") if made_of_two else None


def _qualified(text: str, merged: Mapping[str, str]) -> str:
    """The text with a stream before every name of a merged column that stands alone.

    Only what is read as a column: in ``CAST(a.ts AS date)`` and ``INTERVAL 1 DAY`` the same words are not.
    """
    if not merged:
        return text
    try:
        tree = sqlglot.parse_one(f"{_BEFORE}{text}", dialect="spark")
    except SqlglotError:
        # Whoever reads it next says what is wrong with it.
        return text
    alone = [one.this for one in tree.find_all(exp.Column) if not one.table and one.name.lower() in merged]
    for name in sorted(alone, key=lambda one: one.meta["start"], reverse=True):
        start, end = (name.meta[which] - len(_BEFORE) for which in ("start", "end"))
        text = text[:start] + merged[name.name.lower()] + text[end + 1 :]
    return text
