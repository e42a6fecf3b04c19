"""Expressions over Arrow columns with Spark's meaning.

Null is neither true nor false, but ``false AND null`` is false. NaN equals itself and is larger than any
other number; minus zero equals zero. `least` and `greatest` pass over nulls. Whole numbers that overflow
and divisions by zero are errors, as in Spark's ANSI mode; without it they wrap around and are null.

An error is one only where Spark computes the value: not for rows that a null or the left side of an AND or OR
has decided before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.errors import ConditionFailed
from watersmeet.kernel.judge import judge_of
from watersmeet.query.expression import (
    DIVISIONS,
    Call,
    Constant,
    Expression,
    Field,
    FunctionCall,
    is_strict,
    may_fail,
    strict_fields,
)

_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    # Times and intervals are counted in microseconds, and calculated with as numbers.
    "timestamp": pa.int64(),
    "interval": pa.int64(),
}
COLUMN_TYPES = _TYPES | {"timestamp": pa.timestamp("us", tz="UTC"), "interval": pa.duration("us")}


def evaluate(expression: Expression, column: Callable[[Field], pa.Array]) -> Any:
    """The values of an expression: an array, or a scalar where no column is involved.

    Args:
        expression: What to compute.
        column: Gives the values of a column.
    """
    if isinstance(expression, Constant):
        return pa.scalar(expression.value, _TYPES[expression.type])
    if isinstance(expression, Field):
        return column(expression).cast(COLUMN_TYPES[expression.type]).cast(_TYPES[expression.type])
    if isinstance(expression, FunctionCall):
        columns = [column(argument) for argument in expression.arguments]
        pairs = len(columns[0])
        pair_bytes = sum(values.nbytes for values in columns) // max(1, pairs)
        judge = judge_of(expression.function)
        return pa.array(judge.mask(pairs, pair_bytes, lambda block: [values[block] for values in columns]))
    if expression.function in ("and", "or"):
        return _guarded(expression, column)
    arguments = _arguments(expression, column)
    try:
        return _FUNCTIONS[expression.function](expression, *arguments)
    except pa.ArrowInvalid as error:
        raise ConditionFailed(
            f"a condition cannot be computed: {error}",
            f"it happened in {expression.function} of {expression.type} values.",
            'write before it what keeps such values away, as in "b.v <> 0 AND a.v / b.v > 1", or convert the '
            "columns to a wider type.",
        ) from None


def where_true(expression: Expression, column: Callable[[Field], pa.Array], rows: int) -> Any:
    """Where a condition is true; null counts as false.

    Spark looks for nulls first, and computes a condition only where it can be true.
    """
    column = cache(column)
    keep = np.ones(rows, np.bool_)
    if may_fail(expression):
        for values in map(column, strict_fields(expression)):
            if values.null_count:
                keep &= values.is_valid().to_numpy(zero_copy_only=False)
    if keep.all():
        return is_true(evaluate(expression, column), rows)
    keep[keep] = is_true(evaluate(expression, _some(column, pa.array(keep))), int(keep.sum()))
    return keep


def values_of(expression: Expression, column: Callable[[Field], pa.Array], rows: pa.Array | None) -> pa.Array:
    """The values of an expression over columns, null for other rows than some: there it could fail.

    Args:
        expression: What to compute.
        column: Gives the values of a column.
        rows: A mask of the rows; None for all.
    """
    if rows is None:
        return evaluate(expression, column)
    return _spread(evaluate(expression, _some(column, rows)), rows)


def _arguments(expression: Call, column: Callable[[Field], pa.Array]) -> list[Any]:
    """The values of the arguments: what may fail is computed only where the one before it is not null."""
    arguments = expression.arguments
    # Spark looks at a divisor first.
    first, second = (1, 0) if expression.function in DIVISIONS else (0, 1)
    if len(arguments) != 2 or not is_strict(expression) or not may_fail(arguments[second]):
        return [evaluate(argument, column) for argument in arguments]
    values = {first: evaluate(arguments[first], column)}
    known = pc.is_valid(values[first])
    if isinstance(known, pa.Scalar) or pc.all(known).as_py():
        values[second] = evaluate(arguments[second], column)
    else:
        values[second] = _spread(evaluate(arguments[second], _some(column, known)), known)
    return [values[0], values[1]]


def _some(column: Callable[[Field], pa.Array], rows: pa.Array) -> Callable[[Field], pa.Array]:
    """The columns of some rows."""
    return lambda field: column(field).filter(rows)


def _spread(values: Any, rows: pa.Array) -> Any:
    """Values of some rows at their places among all rows, with nulls for the others."""
    if isinstance(values, pa.Scalar):
        return values
    return pc.replace_with_mask(pa.nulls(len(rows), values.type), rows, values)


def _guarded(expression: Call, column: Callable[[Field], pa.Array]) -> Any:
    """AND and OR: the right side is computed only for rows the left side leaves open, so it can guard it."""
    left = evaluate(expression.arguments[0], column)
    decided = expression.function == "or"
    combine = pc.or_kleene if decided else pc.and_kleene
    if isinstance(left, pa.Scalar):
        return left if left.as_py() is decided else combine(left, evaluate(expression.arguments[1], column))
    still_open = pc.fill_null(pc.not_equal(left, decided), True)
    right = evaluate(expression.arguments[1], _some(column, still_open))
    return combine(left, _spread(right, still_open))


def is_true(values: Any, rows: int) -> Any:
    """Where a condition holds: null counts as false."""
    if isinstance(values, pa.Scalar):
        return np.full(rows, values.as_py() is True)
    return pc.fill_null(values, False).to_numpy(zero_copy_only=False)


def _floating(values: Any) -> bool:
    return bool(pa.types.is_floating(values.type))


def _equal(left: Any, right: Any) -> Any:
    same = pc.equal(left, right)
    return pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right))) if _floating(left) else same


def _less(left: Any, right: Any) -> Any:
    less = pc.less(left, right)
    if not _floating(left):
        return less
    return pc.or_(less, pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))


def _equal_or_both_null(left: Any, right: Any) -> Any:
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(_equal(left, right), False), both_null)


def _larger(left: Any, right: Any) -> Any:
    return _chosen(pc.fill_null(_less(left, right), False), left, right)


def _smaller(left: Any, right: Any) -> Any:
    return _chosen(pc.fill_null(_less(right, left), False), left, right)


def _chosen(take_right: Any, left: Any, right: Any) -> Any:
    return pc.if_else(pc.or_(take_right, pc.is_null(left)), right, left)


def _divide(call: Call, left: Any, right: Any) -> Any:
    return pc.divide(left, _divisor(call, left, right))


def _remainder(call: Call, left: Any, right: Any) -> Any:
    """The remainder has the sign of the dividend, as in Java."""
    right = _divisor(call, left, right)
    # Dividing the smallest number by minus one overflows, though its remainder is zero.
    minus_one = pc.fill_null(pc.equal(right, pa.scalar(-1, right.type)), False)
    safe = pc.if_else(minus_one, pa.scalar(1, right.type), right)
    return pc.subtract(left, pc.multiply(pc.divide(left, safe), safe))


def _divisor(call: Call, left: Any, right: Any) -> Any:
    """What is divided by: zero is an error in Spark's ANSI mode, and null without it."""
    zero = pc.equal(right, pa.scalar(0, right.type))
    if call.function not in DIVISIONS:
        return pc.if_else(zero, pa.scalar(None, right.type), right)
    wrong = pc.and_(pc.is_valid(left), zero)
    if pc.any(wrong if isinstance(wrong, pa.Array) else pa.array([wrong.as_py()])).as_py():
        raise pa.ArrowInvalid("division by zero")
    return right


