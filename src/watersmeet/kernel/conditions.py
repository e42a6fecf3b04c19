"""Conditions on combinations of rows: each says which of them to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.evaluate import evaluate, is_true
from watersmeet.kernel.keys import encode_keys, same_keys
from watersmeet.query.expression import Expression, Field


class Place(NamedTuple):
    """A stored column: which input has it, and where."""

    part: int
    position: int


class Condition(Protocol):
    """Something that holds or does not hold for a combination."""

    def holds(self, rows: Combinations) -> Any:
        """A mask of the combinations to keep."""


@dataclass(frozen=True, slots=True)
class ExpressionHolds:
    """An expression that must be true."""

    expression: Expression
    places: Mapping[tuple[int, str], Place]

    def holds(self, rows: Combinations) -> Any:
        """A mask of the combinations to keep."""

        def column(field: Field) -> Any:
            place = self.places[field.stream, field.column]
            return rows.columns(place.part, [place.position])[0]

        return is_true(evaluate(self.expression, column), len(rows))


@dataclass(frozen=True, slots=True)
class ValuesEqual:
    """Two columns with equal values, of any type that can be a key; rows with a null have gone before."""

    left: Place
    right: Place

    def holds(self, rows: Combinations) -> Any:
        """A mask of the combinations to keep."""
        left, right = (
            encode_keys(rows.columns(place.part, [place.position])) for place in (self.left, self.right)
        )
        return same_keys(left, right)
