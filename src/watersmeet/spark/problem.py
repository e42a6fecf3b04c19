"""Records that are no rows: how a source says so, in one more column of its DataFrame.

The column is null for a row that can be used. Otherwise it has the reason, and the record as it came.
`stream` knows it by its name and type, packing sets such records aside (`host.pack`), no query mentions it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from pyspark.sql import Column

PROBLEM = "kafka_problem"
# Bytes that are no text are given in base 64.
_FIELDS = ("reason", "text", "base64")


def problem(reason: Column, value: Column) -> Column:
    """The column, from the reason, null for rows that can be used, and the bytes of the record."""
    text = value.cast("string")
    is_text = F.is_valid_utf8(text)
    fields = (reason, F.when(is_text, text), F.when(~is_text, F.base64(value)))
    told = F.struct(*[field.alias(name) for field, name in zip(fields, _FIELDS, strict=True)])
    return F.when(reason.isNotNull(), told).alias(PROBLEM)


def problem_column(schema: StructType) -> str | None:
    """The column that says what is wrong with a row; None where there is none."""
    for field in schema.fields:
        if field.name == PROBLEM and isinstance(field.dataType, StructType):
            return PROBLEM if tuple(field.dataType.names) == _FIELDS else None
    return None


def reason_of(column: str) -> Column:
    """Why a row cannot be used; null if it can."""
    return F.col(f"`{column}`.reason")
