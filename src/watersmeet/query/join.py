"""The query: which streams meet, on which key, and what of them is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.stream import Column, Stream

On = str | Sequence[str] | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """Streams joined on one shared key inside their windows.

    Attributes:
        streams: The inputs, in the order they were given.
        keys: Per stream the names of its key columns; position by position they are equal.
        selected: Per stream the columns that are kept, in the order they appear in the result.
        flat: True when the result has the selected columns themselves instead of one struct per stream.
    """

    streams: tuple[Stream, ...]
    keys: tuple[tuple[str, ...], ...]
    selected: tuple[tuple[str, ...], ...]
    select: tuple[tuple[int, str], ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Stream names in order."""
        return tuple(stream.name for stream in self.streams)

    def key_types(self) -> tuple[str, ...]:
        """The types of the key columns, the same in every stream."""
        first = self.streams[0]
        return tuple(first.column(name).type for name in self.keys[0])

    def describe_key(self) -> str:
        """The key as the explain text shows it.

        Columns of the same name in every stream are named once.
        """
        parts = []
        for position in range(len(self.keys[0])):
            names = [key[position] for key in self.keys]
            if len(set(names)) == 1:
                parts.append(names[0])
            else:
                parts.append(" = ".join(f"{s.name}.{n}" for s, n in zip(self.streams, names, strict=True)))
        return ", ".join(parts)


def join_query(streams: Sequence[Stream], on: On, select: Sequence[str] | None, how: str) -> JoinQuery:
    """Check a join as the user wrote it and give it its normal form."""
    if how != "inner":
        raise InvalidQuery(
            f'join type "{how}" is not supported',
            "a result is one row of every stream.",
            'use how="inner".',
        )
    if len(streams) < 2:
        raise InvalidQuery(
            "a join needs at least two streams",
            f"{len(streams)} given.",
            'pass them one by one: wm.join(orders, payments, on="order_id").',
        )
    for stream in streams:
        if not isinstance(stream, Stream):
            raise InvalidQuery(
                f"a join takes streams, not {type(stream).__name__}",
                "",
                'wrap the DataFrame: wm.stream("orders", df, time="ts", window="10 minutes").',
            )
    names = [stream.name for stream in streams]
    for name in names:
        twins = [other for other in names if other.lower() == name.lower()]
        if len(twins) > 1:
            raise InvalidQuery(
                f'stream name "{name}" is used twice',
                f"the streams are {choices(names)}.",
                "give every stream its own name; the same DataFrame may appear under several names.",
            )
    keys = _keys(streams, on)
    _refuse_different_types(streams, keys)
    chosen = None if select is None else _selection(streams, select)
    return JoinQuery(tuple(streams), keys, _kept(streams, chosen), chosen)


def _keys(streams: Sequence[Stream], on: On) -> tuple[tuple[str, ...], ...]:
    if isinstance(on, Mapping):
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
        keys = tuple(_names(on[stream.name]) for stream in streams)
        lengths = {len(key) for key in keys}
        if len(lengths) > 1:
            raise InvalidQuery(
                "the keys have different numbers of columns",
                ", ".join(f"{s.name}: {len(k)}" for s, k in zip(streams, keys, strict=True)) + ".",
                "list the key columns of every stream in the same order.",
            )
    else:
        keys = tuple(_names(on) for _ in streams)
    if not keys[0]:
        raise InvalidQuery(
            "the join has no key column", "", 'name at least one column, for example on="order_id".'
        )
    for stream, key in zip(streams, keys, strict=True):
        for name in key:
            stream.column(name)  # raises with the valid names
    return keys


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    names = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for name in names:
        if not isinstance(name, str):
            raise InvalidQuery(
                "columns are given by name",
                f"found {name!r} ({type(name).__name__}).",
                'write a name or a list of names, for example "order_id" or ["region", "order_id"].',
            )
    return names


def _refuse_different_types(streams: Sequence[Stream], keys: tuple[tuple[str, ...], ...]) -> None:
    first, first_key = streams[0], keys[0]
    for stream, key in zip(streams[1:], keys[1:], strict=True):
        for left_name, right_name in zip(first_key, key, strict=True):
            left, right = first.column(left_name), stream.column(right_name)
            if left.type != right.type:
                raise InvalidQuery(
                    f'key columns "{first.name}.{left.name}" and "{stream.name}.{right.name}" '
                    "have different types",
                    f"{left.type} and {right.type}.",
                    "cast one of them, so that equal keys are equal in every stream.",
                )
    for name in first_key:
        _refuse_unusable_key(first, first.column(name))


def _refuse_unusable_key(stream: Stream, column: Column) -> None:
    if column.not_a_key:
        raise InvalidQuery(
            f'key column "{stream.name}.{column.name}" cannot be compared',
            f"its type is {column.type}; {column.not_a_key}.",
            "join on a column taken out of it, or on a normalised copy.",
        )


def _selection(streams: Sequence[Stream], select: Sequence[str]) -> tuple[tuple[int, str], ...]:
    by_name = {stream.name: index for index, stream in enumerate(streams)}
    chosen: list[tuple[int, str]] = []
    for text in _names(select):
        owner, dot, column = text.partition(".")
        if not dot or owner not in by_name:
            raise InvalidQuery(
                f'cannot tell which stream "{text}" belongs to',
                "a selected column is written stream.column.",
                f"the streams are {choices(by_name)}.",
            )
        index = by_name[owner]
        names = streams[index].column_names if column == "*" else (streams[index].column(column).name,)
        chosen += [(index, name) for name in names]
    result_names = [name.lower() for _, name in chosen]
    for index, name in chosen:
        if result_names.count(name.lower()) > 1 and chosen.count((index, name)) > 1:
            raise InvalidQuery(
                f'"{streams[index].name}.{name}" is selected twice', "", "list every column once."
            )
    return tuple(chosen)


def _kept(
    streams: Sequence[Stream], chosen: tuple[tuple[int, str], ...] | None
) -> tuple[tuple[str, ...], ...]:
    if chosen is None:
        return tuple(stream.column_names for stream in streams)
    return tuple(
        tuple(name for index, name in chosen if index == position) for position in range(len(streams))
    )
