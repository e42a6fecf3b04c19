"""What Spark says about the types of expressions that the query layer does not compute itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from watersmeet.errors import InvalidQuery
from watersmeet.query import Column, Stream
from watersmeet.query.attribute import Side
from watersmeet.query.spelling import Reading
from watersmeet.query.stream import added_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

_FIXED_ZONE = re.compile(r"Z|(?:Etc/)?(?:UTC|GMT|UT)?(?:[+-]\d[\d:]*)?|(?:Etc/)?(?:UCT|Zulu|Universal)")


class SparkTypes:
    """Answers `query.predicate.Types` by asking Spark to analyse, never to run."""

    def __init__(self, streams: Sequence[Any]) -> None:
        """Answer for streams that have their DataFrames; others are refused before anything is asked."""
        self._streams = streams
        self._compared_in: dict[tuple[str, str], str | None] = {}

    @property
    def ansi(self) -> bool:
        """Whether overflows and divisions by zero are errors."""
        conf = self._streams[0].source.sparkSession.conf
        return str(conf.get("spark.sql.ansi.enabled", "true")).lower() == "true"

    @property
    def fixed_zone(self) -> bool:
        """Whether every day of the session's time zone has 24 hours."""
        zone = self._streams[0].source.sparkSession.conf.get("spark.sql.session.timeZone", "UTC")
        return bool(_FIXED_ZONE.fullmatch(zone))

    def of_key(self, stream: Stream, text: str) -> Column:
        """The type of an expression over one stream."""
        source: DataFrame = stream.source.alias(stream.name)
        (field,) = _analysed(text, source.select).fields
        return column_of(text, field.dataType)

    def compared_in(self, left: Side, right: Side) -> str | None:
        """The type in which Spark compares two sides; None where it does not, or in none that is known.

        Spark does not say it. So types are tried that it could be, until one makes the same of the equality.
        """
        if left.type == right.type:
            return left.type
        asked = left.type, right.type
        if asked not in self._compared_in:
            equal = f"({left.member.text}) = ({right.member.text})"
            self._compared_in[asked] = next(
                (
                    kind
                    for kind in dict.fromkeys([*self._wider(left, right), *asked, "bigint", "double"])
                    if self._same([Reading(equal, f"{left.as_type(kind).text} = {right.as_type(kind).text}")])
                ),
                None,
            )
        return self._compared_in[asked]

    def _wider(self, left: Side, right: Side) -> list[str]:
        """The type that can hold the values of both, if there is one: most often they are compared in it."""
        with suppress(InvalidQuery):
            either = _analysed(f"coalesce({left.member.text}, {right.member.text})", self._results.select)
            return [either.fields[0].dataType.simpleString()]
        return []

    def misread(self, readings: Sequence[Reading]) -> Sequence[Reading]:
        """The readings that do not mean what was written; raises InvalidQuery where that means nothing."""
        if not readings or self._same(readings):
            return ()
        for text in dict.fromkeys(reading.written for reading in readings):
            _analysed(text, self._results.filter)
        return [reading for reading in readings if not self._same([reading])]

    def refuse_untyped_value(self, text: str) -> None:
        """Raise InvalidQuery if a text has no value over the streams and the result time."""
        _analysed(text, self._results.select)

    def _same(self, readings: Sequence[Reading]) -> bool:
        """Whether Spark's analysis of what was written and of what it was taken for has the same outcome."""
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        def filtered(texts: Iterable[str]) -> DataFrame:
            return self._results.filter(reduce(and_, map(F.expr, texts)))

        try:
            written = filtered(reading.written for reading in readings)
            return written.sameSemantics(filtered(reading.taken_for for reading in readings))
        except PySparkException:
            return False

    @cached_property
    def _results(self) -> DataFrame:
        """Results of the streams, of which there are none."""
        from pyspark.sql.types import StructField, StructType, TimestampType

        fields = [StructField(stream.name, stream.source.schema) for stream in self._streams]
        spark: SparkSession = self._streams[0].source.sparkSession
        fields += [StructField(name, TimestampType()) for name in added_columns(self._streams)]
        return spark.createDataFrame([], StructType(fields))


def _analysed(text: str, use: Callable[..., DataFrame]) -> StructType:
    """What Spark makes of a text: the schema of a DataFrame that uses it."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    try:
        return use(F.expr(text)).schema
    except PySparkException as error:
        raise _untyped(text, error) from None


def _untyped(text: str, error: Exception) -> InvalidQuery:
    reason = str(error).strip().split("\n")[0].split(" SQLSTATE")[0].strip()
    return InvalidQuery(
        f'Spark cannot make sense of "{text}"',
        f"{reason}",
        "use functions Spark knows and cast where types differ; a condition must be true or false.",
    )


def column_of(name: str, kind: DataType) -> Column:
    """A column of a type: what it is called, and what it is good for."""
    stored = _not_stored(kind)
    return Column(name, kind.simpleString(), stored or _not_a_key(kind), stored)


def _not_stored(kind: DataType) -> str:
    """Why values of a type cannot be handed to Python and back; empty when they can."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    twice = _field_names_used_twice(kind)
    if twice:
        return f"two fields of a struct in it are called {twice}"
    try:
        to_arrow_type(kind, timezone="UTC")
    except (PySparkException, ValueError):
        return "Spark does not hand such values to Python"
    return ""


def _field_names_used_twice(kind: DataType) -> str:
    from pyspark.sql import types as T

    if isinstance(kind, T.ArrayType):
        return _field_names_used_twice(kind.elementType)
    if isinstance(kind, T.MapType):
        return _field_names_used_twice(kind.keyType) or _field_names_used_twice(kind.valueType)
    if isinstance(kind, T.UserDefinedType):
        return _field_names_used_twice(kind.sqlType())
    if not isinstance(kind, T.StructType):
        return ""
    twice = (name for name in kind.names if kind.names.count(name) > 1)
    inside = (found for field in kind.fields if (found := _field_names_used_twice(field.dataType)))
    return next(twice, "") or next(inside, "")


def _not_a_key(kind: DataType) -> str:
    """Why values of a type cannot be compared byte by byte; empty when they can."""
    from pyspark.sql import types as T

    incomparable = (T.VariantType, T.GeographyType, T.GeometryType)
    if isinstance(kind, T.StringType) and not kind.isUTF8BinaryCollation():
        return "under its collation different texts can be equal"
    if isinstance(kind, T.ArrayType):
        return _not_a_key(kind.elementType)
    if isinstance(kind, T.StructType):
        return next((reason for field in kind.fields if (reason := _not_a_key(field.dataType))), "")
    if isinstance(kind, (T.AtomicType, T.NullType)) and not isinstance(kind, incomparable):
        return ""
    return f"Spark has no equality for {kind.typeName()} values"
