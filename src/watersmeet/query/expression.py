"""Expressions over the columns of several streams: plain data, typed like Spark types them.

Only what the kernel can evaluate with Spark's exact meaning is an `Expression`. Everything else stays text
and is left to Spark, see `query.predicate`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from watersmeet.query.function import Function

BOOLEAN, STRING, DATE, TIMESTAMP, INTERVAL = "boolean", "string", "date", "timestamp", "interval"
INTEGERS = ("tinyint", "smallint", "int", "bigint")
# A number written with a point. It takes the type of the double it meets; with anything else Spark would
# calculate in decimals, and so would we have to.
DECIMAL = "decimal"
DIVISIONS = ("/", "%")
# Without Spark's ANSI mode whole numbers wrap around, and what is divided by zero is null.
_LENIENT = {
    "+": "wrapping +",
    "-": "wrapping -",
    "*": "wrapping *",
    "negate": "wrapping negate",
    "abs": "wrapping abs",
    "/": "/ or null",
    "%": "% or null",
}
# A null among their arguments need not make these null.
_NOT_STRICT = ("and", "or", "isnull", "<=>", "least", "greatest")


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a stream."""

    stream: int
    column: str
    type: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value; intervals in microseconds."""

    value: bool | int | float | str
    type: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of expressions.

    The functions are ``and or not = != < <= > >= <=> + - * / % negate abs least greatest isnull``, those of
    `_LENIENT`, and ``double`` and ``integer``, which convert a number to the type of the call.
    """

    function: str
    arguments: tuple[Expression, ...]
    type: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A Python function of columns; true where it holds, and not asked where one of them is null."""

    function: Function
    arguments: tuple[Field, ...]
    type: str = BOOLEAN


Expression = Field | Constant | Call | FunctionCall


class NotCompiled(Exception):
    """An expression is outside the part of SQL the kernel evaluates; the text says why."""


def fields(expression: Expression) -> Iterator[Field]:
    """Every mention of a column, in the order of the text."""
    if isinstance(expression, Field):
        yield expression
    elif isinstance(expression, Call | FunctionCall):
        for argument in expression.arguments:
            yield from fields(argument)


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The parts that must all be true."""
    if isinstance(expression, Call) and expression.function == "and":
        for argument in expression.arguments:
            yield from conjuncts(argument)
    else:
        yield expression


def strict_fields(expression: Expression) -> Iterator[Field]:
    """The columns whose null makes an expression null."""
    if isinstance(expression, Field):
        yield expression
    elif isinstance(expression, Call) and is_strict(expression):
        for argument in expression.arguments:
            yield from strict_fields(argument)


def is_strict(made: Call) -> bool:
    """Whether a null among the arguments of a call makes it null."""
    return made.function not in _NOT_STRICT


def may_fail(expression: Expression, functions: Container[str] = tuple(_LENIENT)) -> bool:
    """Whether some values make an expression an error: whole numbers overflow, or are divided by zero."""
    return isinstance(expression, Call) and (
        (
            expression.function in functions
            and (expression.type in INTEGERS or expression.function in DIVISIONS)
        )
        or any(may_fail(argument, functions) for argument in expression.arguments)
    )


def lenient(made: Call) -> Call:
    """A call as it is without Spark's ANSI mode.

    >>> lenient(call("+", Field(0, "x", "int"), Constant(1, "int"))).function
    'wrapping +'
    """
    changed = made.type in INTEGERS or made.function in DIVISIONS
    return (
        Call(_LENIENT[made.function], made.arguments, made.type)
        if changed and made.function in _LENIENT
        else made
    )


def call(function: str, *arguments: Expression) -> Call:
    """A call with the type Spark gives it.

    >>> a = Field(0, "x", "int")
    >>> call("<", a, Constant(3, "int")).type, call("/", a, a).type
    ('boolean', 'double')

    Raises:
        NotCompiled: The types do not go together, or only in a way the kernel does not know.
    """
    if function in ("and", "or", "not"):
        _require(function, arguments, (BOOLEAN,))
        return Call(function, arguments, BOOLEAN)
    if function == "isnull":
        if arguments[0].type == DECIMAL:
            raise NotCompiled("decimals")
        return Call(function, arguments, BOOLEAN)
    if function in ("=", "!=", "<", "<=", ">", ">=", "<=>"):
        return Call(function, alike(function, *arguments), BOOLEAN)
    if function in ("least", "greatest"):
        same = alike(function, *arguments)
        return Call(function, same, same[0].type)
    return _arithmetic(function, arguments)


def _arithmetic(function: str, arguments: tuple[Expression, ...]) -> Call:
    kinds = tuple(argument.type for argument in arguments)
    if function in ("negate", "abs"):
        _require(function, arguments, (*INTEGERS, "double", INTERVAL))
        return Call(function, arguments, kinds[0])
    if function in ("+", "-"):
        if kinds == (TIMESTAMP, INTERVAL) or (function == "+" and kinds == (INTERVAL, TIMESTAMP)):
            return Call(function, arguments, TIMESTAMP)
        if kinds == (INTERVAL, INTERVAL) or (function == "-" and kinds == (TIMESTAMP, TIMESTAMP)):
            return Call(function, arguments, INTERVAL)
    if function == "/":
        if DECIMAL in kinds and not {"double", "float"} & set(kinds):
            raise NotCompiled("division of decimals")
        # Spark divides whole numbers as doubles.
        return Call(function, tuple(_double(function, argument) for argument in arguments), "double")
    same = alike(function, *arguments)
    _require(function, same, INTEGERS if function == "%" else (*INTEGERS, "double"))
    return Call(function, same, same[0].type)


def alike(function: str, *arguments: Expression) -> tuple[Expression, ...]:
    """The arguments in one common type."""
    kinds = {argument.type for argument in arguments}
    if len(kinds) <= 1 and kinds != {DECIMAL}:
        return arguments
    if kinds <= set(INTEGERS):
        widest = max(kinds, key=INTEGERS.index)
        return tuple(
            argument if argument.type == widest else Call("integer", (argument,), widest)
            for argument in arguments
        )
    if "double" in kinds and kinds <= {*INTEGERS, "double", "float", DECIMAL}:
        return tuple(_double(function, argument) for argument in arguments)
    raise NotCompiled(f"{function} of {' and '.join(sorted(kinds))}")


def wider(number: Expression, kind: str) -> Expression | None:
    """A number in a type that has room for it; None where the kernel does not convert it.

    >>> wider(Field(0, "x", "int"), "bigint").type, wider(Field(0, "x", "int"), "decimal(10,0)")
    ('bigint', None)
    """
    both = (number.type, kind)
    if set(both) <= set(INTEGERS) and INTEGERS.index(number.type) < INTEGERS.index(kind):
        return Call("integer", (number,), kind)
    if kind == "double" and number.type in (*INTEGERS, "float"):
        return Call("double", (number,), kind)
    return None


def _double(function: str, argument: Expression) -> Expression:
    if argument.type == "double":
        return argument
    if isinstance(argument, Constant) and argument.type in (*INTEGERS, DECIMAL):
        return Constant(float(argument.value), "double")
    if argument.type in (*INTEGERS, "float"):
        return Call("double", (argument,), "double")
    raise NotCompiled(f"{function} of {argument.type}")


def _require(function: str, arguments: tuple[Expression, ...], allowed: tuple[str, ...]) -> None:
    for argument in arguments:
        if argument.type not in allowed:
            raise NotCompiled(f"{function} of {argument.type}")
