"""Sources and sinks by name and options, for who describes a query instead of programming it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from watersmeet.errors import WatersmeetError
from watersmeet.spark.session import said_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType


class InvalidEndpoint(WatersmeetError, ValueError):
    """Spark cannot read from a source, or write to a sink, as it was described."""


@dataclass(frozen=True)
class Endpoint:
    """A source or a sink of Spark."""

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as Spark takes them; None leaves one out.

    >>> texts({"header": True, "maxFilesPerTrigger": 1, "sep": None})
    {'header': 'true', 'maxFilesPerTrigger': '1'}
    """
    said = {name: value for name, value in (options or {}).items() if value is not None}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in said.items()
    }


def read_stream(
    spark: SparkSession, name: str, source: Endpoint, schema: str | StructType | None
) -> DataFrame:
    """A streaming DataFrame from a source; `name` is what an error calls it."""
    from pyspark.errors import PySparkException

    reader = spark.readStream.format(source.format).options(**source.options)
    try:
        if schema is not None:
            reader = reader.schema(schema)
        return reader.load(source.path) if source.path else reader.load()
    except PySparkException as error:
        raise InvalidEndpoint(
            f'stream "{name}" cannot be read',
            said_by(error),
            "check its format, path, schema and options.",
        ) from None


def typed_stream(spark: SparkSession, name: str, schema: str) -> DataFrame:
    """A stream that is read elsewhere: only its types are known here."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    try:
        types = StructType.fromDDL(schema)
    except PySparkException as error:
        raise InvalidEndpoint(
            f'the schema of stream "{name}" cannot be read', said_by(error), "write it as in SQL."
        ) from None
    assert isinstance(types, StructType), "columns are a struct"
    columns = [F.lit(None).cast(field.dataType).alias(field.name) for field in types.fields]
    return spark.readStream.format("rate").load().select(*columns)


def write_stream(
    results: DataFrame,
    sink: Endpoint | Callable[[DataFrame, int], None],
    *,
    name: str,
    checkpoint: str,
    every: timedelta | None,
    available_now: bool,
) -> StreamingQuery:
    """Start writing results.

    Args:
        results: What to write.
        sink: Where to, or a function that takes each batch and its number.
        name: What the query is called.
        checkpoint: Where it keeps its state.
        every: How often a batch starts; None starts one after the other.
        available_now: Read what is there and end.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    writer: Any = results.writeStream.queryName(name).option("checkpointLocation", checkpoint)
    if available_now:
        writer = writer.trigger(availableNow=True)
    elif every is not None:
        writer = writer.trigger(processingTime=f"{every // timedelta(milliseconds=1)} milliseconds")
    try:
        if not isinstance(sink, Endpoint):
            return writer.foreachBatch(sink).start()  # type: ignore[no-any-return]
        writer = writer.format(sink.format).options(**sink.options)
        return writer.start(sink.path) if sink.path else writer.start()  # type: ignore[no-any-return]
    except (PySparkException, Py4JError) as error:
        raise InvalidEndpoint(
            "the results cannot be written",
            said_by(error),
            "check the sink's format, path and options.",
        ) from None
