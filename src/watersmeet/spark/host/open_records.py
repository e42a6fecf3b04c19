"""Records that a worker decodes itself: simple ones, beside those that Spark has decoded.

(c0, c1, ..., record, latest)  ->  (c0, c1, ...)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.kernel.simple_records import simple_columns
from watersmeet.kernel.simple_values import SimpleField
from watersmeet.query.expression import Expression
from watersmeet.spark.host.computed import Computed
from watersmeet.spark.host.open_files import judged


@dataclass(frozen=True)
class RecordColumns:
    """What is wanted of every record.

    Attributes:
        fields: What simple records have.
        taken: For every packed column the field it is, or what is computed; None where Spark knows it.
        time: Which packed column is the time, if not every time is believed; None believes all.
        believed: The column that says so.
        condition: What the rows of this stream have to fulfil; None wants all.
        wanted: The column that says whether they do.
    """

    fields: tuple[SimpleField, ...]
    taken: tuple[int | Computed | None, ...]
    time: int | None = None
    believed: int | None = None
    condition: Expression | None = None
    wanted: int | None = None

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of all records: of a batch, those that Spark has decoded before the simple ones."""
        for batch in batches:
            record = batch.column(self._known)
            if not record.null_count:
                yield self._decoded(batch)
                continue
            yield batch.filter(record.is_null()).select(list(range(self._known)))
            yield self._decoded(batch.filter(record.is_valid()))

    @property
    def _known(self) -> int:
        """How many columns there are before the record."""
        return len(self.taken)

    def _decoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        found = simple_columns(batch.column(self._known), self.fields)
        named = {field.name: column for field, column in zip(self.fields, found, strict=True)}
        passes = None if self.condition is None else judged(self.condition, named)

        def taken(place: int, one: int | Computed | None) -> pa.Array:
            if one is None:
                return batch.column(place)
            values = found[one] if isinstance(one, int) else one.values(named, passes)
            return values.cast(batch.column(place).type)

        columns = [taken(place, one) for place, one in enumerate(self.taken)]
        if self.time is not None and self.believed is not None:
            latest = batch.column(self._known + 1).cast(columns[self.time].type)
            columns[self.believed] = pc.less_equal(columns[self.time], latest)
        if self.wanted is not None:
            columns[self.wanted] = passes
        return pa.record_batch(columns, schema=pa.schema(list(batch.schema)[: self._known]))
