"""Which columns travel where in a tree of operators.

An operator stores of each input what its own conditions and everything above it still need, and nothing
else: a column that only a key or a condition further down needed ends there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.plan.plan import Operator, Plan, Source
from watersmeet.query import JoinQuery
from watersmeet.query.expression import fields
from watersmeet.query.kind import FULL, OUTER


class Ref(NamedTuple):
    """A column of a stream, or with a name such as ``=2`` the stream's part of the query's attribute 2."""

    stream: int
    column: str

    @property
    def attribute(self) -> int | None:
        """The attribute whose value is computed from other columns; None for a column that is there."""
        return int(self.column[1:]) if self.column.startswith("=") else None

    def text(self, query: JoinQuery) -> str:
        """The column's name, or the expression that gives the value."""
        if self.attribute is None:
            return self.column
        member = query.attributes[self.attribute].members[self.stream]
        assert member is not None
        return member.text


@dataclass(frozen=True, slots=True)
class InputLayout:
    """One input of an operator.

    Attributes:
        stored: What is kept of a row as long as it lives.
        key: What its key is made of; it need not be stored.
    """

    stored: tuple[Ref, ...]
    key: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class OperatorLayout:
    """One operator: its inputs, and the columns of its results, for an operator above as it stores them."""

    inputs: tuple[InputLayout, ...]
    output: tuple[Ref, ...]


def result_columns(query: JoinQuery) -> tuple[Ref, ...]:
    """What the last operator returns: what the user keeps, and what Spark still has to look at."""
    kept = [Ref(stream, name) for stream, names in enumerate(query.kept) for name in names]
    looked_at = [Ref(*column) for rest in query.afterwards for column in rest.columns]
    return _by_stream([*kept, *looked_at, *presence(query)])


def presence(query: JoinQuery) -> list[Ref]:
    """Columns that tell whether a row is there at all: times are never null in one that is."""
    missing = {FULL: range(len(query.streams)), OUTER: query.optional}.get(query.kind, ())
    return [Ref(s, query.streams[s].time) for s in missing if query.kept[s]]


def layouts(plan: Plan) -> dict[Operator, OperatorLayout]:
    """The layout of every operator."""
    found: dict[Operator, OperatorLayout] = {}

    def lay_out(operator: Operator, output: tuple[Ref, ...]) -> None:
        needed = _by_stream([*output, *_judged(plan.query, operator), *_counted(plan, operator)])
        inputs = []
        for number, part in enumerate(operator.inputs):
            stored = tuple(ref for ref in needed if ref.stream in part.streams)
            keyed = () if number in operator.replicated else operator.key
            key = tuple(value_ref(plan.query, attribute, part) for attribute in keyed)
            inputs.append(InputLayout(stored, key))
            if isinstance(part, Operator):
                lay_out(part, tuple(dict.fromkeys([*stored, *key])))
        found[operator] = OperatorLayout(tuple(inputs), output)

    lay_out(plan.root, result_columns(plan.query))
    return found


def value_ref(query: JoinQuery, attribute: int, part: Source | Operator) -> Ref:
    """Where an input has its value of an attribute; it must have one."""
    return _values(query, attribute, part)[0]


def _values(query: JoinQuery, attribute: int, part: Source | Operator) -> list[Ref]:
    members = query.attributes[attribute].members
    # Those first that are there before others have to equal them.
    order = [stream for stream in query.binding_order if stream in part.streams]
    present = [(stream, member) for stream in order if (member := members[stream]) is not None]
    return [Ref(stream, member.column or f"={attribute}") for stream, member in present]


def checked_refs(query: JoinQuery, attribute: int, operator: Operator) -> list[tuple[int, Ref]]:
    """The inputs of an operator that have a value of an attribute, and where."""
    found = [(number, _values(query, attribute, part)) for number, part in enumerate(operator.inputs)]
    return [(number, refs[0]) for number, refs in found if refs]


def _judged(query: JoinQuery, operator: Operator) -> list[Ref]:
    """What the conditions of an operator look at."""
    mentions = [
        Ref(mention.stream, mention.column)
        for number in operator.conditions
        for mention in fields(query.conditions[number].expression)
    ]
    compared = [ref for number in operator.checks for _, ref in checked_refs(query, number, operator)]
    return mentions + compared


def _counted(plan: Plan, operator: Operator) -> list[Ref]:
    """The own times of rows inside intermediate results, which are counted from there."""
    own = {part.stream for part in operator.inputs if isinstance(part, Source)}
    return [Ref(s, plan.query.streams[s].time) for s in plan.counted(operator) if s not in own]


def _by_stream(refs: list[Ref]) -> tuple[Ref, ...]:
    """Every reference once, stream by stream, in the order they were asked for."""
    return tuple(sorted(dict.fromkeys(refs), key=lambda ref: ref.stream))
