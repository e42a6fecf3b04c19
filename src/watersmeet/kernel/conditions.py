"""Conditions on combinations of rows: each says which of them to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.evaluate import where_true
from watersmeet.kernel.judge import judge_of, quickest_first
from watersmeet.kernel.keys import encode_keys, same_keys
from watersmeet.query.expression import Expression, Field, FunctionCall


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

        return where_true(self.expression, column, len(rows))


@dataclass(frozen=True, slots=True)
class ValuesEqual:
    """Two columns with equal values, of any type that can be a key; a null equals nothing."""

    left: Place
    right: Place

    def holds(self, rows: Combinations) -> Any:
        """A mask of the combinations to keep."""
        columns = [rows.columns(place.part, [place.position])[0] for place in (self.left, self.right)]
        if not any(column.null_count for column in columns):
            return same_keys(*(encode_keys([column]) for column in columns))
        both = pc.and_(*(column.is_valid() for column in columns))
        mask = both.to_numpy(zero_copy_only=False).copy()
        mask[mask] = same_keys(*(encode_keys([column.filter(both)]) for column in columns))
        return mask


@dataclass(frozen=True, slots=True)
class FunctionsHold:
    """Python functions that must all hold: the one that rejects most per second is asked first.

    A pair that is part of several combinations is asked about once.
    """

    calls: tuple[FunctionCall, ...]
    places: Mapping[tuple[int, str], Place]

    def holds(self, rows: Combinations) -> Any:
        """A mask of the combinations to keep."""
        left = np.arange(len(rows))
        for call in quickest_first(self.calls):
            left = left[self._judged(call, rows.take(left))]
        mask = np.zeros(len(rows), np.bool_)
        mask[left] = True
        return mask

    def _judged(self, call: FunctionCall, rows: Combinations) -> Any:
        places = [self.places[argument.stream, argument.column] for argument in call.arguments]
        parts = sorted({place.part for place in places})
        again = None
        if len(parts) < len(rows.places):
            first, again = _distinct(rows, parts)
            rows = rows.take(first)
        # Widths differ from run to run, and are only needed to choose a block.
        runs = [rows.places[part].runs for part in parts]
        pair_bytes = sum(max((run.row_bytes for run in some), default=0) for some in runs)

        def fetch(block: slice) -> Sequence[pa.Array]:
            some = rows.take(block)
            return [some.columns(place.part, [place.position])[0] for place in places]

        mask = judge_of(call.function).mask(len(rows), pair_bytes, fetch)
        return mask if again is None else mask[again]


def _distinct(rows: Combinations, parts: Sequence[int]) -> tuple[Any, Any]:
    """One combination of each kind, by the rows of some inputs, and per combination of which kind it is."""
    numbers = np.zeros(len(rows), np.int64)
    for part in parts:
        place = rows.places[part]
        _, own = np.unique((place.owners << 32) | place.rows, return_inverse=True)
        # Small numbers, so that the next ones still fit beside them.
        _, numbers = np.unique(numbers * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    _, first, again = np.unique(numbers, return_index=True, return_inverse=True)
    return first, again
