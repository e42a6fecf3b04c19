"""From the bytes of a record to columns; and whether that failed.

A record is malformed as a whole: one field of the wrong type makes it so, whether or not a query reads that
field, since nobody can say which part of such a record to trust. A field that is missing is null. Fields that
the schema does not name are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from watersmeet.errors import choices
from watersmeet.kernel.simple_records import simple_pattern
from watersmeet.kernel.simple_values import Kind, SimpleField
from watersmeet.spark.endpoints import InvalidEndpoint
from watersmeet.spark.session import said_by

if TYPE_CHECKING:
    from pyspark.sql import Column

# The column that "raw" gives.
RAW = "value"
# Added to the columns of a record while it is decoded: what could not be decoded, or the sign that all could.
_BROKEN = "__broken"
_WHOLE = "watersmeet_whole"
# Left to itself, Spark takes "12:00" for a time of the day on which it reads it, so another one tomorrow.
_TIMES = "yyyy-MM-dd[['T'][ ]HH:mm[:ss][.SSSSSSSSS][XXX][XX][X]]"


@dataclass(frozen=True)
class Decoder:
    """How records become columns.

    Attributes:
        names: The columns.
        record: Makes a struct of them, and perhaps more, from the bytes.
        malformed: Says from the bytes and that struct whether the record could not be decoded.
        simple: The fields by which simple records are known (`kernel.simple_records`); None if none are.
    """

    names: tuple[str, ...]
    record: Callable[[Column], Column]
    malformed: Callable[[Column, Column], Column]
    simple: tuple[SimpleField, ...] | None = None


def decoder(decode: str, schema: str | StructType | None, options: Mapping[str, str]) -> Decoder:
    """The decoder of that name.

    Args:
        decode: Its name.
        schema: What records have.
        options: Options of Spark's function.

    Raises:
        InvalidEndpoint: There is none, or the schema does not suit it.
    """
    made = {"json": _json, "csv": _csv, "avro": _avro, "raw": _raw}
    if decode not in made:
        raise InvalidEndpoint(
            f'records cannot be decoded as "{decode}"', "", f"decode is one of {choices(made)}."
        )
    if (schema is None) != (decode == "raw"):
        raise InvalidEndpoint(
            f'decode="{decode}" {"takes no schema" if schema is not None else "needs a schema"}',
            "raw records are bytes in one column; the others have the columns of a schema.",
            'leave schema= out, or say decode="json".'
            if schema is not None
            else 'say schema="id BIGINT, ..."',
        )
    try:
        return made[decode](schema, options)
    except (PySparkException, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InvalidEndpoint):
            raise
        raise InvalidEndpoint(
            "the schema cannot be read", said_by(error), _SCHEMA_HINTS.get(decode, _IN_SQL)
        ) from None


_IN_SQL = 'write it as in SQL: "id BIGINT, ts TIMESTAMP".'
_SCHEMA_HINTS = {"avro": 'give the schema of Avro as JSON: {"type": "record", "name": ..., "fields": [...]}.'}


def _json(schema: Any, options: Mapping[str, str]) -> Decoder:
    columns = _columns(schema)
    settings = _permissive(options)

    def malformed(value: Column, record: Column) -> Column:
        wrong = _broken(value, record)
        # Spark reads up to the end of the first object, and does not look at what follows.
        listed = F.concat(F.lit("["), value.cast("string"), F.lit("]"))
        if any(name.lower().startswith("allow") for name in options):
            # Slower, and with the same idea of what JSON is.
            whole = F.size(F.from_json(listed, f"array<struct<{_WHOLE}: string>>", dict(options)))
        else:
            whole = F.json_array_length(listed)
        return wrong | F.coalesce(whole != 1, F.lit(True))

    return Decoder(
        tuple(columns.names),
        lambda value: F.from_json(value.cast("string"), _with_broken(columns), settings),
        malformed,
        None if options else _simple(columns),
    )


def _simple(columns: StructType) -> tuple[SimpleField, ...] | None:
    """The fields of simple records; None where a type has values that are not as simple."""
    known = [_KINDS.get(type(field.dataType)) for field in columns.fields]
    if None in known:
        return None
    pairs = zip(columns.names, (one for one in known if one is not None), strict=True)
    fields = tuple(SimpleField(name, *kind) for name, kind in pairs)
    return fields if simple_pattern(fields) is not None else None


# So many digits always fit.
_KINDS: dict[type[DataType], tuple[Kind, int]] = {
    ByteType: (Kind.WHOLE, 2),
    ShortType: (Kind.WHOLE, 4),
    IntegerType: (Kind.WHOLE, 9),
    LongType: (Kind.WHOLE, 18),
    DoubleType: (Kind.NUMBER, 0),
    StringType: (Kind.TEXT, 0),
    BooleanType: (Kind.FLAG, 0),
    TimestampType: (Kind.INSTANT, 0),
}


def _csv(schema: Any, options: Mapping[str, str]) -> Decoder:
    columns = _columns(schema)
    as_text = ", ".join(
        f"{_quoted(field.name)} {field.dataType.simpleString()}" for field in _with_broken(columns).fields
    )
    settings = _permissive(options)

    def malformed(value: Column, record: Column) -> Column:
        return _broken(value, record) | (F.trim(value.cast("string")) == "")

    return Decoder(
        tuple(columns.names),
        lambda value: F.from_csv(value.cast("string"), as_text, settings),
        malformed,
    )


def _avro(schema: Any, options: Mapping[str, str]) -> Decoder:
    from pyspark.sql.avro.functions import from_avro

    wanted = json.loads(options.get("avroSchema", schema))
    # A field that no record has, with a default: it is there if, and only if, the record could be read.
    sign = {"name": _WHOLE, "type": ["boolean", "null"], "default": True}
    reader = json.dumps(wanted | {"fields": [*wanted["fields"], sign]})
    settings = {**options, "mode": "PERMISSIVE", "avroSchema": reader}
    return Decoder(
        tuple(field["name"] for field in wanted["fields"]),
        lambda value: from_avro(value, schema, settings),
        lambda _, record: record.getField(_WHOLE).isNull(),
    )


def _raw(schema: Any, options: Mapping[str, str]) -> Decoder:  # noqa: ARG001
    return Decoder((RAW,), lambda value: F.struct(value.alias(RAW)), lambda _, __: F.lit(False))


def _columns(schema: Any) -> StructType:
    columns = schema if isinstance(schema, StructType) else StructType.fromDDL(schema)
    if not isinstance(columns, StructType):
        raise TypeError(f"{schema!r} names no columns")
    return columns


def _permissive(options: Mapping[str, str]) -> dict[str, str]:
    own = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN}
    return {"timestampFormat": _TIMES, **options, **own}


def _with_broken(columns: StructType) -> StructType:
    return StructType([*columns.fields, StructField(_BROKEN, StringType())])


def _broken(value: Column, record: Column) -> Column:
    """Bytes that are no text would be read with signs in place of those that are wrong."""
    no_text = ~F.is_valid_utf8(value.cast("string"))
    return record.isNull() | record.getField(_BROKEN).isNotNull() | no_text


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
