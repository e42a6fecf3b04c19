"""What a condition of a join is good for.

one stream           a.v > 5                     filters the stream before it is joined
equality             lower(a.s) = b.s            the key of an operator, found by an index
time band            b.ts <= a.ts + 1 minute     bounds windows, see `query.bands`
other, compiled      abs(a.v - b.v) < 3          evaluated by the kernel as soon as its rows are bound
a Python function    wm.predicate(f, "a.s", "b.s")   the same, after everything that is cheaper
anything else        levenshtein(a.s, b.s) < 3   a Spark filter on the results
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from watersmeet.errors import InvalidQuery
from watersmeet.query.attribute import (
    Attribute,
    Classes,
    Member,
    Side,
    different_types,
    refuse_unusable_key,
)
from watersmeet.query.bands import Bound, bounds_of
from watersmeet.query.compile import compile_tree
from watersmeet.query.condition import Afterwards, Condition, Filter, OnCondition
from watersmeet.query.expression import (
    DIVISIONS,
    Expression,
    NotCompiled,
    conjuncts,
    fields,
    may_fail,
)
from watersmeet.query.function import Function
from watersmeet.query.function_condition import function_condition, refuse_alike
from watersmeet.query.key_types import widest_number
from watersmeet.query.kind import ANTI, FULL, INNER, SEMI, owner_of, preserved
from watersmeet.query.spelling import Reading, division, reading_of, refuse_misread, spelled
from watersmeet.query.stream import Column, Stream
from watersmeet.query.syntax import (
    Conjunct,
    is_column,
    mentioned,
    read_conjuncts,
    read_tree,
    sides,
)


class Types(Protocol):
    """Who knows the types of expressions this layer does not compute itself: Spark."""

    @property
    def ansi(self) -> bool:
        """Whether overflows and divisions by zero are errors."""

    @property
    def fixed_zone(self) -> bool:
        """Whether every day of the session's time zone has 24 hours."""

    def of_key(self, stream: Stream, text: str) -> Column:
        """The type of an expression over one stream."""

    def compared_in(self, left: Side, right: Side) -> str | None:
        """The type in which the two sides of an equality are compared; None where they cannot be."""

    def misread(self, readings: Sequence[Reading]) -> Sequence[Reading]:
        """The readings that do not mean what was written; raises InvalidQuery where that means nothing."""


class ColumnsOnly:
    """Types for queries whose keys are columns, where there is no Spark to ask."""

    ansi = True
    fixed_zone = True

    def of_key(self, stream: Stream, text: str) -> Column:
        """Nobody asks for the type of a column."""
        raise AssertionError(f"{text} is more than a column of {stream.name}")

    def compared_in(self, left: Side, right: Side) -> str | None:
        """What is sure about numbers."""
        return widest_number(left.type, right.type)

    def misread(self, readings: Sequence[Reading]) -> Sequence[Reading]:
        """Trust sqlglot."""
        return readings[:0]


@dataclass(slots=True)
class Predicates:
    """The conditions of a join, sorted by use."""

    streams: Sequence[Stream]
    kind: str = INNER
    filters: list[Filter] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    afterwards: list[Afterwards] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    misread: frozenset[str] = frozenset()
    # How many conditions were left to Spark before the text that is being read.
    guards: int = 0

    def groups(self) -> Iterable[frozenset[int]]:
        """The sets of streams that some condition connects."""
        yield from (frozenset(attribute.streams) for attribute in self.attributes)
        yield from (condition.streams for condition in self.conditions)
        yield from (frozenset(stream for stream, _ in rest.columns) for rest in self.afterwards)

    def unconnected(self) -> list[list[int]]:
        """The parts of the join graph; more than one means a cross product."""
        parts = [{stream} for stream in range(len(self.streams))]
        for group in self.groups():
            touched = [part for part in parts if part & group]
            parts = [part for part in parts if not part & group] + [set().union(*touched)]
        return sorted(sorted(part) for part in parts if part)


def sort_predicates(
    streams: Sequence[Stream],
    conditions: Sequence[str | Function | OnCondition],
    types: Types,
    kind: str = INNER,
) -> Predicates:
    """Read the conditions of a join and sort them by what they are good for.

    Spark is asked once whether it reads all of them the same way. Where it does not, the condition is left
    to it as it was written, or refused where Spark would see it too late.
    """
    given = [one if isinstance(one, OnCondition) else OnCondition(one) for one in conditions]
    refuse_alike([one.condition for one in given if isinstance(one.condition, Function)])
    texts = [one.condition for one in given if isinstance(one.condition, str)]
    divided = [division(text) for text in texts]
    found = _sorted(Predicates(streams, kind), given, types)
    misread = types.misread([*divided, *found.readings])
    refuse_misread(reading for reading in misread if reading in divided)
    if misread:
        unsure = frozenset(reading.written for reading in misread)
        found = _sorted(Predicates(streams, kind, misread=unsure), given, types)
    if kind != INNER:
        _refuse_afterwards(found)
    return found


