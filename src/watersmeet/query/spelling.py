"""A condition as it was read, written out again so that it can be read in one way only.

sqlglot's grammar is not Spark's: `a.x < b.x = b.y` or `a.x = b.x IN (1, 2)` mean different things to them.
So Spark is asked whether the condition as written and the condition as read are the same to it. Only what
`query.compile` knows is spelled, and nothing but what it makes use of; the text is never executed.

    a.v * 2 > b.v AND NOT a.b      (((`a`.`v` * 2) > `b`.`v`) AND (NOT `a`.`b`))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from watersmeet.errors import InvalidQuery
from watersmeet.query.compile import OPERATORS, span_of
from watersmeet.query.expression import NotCompiled
from watersmeet.query.stream import Stream
from watersmeet.query.syntax import Conjunct, read_conjuncts, resolve, words

_SUFFIXES = {"BIGINT": "L", "DOUBLE": "D"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A condition as it was written, and what it was taken for, both in SQL."""

    written: str
    taken_for: str


def division(text: str) -> Reading:
    """How a condition was divided into conjuncts."""
    return Reading(text, " AND ".join(f"({part.text})" for part in read_conjuncts(text)))


def reading_of(conjunct: Conjunct, streams: Sequence[Stream]) -> Reading:
    """How a conjunct that the kernel evaluates was read."""
    return Reading(conjunct.text, spelled(conjunct.tree, streams, conjunct.text))


def refuse_misread(divisions: Iterable[Reading]) -> None:
    """Refuse what was divided in the wrong places: nobody knows what its parts are."""
    for division in divisions:
        raise InvalidQuery(
            f'it is not clear what "{division.written}" means',
            f"read as {division.taken_for} it is something else to Spark, or it is not always the same.",
            "give its parts as a list of conditions, without comments; filter at random after the join.",
        )


def spelled(tree: exp.Expression, streams: Sequence[Stream], text: str) -> str:
    """A syntax tree as SQL with parentheses around everything.

    Args:
        tree: What to write.
        streams: Whose columns it mentions.
        text: What it was read from. It tells apart what sqlglot reads alike: `1L` and `CAST(1 AS BIGINT)`,
            `INTERVAL 1 HOUR 5 MINUTES` and the sum of two intervals. Spark keeps them apart.

    Raises:
        NotCompiled: It is outside the part of SQL the kernel evaluates.
    """
    written = words(text)
    casts = "CAST" in written or "::" in text
    in_one = len(list(tree.find_all(exp.Interval))) > written.count("INTERVAL")

    def write(node: exp.Expression) -> str:
        if isinstance(node, exp.Paren):
            return write(node.this)
        if isinstance(node, exp.Column):
            stream, name = resolve(node, streams, text)
            return f"`{streams[stream].name}`.`{name.replace('`', '``')}`"
        if isinstance(node, exp.Boolean):
            return "true" if node.this else "false"
        if isinstance(node, exp.Literal):
            return _quoted(node.this) if node.is_string else str(node.this)
        if isinstance(node, exp.Cast):
            kind = node.to.sql()
            return f"CAST({write(node.this)} AS {kind})" if casts else f"{node.this.this}{_SUFFIXES[kind]}"
        if isinstance(node, exp.Interval) or (in_one and isinstance(node, exp.Add) and _units(node)):
            return f"INTERVAL {' '.join(_units(node))}"
        if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
            return f"({write(node.this.this)} IS NOT NULL)"
        if isinstance(node, exp.Is):
            return f"({write(node.this)} IS NULL)"
        if isinstance(node, exp.Between):
            low, high = write(node.args["low"]), write(node.args["high"])
            return f"({write(node.this)} BETWEEN {low} AND {high})"
        if isinstance(node, exp.In):
            return f"({write(node.this)} IN ({', '.join(map(write, node.expressions))}))"
        if isinstance(node, (exp.Greatest, exp.Least, exp.Abs)):
            return f"{node.key}({', '.join(map(write, (node.this, *node.expressions)))})"
        if isinstance(node, exp.Neg):
            # To Spark, - 5 is a number and - (5) a calculation.
            inner = write(node.this)
            return f"(- ({inner}))" if isinstance(node.this, exp.Paren) else f"(- {inner})"
        if isinstance(node, exp.Not):
            return f"(NOT {write(node.this)})"
        if isinstance(node, exp.NullSafeNEQ):
            return f"(NOT ({write(node.this)} <=> {write(node.expression)}))"
        if type(node) not in OPERATORS:
            raise NotCompiled(node.key.upper())
        return f"({write(node.this)} {OPERATORS[type(node)]} {write(node.expression)})"

    return write(tree)


def _units(node: exp.Expression) -> list[str]:
    """The numbers and units of an interval; none for what is more than that."""
    if isinstance(node, exp.Add):
        first, rest = _units(node.this), _units(node.expression)
        return [*first, *rest] if first and rest else []
    if not isinstance(node, exp.Interval):
        return []
    if isinstance(node.unit, exp.IntervalSpan):
        unit = " TO ".join(span_of(node.unit))
    else:
        unit = "" if node.unit is None else str(node.unit.this)
    return [f"{_quoted(node.this.this)} {unit}".strip()]


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
