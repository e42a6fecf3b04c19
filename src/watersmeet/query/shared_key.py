"""The key all streams share, as it may be written: a column, several, or other names per stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import Attribute, Member, different_types, refuse_unusable_key
from watersmeet.query.stream import Stream

Names = str | Sequence[str]


def shared_key(streams: Sequence[Stream], on: Names | Mapping[str, Names]) -> tuple[Attribute, ...]:
    """One attribute per key column, every stream a member of each."""
    keys = _per_stream(streams, on) if isinstance(on, Mapping) else [names(on)] * len(streams)
    attributes = []
    for position in range(len(keys[0])):
        columns = [stream.column(key[position]) for stream, key in zip(streams, keys, strict=True)]
        for stream, column in zip(streams, columns, strict=True):
            if column.type != columns[0].type:
                raise different_types(
                    f"{streams[0].name}.{columns[0].name}",
                    f"{stream.name}.{column.name}",
                    columns[0].type,
                    column.type,
                )
        refuse_unusable_key(streams[0], columns[0].name, columns[0])
        members = (Member.of_column(s, c.name) for s, c in zip(streams, columns, strict=True))
        attributes.append(Attribute(tuple(members), columns[0].type))
    return tuple(attributes)


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
