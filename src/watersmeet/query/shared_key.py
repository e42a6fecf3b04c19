"""The key all streams share, as it may be written: a column, several, or other names per stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import (
    Attribute,
    Classes,
    Member,
    Side,
    different_types,
    refuse_unusable_key,
)
from watersmeet.query.predicate import Types
from watersmeet.query.stream import Stream

Names = str | Sequence[str]


def shared_key(
    streams: Sequence[Stream], on: Names | Mapping[str, Names], types: Types
) -> tuple[Attribute, ...]:
    """One attribute per key column, every stream a member of each."""
    keys = _per_stream(streams, on) if isinstance(on, Mapping) else [names(on)] * len(streams)
    return tuple(
        _attribute(streams, [key[position] for key in keys], types) for position in range(len(keys[0]))
    )


def _attribute(streams: Sequence[Stream], columns: Sequence[str], types: Types) -> Attribute:
    """The attribute of one column per stream, in the one type in which all are compared."""
    sides = []
    for number, (stream, name) in enumerate(zip(streams, columns, strict=True)):
        column = stream.column(name)
        refuse_unusable_key(stream, name, column)
        sides.append(Side(number, Member.of_column(stream, name), column.type))
    equal = Classes(len(streams))
    for left, right in combinations(sides, 2):
        kind = types.compared_in(left, right)
        if kind is None:
            raise different_types([left, right])
        equal.join(left, right, kind)
    (members, kind), *more = equal.classes()
    if more:
        raise different_types(sides)
    return Attribute(tuple(same[0] for same in members), kind)


def names(value: Names) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    listed = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for name in listed:
        if callable(name):
            raise InvalidQuery(
                "a function is not a condition yet",
                f"found {name!r}.",
                'say what it is given: wm.predicate(function, "a.x", "b.x").',
            )
        if not isinstance(name, str):
            raise InvalidQuery(
                "columns are given by name",
                f"found {name!r} ({type(name).__name__}).",
                'write a name or a list of names, for example "order_id" or ["region", "order_id"].',
            )
    return listed


def _per_stream(streams: Sequence[Stream], on: Mapping[str, Names]) -> list[tuple[str, ...]]:
    unknown = [name for name in on if name not in {stream.name for stream in streams}]
    if unknown:
        raise InvalidQuery(
            f'"on" names stream "{unknown[0]}", which is not in the join',
            "",
            f"the streams are {choices(stream.name for stream in streams)}.",
        )
    missing = [stream.name for stream in streams if stream.name not in on]
    if missing:
        raise InvalidQuery(
            f'"on" has no key for stream "{missing[0]}"',
            "every stream takes part in the shared key.",
            f'add "{missing[0]}": <column> to it.',
        )
    keys = [names(on[stream.name]) for stream in streams]
    if len({len(key) for key in keys}) > 1:
        raise InvalidQuery(
            "the keys have different numbers of columns",
            ", ".join(f"{s.name}: {len(k)}" for s, k in zip(streams, keys, strict=True)) + ".",
            "list the key columns of every stream in the same order.",
        )
    return keys
