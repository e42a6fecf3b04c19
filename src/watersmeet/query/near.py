"""Conditions that keep two numbers near each other, such as ``abs(a.v - b.v) < 3``: an index can find those.

Every comparison of a difference of two columns with a constant is a bound on it, from one side or from both:

    abs(a.v - b.v) < 3                      -3 <= a.v - b.v <= 3
    b.v BETWEEN a.v - 1 AND a.v + 5         -5 <= a.v - b.v <= 1

Bounds may be a little wide, since the condition itself is judged too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from watersmeet.query.expression import INTEGERS, Call, Constant, Expression, Field

_NUMBERS = (*INTEGERS, "float", "double")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# A column of each of two streams, and what is added to their difference.
_Difference = tuple[Field, Field, float]


@dataclass(frozen=True, slots=True)
class Near:
    """The difference `left - right` of two columns lies between two numbers."""

    left: Field
    right: Field
    low: float
    high: float

    @property
    def text(self) -> str:
        """What a checkpoint remembers of it."""
        return f"{self.left.column} - {self.right.column} from {self.low:g} to {self.high:g}"


def nearness(conditions: Iterable[Expression], lefts: Iterable[int], rights: Iterable[int]) -> Near | None:
    """The narrowest bound that conditions put on two columns, one of each side; None if there is none."""
    first, second = frozenset(lefts), frozenset(rights)
    bounds: dict[tuple[Field, Field], tuple[float, float]] = {}
    for bound in (bound for condition in conditions for bound in _bounds(condition)):
        for near in (bound, Near(bound.right, bound.left, -bound.high, -bound.low)):
            if near.left.stream in first and near.right.stream in second:
                low, high = bounds.get((near.left, near.right), (-math.inf, math.inf))
                bounds[near.left, near.right] = max(low, near.low), min(high, near.high)
    found = [
        Near(left, right, low, high)
        for (left, right), (low, high) in bounds.items()
        if math.isfinite(low) and math.isfinite(high) and low <= high
    ]
    return min(found, key=lambda near: near.high - near.low, default=None)


def _bounds(condition: Expression) -> list[Near]:
    """What a comparison says of a difference, which may be a limit on one side only."""
    if not isinstance(condition, Call) or condition.function not in _TURNED:
        return []
    left, right, compare = *condition.arguments, condition.function
    if _number(left) is not None:
        left, right, compare = right, left, _TURNED[compare]
    limit = _number(right)
    if isinstance(left, Call) and left.function == "abs" and limit is not None:
        return _between(_difference(left.arguments[0]), -limit, limit) if compare in ("<", "<=") else []
    # Without an abs: left - right against zero, or against the constant.
    whole = _difference(left) if limit is not None else _difference(Call("-", (left, right), left.type))
    edge = limit or 0.0
    return _between(whole, *((-math.inf, edge) if compare in ("<", "<=") else (edge, math.inf)))


def _between(difference: _Difference | None, low: float, high: float) -> list[Near]:
    if difference is None:
        return []
    left, right, add = difference
    return [Near(left, right, low - add, high - add)]


def _difference(expression: Expression) -> _Difference | None:
    """An expression as one column less another, plus a number."""
    found = _linear(expression)
    if found is None:
        return None
    columns, add = found
    plus = [field for field, count in columns.items() if count == 1]
    minus = [field for field, count in columns.items() if count == -1]
    if len(plus) != 1 or len(minus) != 1 or any(count not in (-1, 0, 1) for count in columns.values()):
        return None
    return plus[0], minus[0], add


def _linear(expression: Expression) -> tuple[dict[Field, int], float] | None:
    """An expression as a sum of columns and a number: how often each is in it, and the number."""
    number = _number(expression)
    if number is not None:
        return {}, number
    if isinstance(expression, Field):
        return ({expression: 1}, 0.0) if expression.type in _NUMBERS else None
    if not isinstance(expression, Call):
        return None
    if expression.function in ("double", "integer"):
        return _linear(expression.arguments[0])
    if expression.function not in ("+", "-", "negate"):
        return None
    signs = [-1] if expression.function == "negate" else [1, 1 if expression.function == "+" else -1]
    counts: dict[Field, int] = {}
    total = 0.0
    for argument, sign in zip(expression.arguments, signs, strict=True):
        part = _linear(argument)
        if part is None:
            return None
        for field, count in part[0].items():
            counts[field] = counts.get(field, 0) + sign * count
        total += sign * part[1]
    return counts, total


def _number(expression: Expression) -> float | None:
    if isinstance(expression, Call) and expression.function in ("double", "integer"):
        return _number(expression.arguments[0])
    if isinstance(expression, Call) and expression.function == "negate":
        inner = _number(expression.arguments[0])
        return None if inner is None else -inner
    if not isinstance(expression, Constant) or isinstance(expression.value, bool | str):
        return None
    return float(expression.value) if expression.type != "interval" else None