def _sorted(found: Predicates, conditions: Sequence[OnCondition], types: Types) -> Predicates:
    streams = found.streams
    equal = Classes(len(streams))
    for given in conditions:
        text = given.condition
        if isinstance(text, Function):
            condition = function_condition(streams, text)
            owner = owner_of(streams, found.kind, condition.streams, given.owner, text.text)
            found.conditions.append(replace(condition, owner=owner))
            continue
        found.guards = len(found.afterwards)
        for conjunct in read_conjuncts(text):
            _refuse_tables(conjunct)
            columns = tuple(dict.fromkeys(mentioned(conjunct.tree, streams, conjunct.text)))
            linked = {stream for stream, _ in columns}
            of_results = given.of_results and found.kind != INNER
            if of_results:
                if _add_of_results(found, given, conjunct, columns, types):
                    continue
                owner = None
            else:
                owner = owner_of(streams, found.kind, linked, given.owner, conjunct.text)
            if len(linked) == 1:
                _add_filter(found, linked.pop(), conjunct, types, owner)
            elif (
                (owner is None or owner in linked)
                and (pair := _equality(found, conjunct, types)) is not None
                and _can_be_key(pair, streams, owner)
            ):
                left, right, kind = pair
                _note_equality(equal, pair, streams, owner)
                taken_for = f"({left.as_type(kind).text}) = ({right.as_type(kind).text})"
                found.readings.append(Reading(conjunct.text, taken_for))
                with suppress(NotCompiled):
                    bounds = bounds_of(_compiled(conjunct, streams, types), streams, conjunct.text)
                    found.bounds += [replace(bound, owner=owner) for bound in bounds or ()]
                    found.readings += [reading_of(conjunct, streams)] if bounds else []
            else:
                _add_condition(found, conjunct, columns, types, owner, of_results=of_results)
    for members, kind in equal.classes():
        first = [same[0] if same else None for same in members]
        found.attributes.append(Attribute(tuple(first), kind))
        # Two columns of one stream that equal the same column of another equal each other.
        for stream, same in enumerate(members):
            for other in same[1:]:
                (conjunct,) = read_conjuncts(f"({same[0].text}) = ({other.text})")
                owner = stream if streams[stream].optional else None
                _add_filter(found, stream, conjunct, types, owner)
    return found


def _refuse_tables(conjunct: Conjunct) -> None:
    if conjunct.tree.find(exp.From) is not None:
        raise InvalidQuery(
            "a condition holds a SELECT ... FROM",
            f'"{conjunct.text}".',
            "join that table as one more stream; in SQL, WHERE [NOT] EXISTS (SELECT ...) may stand.",
        )


def _add_of_results(
    found: Predicates,
    given: OnCondition,
    conjunct: Conjunct,
    columns: tuple[tuple[int, str], ...],
    types: Types,
) -> bool:
    """A condition on finished rows, if it is one: on streams that may be missing, on one stream, or on none.

    Where every row matters for the others, one that fails it is there until all is found.
    """
    named = {stream for stream, _ in columns}
    if found.kind in (SEMI, ANTI) and named - {0}:
        hidden = found.streams[min(named - {0})].name
        raise InvalidQuery(
            f'WHERE names stream "{hidden}", which is not in the result',
            f'"{conjunct.text}": a join of this kind returns rows of "{found.streams[0].name}" alone.',
            "move the condition behind ON, or into EXISTS.",
        )
    missing = [n for n in named if found.kind == FULL or found.streams[n].optional]
    if missing and given.inner:
        raise InvalidQuery(
            f'"{conjunct.text}" needs a row of "{found.streams[missing[0]].name}", which may be missing',
            "it stands behind the ON of a stream that is not optional.",
            "join that stream first, or make it a LEFT JOIN.",
        )
    matters = any(found.streams[stream].window.every_row_matters for stream in named)
    if missing or not named or (matters and len(named) == 1):
        found.afterwards.append(Afterwards(conjunct.text, columns, ""))
        return True
    if len(named) == 1:
        found.filters.append(_filter(found, named.pop(), conjunct, types))
        return True
    return False


def _can_be_key(pair: tuple[Side, Side, str], streams: Sequence[Stream], owner: int | None) -> bool:
    """Whether both sides can be computed before the join.

    An expression over an optional stream may have a value where the stream is missing, ``coalesce(b.v, 0)``,
    and then there is no row of it to compute it from.
    """
    others = [side for side in pair[:2] if side.stream != owner]
    return owner is None or all(
        side.member.column is not None or not streams[side.stream].optional for side in others
    )


def _note_equality(
    equal: Classes, pair: tuple[Side, Side, str], streams: Sequence[Stream], owner: int | None
) -> None:
    """An equality that all results fulfil, or one that decides about the partners of an optional stream."""
    if owner is None:
        equal.join(*pair)
        return
    left, right, kind = pair
    base, side = (right, left) if left.stream == owner else (left, right)
    equal.attach(base, side, kind, alone=streams[base.stream].optional)


