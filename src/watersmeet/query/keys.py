"""The keys of a query: attributes that the same streams share are one key of several columns."""

from __future__ import annotations

from watersmeet.query.join import JoinQuery

# Attributes by their numbers.
Key = tuple[int, ...]


def keys_of(query: JoinQuery) -> list[Key]:
    """The keys of a query: attributes that the same streams share."""
    found: dict[tuple[int, ...], list[int]] = {}
    for number, attribute in enumerate(query.attributes):
        found.setdefault(attribute.streams, []).append(number)
    return [tuple(numbers) for numbers in found.values()]


def key_names(query: JoinQuery, key: Key, stream: int) -> tuple[str, ...]:
    """The names of a stream's part of a key in statistics: as it is written, and by its plain columns."""
    members = [member for n in key if (member := query.attributes[n].members[stream]) is not None]
    texts = ", ".join(member.text for member in members)
    columns = [member.column for member in members if member.column is not None]
    return (texts, ", ".join(columns)) if len(columns) == len(members) else (texts,)
