"""Records of Kafka that the workers decode themselves: simple ones, which most are.

Spark looks whether a record is simple (`kernel.simple_records`). If so it hands on the bytes, and packing
decodes them; if not it decodes the record as ever. So both kinds come to the same rows, and what is simple
costs a look instead of a parser.

As with files, `wm.kafka` returns an ordinary DataFrame with a note, and the short way is taken where a join
needs no more of it than columns (`spark.opened`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from watersmeet.kernel.simple_records import simple_pattern
from watersmeet.kernel.simple_values import SimpleField

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The column with the bytes of records that are left to the workers; null for all others.
SIMPLE = "__simple_record"
# Spark's parser refuses longer texts.
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class RecordSource:
    """Where the rows of a DataFrame come from.

    Attributes:
        left: The same rows, but simple records have nulls in the columns of their schema, and their bytes in
            one more.
        fields: What simple records have.
    """

    left: DataFrame
    fields: tuple[SimpleField, ...]


# By the DataFrame that `kafka` has returned.
_sources: WeakKeyDictionary[Any, RecordSource] = WeakKeyDictionary()


def note_records(df: DataFrame, source: RecordSource) -> None:
    """Note where the rows of a DataFrame come from."""
    _sources[df] = source


def records_of(df: DataFrame) -> RecordSource | None:
    """What was noted; None if only Spark can say what its rows are."""
    return _sources.get(df)


def is_simple(value: Column, fields: Sequence[SimpleField] | None) -> Column:
    """Whether the bytes of a record are simple."""
    from pyspark.sql import functions as F

    pattern = None if fields is None else simple_pattern(fields)
    if pattern is None:
        return F.lit(False)
    simple = (F.octet_length(value) <= _MOST_BYTES) & value.cast("string").rlike(pattern)
    return F.coalesce(simple, F.lit(False))
