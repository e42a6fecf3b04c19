"""A column that workers compute, where they open a source: the key of a row, if it is an expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from watersmeet.kernel.evaluate import values_of
from watersmeet.query.expression import Expression


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
        # Times are calculated with as numbers.
        return found.cast(self.type)
