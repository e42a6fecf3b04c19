"""Files of lines, JSON or CSV, that the workers open themselves: what Spark has to do with the odd lines.

The workers read lines that are simple (`kernel.simple_lines`), and hand the others to Spark's functions
`from_json` and `from_csv`, which read a line as Spark's readers of files do (`host.open_lines`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from watersmeet.kernel.simple_json import MOST_FIELDS
from watersmeet.kernel.simple_lines import LineForm
from watersmeet.kernel.simple_values import Kind, SimpleField
from watersmeet.spark.host.open_lines import SPLIT_SCHEMA, LineFile
from watersmeet.spark.host.ship import worker_function

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from watersmeet.spark.files import FileSource

# A file whose simple lines are left to the workers; null for rows that Spark has decoded.
FILE, SIZE = "__file", "__size"
_LINE, _ROW = "__line", "__row"
_SEPARATORS = frozenset(",;|\t")
_FLAGS = ("true", "false")
# What may stand before a list.
_BLANKS = " \t"


def suits_lines(spark: SparkSession, source: FileSource) -> bool:
    """Whether lines of such files can be simple."""
    schema, options = source.schema, source.options
    names = [field.name.lower() for field in schema.fields]
    corrupt = str(spark.conf.get("spark.sql.columnNameOfCorruptRecord", "_corrupt_record")).lower()
    return (
        len(set(names)) == len(names) <= MOST_FIELDS
        and not {corrupt, FILE, SIZE, _LINE, _ROW} & set(names)
        # They stand in lines as they are.
        and not any(set(name) & {'"', "\\"} or not name.isprintable() for name in names)
        and all(_kind(field.dataType) is not None for field in schema.fields)
        and str(spark.conf.get("spark.sql.legacy.timeParserPolicy", "CORRECTED")).upper() == "CORRECTED"
        and (source.format != "csv" or (_separator(options) in _SEPARATORS and _header(options) in _FLAGS))
    )


def _separator(options: Mapping[str, str]) -> str:
    said = {name.lower(): value for name, value in options.items()}
    return said.get("sep", said.get("delimiter", ","))


def _header(options: Mapping[str, str]) -> str:
    return {name.lower(): value.lower() for name, value in options.items()}.get("header", "false")


def line_file(spark: SparkSession, source: FileSource, needed: Iterable[str]) -> LineFile:
    """How files are read; `needed` are the columns that somebody needs."""
    wanted, schema, options = set(needed), source.schema, source.options
    utc = str(spark.conf.get("spark.sql.session.timeZone")) in ("UTC", "Etc/UTC")
    if source.format == "json":
        fields = [_field(one.name, one.dataType) for one in schema.fields if one.name in wanted]
        return LineFile(LineForm(tuple(fields), None, utc))
    fields = [
        _field(one.name, one.dataType) if one.name in wanted else SimpleField(one.name, Kind.ANY)
        for one in schema.fields
    ]
    return LineFile(LineForm(tuple(fields), _separator(options), utc), _header(options) == "true")


def split_lines(listed: DataFrame, file: LineFile, schema: StructType) -> DataFrame:
    """What Spark makes of the lines that are not simple, by columns; and the files, for the others."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, StructType

    names = [field.name for field in file.form.fields if field.kind is not Kind.ANY]
    look = worker_function("watersmeet.spark.host.open_lines", "split", file)
    split = listed.mapInArrow(look, SPLIT_SCHEMA).toDF(FILE, SIZE, _LINE)
    text, is_line = F.col(_LINE).cast("string"), F.col(FILE).isNull()
    if file.form.separator is not None:
        row = F.from_csv(text, _in_sql(schema), {"sep": file.form.separator})
        rows = split.withColumn(_ROW, F.when(is_line, row))
    else:
        columns = StructType([schema[name] for name in names])
        nothing = F.array(F.lit(None).cast(columns))
        # An object is a row, and of a list each object.
        several = F.from_json(text, ArrayType(columns))
        several = F.when(F.exists(several, lambda one: one.isNull()), nothing).otherwise(several)
        several = F.coalesce(several, nothing)
        found = F.when(F.ltrim(text, F.lit(_BLANKS)).startswith("["), several)
        found = found.otherwise(F.array(F.from_json(text, columns)))
        rows = split.withColumn(_ROW, F.explode(F.when(is_line, found).otherwise(nothing)))
    return rows.select(*[F.col(_ROW).getField(name).alias(name) for name in names], FILE, SIZE)


def _in_sql(schema: StructType) -> str:
    return ", ".join(
        f"`{field.name.replace('`', '``')}` {field.dataType.simpleString()}" for field in schema.fields
    )


def _field(name: str, kind: DataType) -> SimpleField:
    found = _kind(kind)
    assert found is not None
    return SimpleField(name, *found)


def _kind(kind: DataType) -> tuple[Kind, int] | None:
    from pyspark.sql import types as T

    # So many digits always fit.
    whole: dict[type, int] = {T.ByteType: 2, T.ShortType: 4, T.IntegerType: 9, T.LongType: 18}
    others: dict[type, Kind] = {
        T.DoubleType: Kind.NUMBER,
        T.StringType: Kind.TEXT,
        T.BooleanType: Kind.FLAG,
        T.TimestampType: Kind.INSTANT,
        T.DateType: Kind.DAY,
    }
    if type(kind) in whole:
        return Kind.WHOLE, whole[type(kind)]
    return (others[type(kind)], 0) if type(kind) in others else None