def _refuse_afterwards(found: Predicates) -> None:
    """What Spark judges on finished rows cannot decide who has partners."""
    for rest in found.afterwards:
        if not rest.reason:
            continue
        raise InvalidQuery(
            f'"{rest.text}" cannot decide which rows have partners',
            f"the kernel has no {rest.reason}, and Spark would see the results too late.",
            "write it in another way, compute it as a column before the join, "
            "or filter the DataFrame that comes back.",
        )


def _add_filter(found: Predicates, stream: int, conjunct: Conjunct, types: Types, owner: int | None) -> None:
    """A condition on one stream; where every row matters, one that fails it still does.

    A preserved row that fails it has no partners, and comes out.
    """
    matters = found.streams[stream].window.every_row_matters
    if matters or stream in preserved(found.streams, found.kind) or owner not in (None, stream):
        columns = tuple(dict.fromkeys(mentioned(conjunct.tree, found.streams, conjunct.text)))
        _add_condition(found, conjunct, columns, types, owner)
    else:
        found.filters.append(_filter(found, stream, conjunct, types))


def _filter(found: Predicates, stream: int, conjunct: Conjunct, types: Types) -> Filter:
    """A condition on one stream, with what the kernel makes of it if it can."""
    if conjunct.text not in found.misread:
        with suppress(NotCompiled):
            whole, reading = _compiled(conjunct, found.streams, types), reading_of(conjunct, found.streams)
            if whole.type == "boolean":
                found.readings.append(reading)
                return Filter(stream, conjunct.text, whole)
    return Filter(stream, conjunct.text)


def _compiled(conjunct: Conjunct, streams: Sequence[Stream], types: Types) -> Expression:
    return compile_tree(conjunct.tree, streams, conjunct.text, ansi=types.ansi, fixed_zone=types.fixed_zone)


def _add_condition(
    found: Predicates,
    conjunct: Conjunct,
    columns: tuple[tuple[int, str], ...],
    types: Types,
    owner: int | None = None,
    *,
    of_results: bool = False,
) -> None:
    try:
        if conjunct.text in found.misread:
            raise NotCompiled("sure reading of it")
        whole = _compiled(conjunct, found.streams, types)
        if len(found.afterwards) > found.guards and may_fail(whole, DIVISIONS):
            # What is written before it may keep zeros away from it, so it has to be judged before.
            raise NotCompiled("way to divide after a condition that is left to Spark")
    except NotCompiled as reason:
        # What results have to fulfil may as well be judged when they are finished.
        found.afterwards.append(Afterwards(conjunct.text, columns, "" if of_results else str(reason)))
        return
    if whole.type != "boolean":
        raise InvalidQuery(
            f'"{conjunct.text}" is not a condition',
            f"its value is of type {whole.type}.",
            "compare it with something, so that it is true or false.",
        )
    found.readings.append(reading_of(conjunct, found.streams))
    for part in conjuncts(whole):
        linked = frozenset(mention.stream for mention in fields(part))
        bounds = bounds_of(part, found.streams, conjunct.text) or ()
        found.conditions.append(Condition(conjunct.text, part, linked, bounds, owner))


def _equality(found: Predicates, conjunct: Conjunct, types: Types) -> tuple[Side, Side, str] | None:
    """The two sides of an equality between two streams, and the type they are compared in."""
    streams, texts = found.streams, sides(conjunct)
    if texts is None or conjunct.text in found.misread:
        return None
    pair: list[Side] = []
    columns: list[Column] = []
    compiled = _sure_expressions(found, conjunct)
    for text in texts:
        tree = read_tree(text)
        if tree is None:
            return None
        linked = mentioned(tree, streams, text)
        if len({stream for stream, _ in linked}) != 1:
            return None
        stream, name = linked[0]
        if is_column(tree):
            member, column = Member.of_column(streams[stream], name), streams[stream].column(name)
        else:
            expression = _key_expression(tree, streams, text, types) if compiled else None
            member, column = Member(text, expression=expression), types.of_key(streams[stream], text)
        pair.append(Side(stream, member, column.type))
        columns.append(column)
    left, right = pair
    if left.stream == right.stream:
        return None
    for side, column in zip(pair, columns, strict=True):
        refuse_unusable_key(streams[side.stream], side.member.text, column)
    kind = types.compared_in(left, right)
    if kind is None:
        raise different_types(pair)
    return left, right, kind


def _sure_expressions(found: Predicates, conjunct: Conjunct) -> bool:
    """Whether the kernel may compute the sides of an equality: Spark is asked whether it was read rightly.

    It is asked under another text, since the equality remains a key if the answer is no.
    """
    written = f"({conjunct.text})"
    if written in found.misread:
        return False
    with suppress(NotCompiled):
        found.readings.append(Reading(written, spelled(conjunct.tree, found.streams, conjunct.text)))
        return True
    return False


def _key_expression(
    tree: exp.Expression, streams: Sequence[Stream], text: str, types: Types
) -> Expression | None:
    with suppress(NotCompiled):
        return compile_tree(tree, streams, text, ansi=types.ansi, fixed_zone=types.fixed_zone)
    return None
