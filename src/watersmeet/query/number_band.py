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

from watersmeet.query.expression import INTEGERS, Call, Constant, Expression, Field, fields

_NUMBERS = (*INTEGERS, "float", "double")
_FLOATING = ("float", "double")
# One column less another, what is added to that, and by how much rounding may move it.
_Difference = tuple[Field, Field, float, float]
# A sum computed in doubles is off by no more than this part of what it is made of.
_ROUNDING = 2.0**-48


@dataclass(frozen=True, slots=True)
class NumberBand:
    """The difference `left - right` of two columns lies between two numbers."""

    left: Field
    right: Field
    low: float
    high: float

    @property
    def text(self) -> str:
        """What a checkpoint remembers of it."""
        return f"{self.left.column} - {self.right.column} from {self.low!r} to {self.high!r}"


@dataclass(frozen=True, slots=True)
class _Bound:
    """A limit of a difference on one side or both, and the columns for whose NaN it holds all the same.

    NaN is larger than any number: `x <= y` holds where y is NaN, and so does `x <= y + 3`.
    """

    band: NumberBand
    nan_below: frozenset[Field] = frozenset()
    nan_above: frozenset[Field] = frozenset()


def number_band(
    conditions: Iterable[Expression], lefts: Iterable[int], rights: Iterable[int]
) -> NumberBand | None:
    """The narrowest bound that conditions put on two columns, one of each side; None if there is none."""
    first, second = frozenset(lefts), frozenset(rights)
    bounds: dict[tuple[Field, Field], _Bound] = {}
    for bound in (bound for condition in conditions for bound in _bounds(condition)):
        for one in (bound, _turned(bound)):
            band = one.band
            if band.left.stream in first and band.right.stream in second:
                known = bounds.get((band.left, band.right))
                bounds[band.left, band.right] = one if known is None else _both(known, one)
    found = [
        bound.band
        for bound in bounds.values()
        if math.isfinite(bound.band.low)
        and math.isfinite(bound.band.high)
        and bound.band.low <= bound.band.high
        # A NaN for which both limits hold has no place among the cells.
        and not any(field.type in _FLOATING for field in bound.nan_below & bound.nan_above)
    ]
    return min(found, key=lambda band: band.high - band.low, default=None)


def _turned(bound: _Bound) -> _Bound:
    """The same of the difference the other way round."""
    band = bound.band
    return _Bound(NumberBand(band.right, band.left, -band.high, -band.low), bound.nan_above, bound.nan_below)


def _both(one: _Bound, other: _Bound) -> _Bound:
    """Two bounds of the same difference together; a side that says nothing rules out nothing."""
    low, high = max(one.band.low, other.band.low), min(one.band.high, other.band.high)
    below = [b.nan_below for b in (one, other) if math.isfinite(b.band.low)]
    above = [b.nan_above for b in (one, other) if math.isfinite(b.band.high)]
    return _Bound(
        NumberBand(one.band.left, one.band.right, low, high),
        frozenset.intersection(*below) if below else frozenset(),
        frozenset.intersection(*above) if above else frozenset(),
    )


def _bounds(condition: Expression) -> list[_Bound]:
    """What a comparison says of a difference, which may be a limit on one side only."""
    if not isinstance(condition, Call) or condition.function not in ("<", "<=", ">", ">="):
        return []
    left, right, compare = *condition.arguments, condition.function
    if compare in (">", ">="):
        left, right = right, left
    limit = _number(right)
    if isinstance(left, Call) and left.function == "abs" and limit is not None:
        # An abs of NaN is NaN, which is not below any number.
        return _between(_difference(left.arguments[0]), -limit, limit)
    whole = _difference(Call("-", (left, right), left.type))
    greater = frozenset(fields(right))
    return _between(whole, -math.inf, 0.0, nan_above=greater)


def _between(
    difference: _Difference | None, low: float, high: float, nan_above: frozenset[Field] = frozenset()
) -> list[_Bound]:
    if difference is None:
        return []
    left, right, add, room = difference
    return [_Bound(NumberBand(left, right, low - add - room, high - add + room), nan_above=nan_above)]


def _difference(expression: Expression) -> _Difference | None:
    """An expression as one column less another, plus a number."""
    found = _linear(expression)
    if found is None:
        return None
    columns, add, size = found
    plus = [field for field, count in columns.items() if count == 1]
    minus = [field for field, count in columns.items() if count == -1]
    if len(plus) != 1 or len(minus) != 1 or any(count not in (-1, 0, 1) for count in columns.values()):
        return None
    # Constants that cancel leave their rounding behind; a single one leaves none that matters.
    return plus[0], minus[0], add, _ROUNDING * size if size > abs(add) else 0.0


def _linear(expression: Expression) -> tuple[dict[Field, int], float, float] | None:
    """An expression as a sum of columns and numbers: how often each is in it, their sum, and their size."""
    number = _number(expression)
    if number is not None:
        return {}, number, abs(number)
    if isinstance(expression, Field):
        return ({expression: 1}, 0.0, 0.0) if expression.type in _NUMBERS else None
    if not isinstance(expression, Call):
        return None
    if expression.function in ("double", "integer"):
        return _linear(expression.arguments[0])
    if expression.function not in ("+", "-", "negate"):
        return None
    signs = [-1] if expression.function == "negate" else [1, 1 if expression.function == "+" else -1]
    counts: dict[Field, int] = {}
    total = size = 0.0
    for argument, sign in zip(expression.arguments, signs, strict=True):
        part = _linear(argument)
        if part is None:
            return None
        for field, count in part[0].items():
            counts[field] = counts.get(field, 0) + sign * count
        total += sign * part[1]
        size += part[2]
    return counts, total, size


def _number(expression: Expression) -> float | None:
    if isinstance(expression, Call) and expression.function in ("double", "integer"):
        return _number(expression.arguments[0])
    if isinstance(expression, Call) and expression.function == "negate":
        inner = _number(expression.arguments[0])
        return None if inner is None else -inner
    if not isinstance(expression, Constant) or isinstance(expression.value, bool | str):
        return None
    return float(expression.value) if expression.type != "interval" else None
