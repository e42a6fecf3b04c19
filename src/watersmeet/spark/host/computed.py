"""A column that workers compute, where they open a source: the key of a row, if it is an expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from watersmeet.kernel.evaluate import values_of
from watersmeet.query.expression import Expression, fields


@dataclass(frozen=True)
class Computed:
    """What is computed, and the type it has then."""

    expression: Expression
    type: pa.DataType

    def values(self, columns: Mapping[str, pa.Array], wanted: pa.Array | None) -> pa.Array:
        """The values for the rows that are wanted; None wants all.

        Args:
            columns: The columns of the stream by their names.
            wanted: A mask of rows.
        """
        found = values_of(self.expression, lambda field: columns[field.column], wanted)
        if isinstance(found, pa.Scalar):
            # Decided without a look at the columns.
            found = pa.repeat(found, len(next(iter(columns.values()))))
        # Times are calculated with as numbers.
        return found.cast(self.type)


# What is packed: a column by its name, or a value to compute.
Packed = str | Computed


def columns_in(packed: Sequence[Packed], condition: Expression | None) -> list[str]:
    """The columns that are needed for what is packed, and for a condition."""
    expressions = [one.expression for one in packed if isinstance(one, Computed)]
    expressions += [] if condition is None else [condition]
    plain = [one for one in packed if isinstance(one, str)]
    return list(dict.fromkeys([*plain, *(field.column for one in expressions for field in fields(one))]))