def _negate(_: Call, value: Any) -> Any:
    return pc.negate(value) if _floating(value) else pc.negate_checked(value)


def _absolute(_: Call, value: Any) -> Any:
    return pc.abs(value) if _floating(value) else pc.abs_checked(value)


def _exact(function: str) -> Callable[[Call, Any, Any], Any]:
    """Arithmetic that notices an overflow of whole numbers."""
    wide, checked = getattr(pc, function), getattr(pc, f"{function}_checked")
    return lambda _, left, right: wide(left, right) if _floating(left) else checked(left, right)


def _converted(call: Call, value: Any) -> Any:
    return pc.cast(value, _TYPES[call.type], safe=False)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "not": lambda _, value: pc.invert(value),
    "isnull": lambda _, value: pc.is_null(value),
    "=": lambda _, left, right: _equal(left, right),
    "!=": lambda _, left, right: pc.invert(_equal(left, right)),
    "<": lambda _, left, right: _less(left, right),
    "<=": lambda _, left, right: pc.invert(_less(right, left)),
    ">": lambda _, left, right: _less(right, left),
    ">=": lambda _, left, right: pc.invert(_less(left, right)),
    "<=>": lambda _, left, right: _equal_or_both_null(left, right),
    "+": _exact("add"),
    "-": _exact("subtract"),
    "*": _exact("multiply"),
    "/": _divide,
    "/ or null": _divide,
    "%": _remainder,
    "% or null": _remainder,
    "wrapping +": lambda _, left, right: pc.add(left, right),
    "wrapping -": lambda _, left, right: pc.subtract(left, right),
    "wrapping *": lambda _, left, right: pc.multiply(left, right),
    "wrapping negate": lambda _, value: pc.negate(value),
    "wrapping abs": lambda _, value: pc.abs(value),
    "negate": _negate,
    "abs": _absolute,
    "least": lambda _, *values: reduce(_smaller, values),
    "greatest": lambda _, *values: reduce(_larger, values),
    "double": _converted,
    "integer": _converted,
}
