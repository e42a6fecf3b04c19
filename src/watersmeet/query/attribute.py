"""Attributes: values that are equal in every result, and what each stream brings to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from watersmeet.errors import InvalidQuery
from watersmeet.query.expression import Expression, Field, wider
from watersmeet.query.key_types import converted, keeps_apart
from watersmeet.query.stream import Column, Stream

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Member:
    """What a stream brings to an attribute.

    Attributes:
        text: It in SQL.
        column: The column it is; None if it is more than that.
        expression: What the kernel would compute where it is more; None if only Spark can.
    """

    text: str
    column: str | None = None
    # Not a part of what a checkpoint between sites remembers, which is the text of a query.
    expression: Expression | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of_column(stream: Stream, column: str) -> Member:
        """A column as a member.

        Backticks only where they are needed, since people read the text.
        """
        plain = column if _PLAIN.fullmatch(column) else f"`{column.replace('`', '``')}`"
        return Member(f"{stream.name}.{plain}", column)


@dataclass(frozen=True, slots=True)
class Attribute:
    """Values that are equal in a result: per stream what it brings, or None."""

    members: tuple[Member | None, ...]
    type: str

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams that have it."""
        return tuple(stream for stream, member in enumerate(self.members) if member is not None)

    @property
    def label(self) -> str:
        """How people call it: the name all its columns share, or the equality spelled out."""
        columns = {member.column for member in self.members if member is not None}
        (only,) = columns if len(columns) == 1 else (None,)
        return only or self.text

    @property
    def text(self) -> str:
        """The equality spelled out."""
        return " = ".join(member.text for member in self.members if member is not None)

    def among(self, streams: Iterable[int]) -> bool:
        """Whether one of some streams has it."""
        return not set(self.streams).isdisjoint(streams)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an equality: what a stream brings to it, and the type that has."""

    stream: int
    member: Member
    type: str

    def as_type(self, kind: str) -> Member:
        """What it brings, in a type."""
        if self.type == kind:
            return self.member
        column = self.member.column
        given = self.member.expression if column is None else Field(self.stream, column, self.type)
        made = None if given is None else wider(given, kind)
        return Member(converted(self.member.text, self.type, kind), expression=made)


class Classes:
    """Expressions that are equal to each other, directly or through others."""

    def __init__(self, streams: int) -> None:
        """Nothing is equal yet."""
        self._streams = streams
        self._classes: list[tuple[list[Side], list[str]]] = []

    def join(self, left: Side, right: Side, kind: str) -> None:
        """Note an equality, compared in some type."""
        sides, kinds, rest = [left, right], [kind], []
        for members, known in self._classes:
            # Equal in one type is not equal in another: 2^53 and 2^53 + 1 are one double.
            together = left in members or right in members
            if together and _shared_type([*members, *sides], [*known, *kinds]) is not None:
                sides, kinds = [*members, *sides], [*known, *kinds]
            else:
                rest.append((members, known))
        self._classes = [*rest, (list(dict.fromkeys(sides)), list(dict.fromkeys(kinds)))]

    def attach(self, base: Side, side: Side, kind: str, *, alone: bool) -> None:
        """Note that an optional row has to equal one that is there before it.

        Nothing more follows: the rows before it need not equal each other for its sake. If `alone`, not even
        what equals the base counts, since the base may be missing.
        """
        for members, known in self._classes:
            fits = _shared_type([*members, side], [*known, kind]) is not None
            if not alone and base in members and fits:
                members.extend([side] * (side not in members))
                known.extend([kind] * (kind not in known))
                return
        self._classes.append(([base, side], [kind]))

    def classes(self) -> Iterable[tuple[list[list[Member]], str]]:
        """Per class its members by stream, in the type that all of them are compared in, and that type."""
        for sides, kinds in self._classes:
            kind = _shared_type(sides, kinds)
            assert kind is not None
            yield (
                [[side.as_type(kind) for side in sides if side.stream == i] for i in range(self._streams)],
                kind,
            )


def _shared_type(sides: Sequence[Side], kinds: Sequence[str]) -> str | None:
    """A type in which sides are equal exactly where they are in the types their pairs are compared in."""
    if len(set(kinds)) == 1:
        return kinds[0]
    needed = {*kinds, *(side.type for side in sides)}
    return next((kind for kind in kinds if all(keeps_apart(one, kind) for one in needed)), None)


def different_types(sides: Sequence[Side]) -> InvalidQuery:
    """Keys that are never equal, or only after a conversion the user has to choose."""
    pair = len(sides) == 2
    why = (
        "Spark does not compare them" if pair else "Spark does not compare all of them in one of these types"
    )
    instead = "" if pair else ', or compare two at a time: on=["a.id = b.id", "a.id = c.id"]'
    columns = " and ".join(f'"{side.member.text}"' for side in sides)
    return InvalidQuery(
        f"key columns {columns} have different types",
        f"{' and '.join(side.type for side in sides)}; {why}.",
        f"cast them to one type, so that equal keys are equal in every stream{instead}.",
    )


def refuse_unusable_key(stream: Stream, text: str, column: Column) -> None:
    """Refuse a key of a type that has no equality."""
    if column.not_a_key:
        name = text if "." in text else f"{stream.name}.{text}"
        raise InvalidQuery(
            f'key column "{name}" cannot be compared',
            f"its type is {column.type}; {column.not_a_key}.",
            "join on a column taken out of it, or on a normalised copy.",
        )
