"""From a syntax tree to an expression the kernel evaluates, or the reason why it does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial, reduce

from sqlglot import exp

from watersmeet.query.duration import parse_duration, to_us
from watersmeet.query.expression import (
    Call,
    Constant,
    Expression,
    Field,
    NotCompiled,
    alike,
    call,
    lenient,
)
from watersmeet.query.interval import span_us
from watersmeet.query.stream import Stream
from watersmeet.query.syntax import resolve

_DAY_US = 86_400_000_000
_TOO_FINE = re.compile(r"\.\d{7}")
# What the operators are called in expressions; Spark knows those with two sides by the same names.
OPERATORS: dict[type[exp.Expression], str] = {
    exp.And: "and",
    exp.Or: "or",
    exp.Not: "not",
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Neg: "negate",
    exp.Abs: "abs",
}
# Types of columns the kernel computes with; an interval of days and seconds has many spellings.
_COLUMN_TYPES = (
    "boolean",
    "string",
    "date",
    "timestamp",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
)


def compile_tree(
    tree: exp.Expression, streams: Sequence[Stream], text: str, *, ansi: bool, fixed_zone: bool = True
) -> Expression:
    """The typed expression of a syntax tree.

    Args:
        tree: What to compile.
        streams: Whose columns it mentions.
        text: What it was read from.
        ansi: Whether overflows and divisions by zero are errors, as `spark.sql.ansi.enabled` says.
        fixed_zone: Whether every day of the session's time zone has 24 hours. Where clocks change, Spark
            calculates with days of the calendar.

    Raises:
        NotCompiled: It is outside the part of SQL the kernel evaluates.
    """

    def read(node: exp.Expression) -> Expression:
        if isinstance(node, exp.Paren):
            return read(node.this)
        if isinstance(node, exp.Column):
            return _field(node, streams, text)
        if isinstance(node, exp.Boolean):
            return Constant(bool(node.this), "boolean")
        if isinstance(node, exp.Interval):
            return _interval(node)
        if isinstance(node, exp.Literal) and node.is_string:
            return Constant(node.this, "string")
        if _is_number(node):
            return _number(node, "")
        if isinstance(node, exp.Neg) and _is_number(node.this):
            return _number(node.this, "-")
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return call("isnull", read(node.this))
        if isinstance(node, exp.Between):
            value = read(node.this)
            return call(
                "and", call(">=", value, read(node.args["low"])), call("<=", value, read(node.args["high"]))
            )
        if isinstance(node, (exp.Greatest, exp.Least)):
            function = "greatest" if isinstance(node, exp.Greatest) else "least"
            return call(function, *[read(part) for part in (node.this, *node.expressions)])
        if isinstance(node, exp.In) and node.expressions:
            return _any(alike("in", read(node.this), *map(read, node.expressions)))
        if isinstance(node, exp.NullSafeNEQ):
            return call("not", call("<=>", read(node.this), read(node.expression)))
        operator = OPERATORS.get(type(node))
        if operator is None:
            # A function that sqlglot does not know is called by its name.
            raise NotCompiled((node.name if isinstance(node, exp.Anonymous) else node.key).upper())
        made = call(operator, *[read(part) for part in (node.this, node.args.get("expression")) if part])
        if not fixed_zone and _by_calendar(made):
            raise NotCompiled("arithmetic with days in a time zone whose clocks change")
        return made if ansi else lenient(made)

    return read(tree)


def _by_calendar(made: Call) -> bool:
    """Whether Spark looks at the calendar: for differences of timestamps, and to add a day or more."""
    kinds = [argument.type for argument in made.arguments]
    if made.function not in ("+", "-") or "timestamp" not in kinds:
        return False
    intervals = [argument for argument in made.arguments if argument.type == "interval"]
    return not all(
        isinstance(argument, Constant) and abs(int(argument.value)) < _DAY_US for argument in intervals
    ) or kinds == ["timestamp", "timestamp"]


def _any(value_and_options: tuple[Expression, ...]) -> Call:
    value, *options = value_and_options
    return reduce(partial(call, "or"), [call("=", value, option) for option in options])


def _field(column: exp.Column, streams: Sequence[Stream], text: str) -> Field:
    stream, name = resolve(column, streams, text)
    if len(column.parts) > 2:
        raise NotCompiled("way to read a field inside a column")
    kind = streams[stream].column(name).type
    if kind.startswith("interval") and not ("year" in kind or "month" in kind):
        kind = "interval"
    elif kind not in _COLUMN_TYPES:
        raise NotCompiled(f"columns of type {kind}")
    return Field(stream, name, kind)


def _is_number(node: exp.Expression) -> bool:
    """Whether it is a number as written, which may say its type, such as 1L or 2.5D."""
    inner = node.this if isinstance(node, exp.Cast) else node
    return isinstance(inner, exp.Literal) and not inner.is_string


def _number(node: exp.Expression, sign: str) -> Constant:
    """A number as written; its sign is part of it, so that the smallest int is an int."""
    if isinstance(node, exp.Cast):
        text = f"{sign}{node.this.this}"
        if node.to.is_type("double"):
            return Constant(float(text), "double")
        if node.to.is_type("bigint") and node.this.this.isdigit() and _fits(int(text), 64):
            return Constant(int(text), "bigint")
        raise NotCompiled(f"conversion to {node.to.sql()}")
    text = f"{sign}{node.this}"
    if not node.this.isdigit():
        # With an exponent it is a double, with a point alone a decimal.
        return Constant(float(text), "double" if "e" in text.lower() else "decimal")
    for kind, bits in (("int", 32), ("bigint", 64)):
        if _fits(int(text), bits):
            return Constant(int(text), kind)
    raise NotCompiled("numbers beyond bigint")


def _fits(value: int, bits: int) -> bool:
    return -(1 << bits - 1) <= value < 1 << bits - 1


def _interval(node: exp.Interval) -> Constant:
    if not isinstance(node.this, exp.Literal):
        raise NotCompiled("such an interval")
    value = node.this.this
    if _TOO_FINE.search(value):
        raise NotCompiled("an interval of less than a microsecond")
    try:
        if isinstance(node.unit, exp.IntervalSpan):
            return Constant(span_us(value, *span_of(node.unit)), "interval")
        unit = "" if node.unit is None else str(node.unit.this)
        return Constant(to_us(parse_duration(f"{value} {unit}".strip())), "interval")
    except ValueError as error:
        raise NotCompiled(str(error)) from None


def span_of(span: exp.IntervalSpan) -> tuple[str, str]:
    """The two units of an interval from one to another."""
    return span.this.name.upper(), span.expression.name.upper()
