"""Attributes: values that are equal in every result, and what each stream brings to them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from watersmeet.errors import InvalidQuery
from watersmeet.query.expression import INTEGERS
from watersmeet.query.stream import Column, Stream

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Member:
    """What a stream brings to an attribute: an expression, and the column it is, if it is just a column."""

    text: str
    column: str | None = None

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


Side = tuple[int, Member]


class Classes:
    """Expressions that are equal to each other, directly or through others."""

    def __init__(self, streams: int) -> None:
        """Nothing is equal yet."""
        self._streams = streams
        self._classes: list[tuple[list[Side], str]] = []

    def join(self, left: Side, right: Side, kind: str) -> None:
        """Note an equality, compared in some type."""
        merged: list[Side] = []
        rest = []
        for members, known in self._classes:
            # Equal in one type is not equal in another: 2^53 and 2^53 + 1 are one double.
            if known == kind and (left in members or right in members):
                merged += members
            else:
                rest.append((members, known))
        merged += [side for side in (left, right) if side not in merged]
        self._classes = [*rest, (merged, kind)]

    def attach(self, base: Side, side: Side, kind: str, *, alone: bool) -> None:
        """Note that an optional row has to equal one that is there before it.

        Nothing more follows: the rows before it need not equal each other for its sake. If `alone`, not even
        what equals the base counts, since the base may be missing.
        """
        for members, known in self._classes:
            if not alone and known == kind and base in members:
                if side not in members:
                    members.append(side)
                return
        self._classes.append(([base, side], kind))

    def classes(self) -> Iterable[tuple[list[list[Member]], str]]:
        """Per class its members by stream, and their type."""
        for members, kind in self._classes:
            yield [[member for stream, member in members if stream == i] for i in range(self._streams)], kind


def common_type(left: str, right: str) -> str | None:
    """The type in which Spark compares two keys; None where that needs a decision."""
    if left == right:
        return left
    if {left, right} <= set(INTEGERS):
        return max(left, right, key=INTEGERS.index)
    if {left, right} <= {*INTEGERS, "double"} or {left, right} == {"float", "double"}:
        return "double"
    return None


def different_types(left: str, right: str, left_type: str, right_type: str) -> InvalidQuery:
    """Keys that are never equal, or only after a conversion the user has to choose."""
    return InvalidQuery(
        f'key columns "{left}" and "{right}" have different types',
        f"{left_type} and {right_type}.",
        "cast one of them, so that equal keys are equal in every stream.",
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
