"""Files as streams that the workers open themselves: Spark keeps the list, rows never pass through Java.

Spark's source of binary files lists what is new, keeps offsets and replays, and does not read a file whose
content nobody selects. So of every batch Java sees a path per file, and packing opens it with Arrow
(`host.open_files`). Of JSON and CSV it sees lines as well, those that only Spark can read (`line_files`).

What `files` returns is an ordinary DataFrame of Spark, with a note of where it came from. A join that needs
no more of it than columns, and conditions and keys that the kernel can compute, takes the short way. Where
anything else was done to it the note is gone, and where a query needs a key or a condition of Spark's, it is
read as any other DataFrame, with the same results.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from watersmeet.errors import choices
from watersmeet.spark.connect import is_connected
from watersmeet.spark.endpoints import Endpoint, InvalidEndpoint, read_stream, texts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

# Those whose rows are lines.
LINE_FORMATS = ("json", "csv")
_FORMATS = ("parquet", *LINE_FORMATS)
# Options of Spark's file source that say which files are read when, not how. Others need Spark's reader.
_LISTING = {
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "maxfileage",
    "cleansource",
    "sourcearchivedir",
    "filenameonly",
    "maxcachedfiles",
    "discardcachedinputratio",
    "pathglobfilter",
    "modifiedafter",
    "modifiedbefore",
}
# Options of readers that the workers know as well; with a schema there is nothing to infer.
_READING = {"csv": {"header", "sep", "delimiter", "inferschema"}}
# Settings under which Spark reads files in a way of its own.
_SPECIAL_SETTINGS = (
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.caseSensitive",
    "spark.sql.parquet.int96TimestampConversion",
    "spark.sql.parquet.fieldId.read.enabled",
)
# Settings that say which calendar old dates follow, where they are not the usual one.
_CALENDARS = tuple(
    f"spark.sql.{legacy}parquet.{kind}RebaseModeInRead"
    for legacy in ("", "legacy.")
    for kind in ("datetime", "int96")
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Patterns, and folders whose names have values of columns.
_NO_PLAIN_FOLDER = re.compile(r"[*?\[\]{}=]")
PATH, LATEST = "path", "latest"
# As Spark has it, and wants it said.
_BINARY_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


@dataclass(frozen=True)
class FileSource:
    """Where the rows of a DataFrame lie."""

    path: str
    schema: StructType
    options: Mapping[str, str] = field(default_factory=dict)
    format: str = "parquet"


# By the DataFrame that `files` has returned.
_sources: WeakKeyDictionary[Any, FileSource] = WeakKeyDictionary()


def files(
    spark: SparkSession,
    path: str | Path,
    *,
    schema: str | StructType,
    format: str = "parquet",  # noqa: A002
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Read the files of a folder as a stream for `stream`, opened by the workers instead of by Java.

    Files are taken as Spark's own file source takes them, with its options, and give the same rows; new ones
    are found when they appear. Spark's progress counts files instead of rows, and `metrics` counts rows.

    Args:
        spark: The session.
        path: The folder.
        schema: The columns as in SQL, ``"id BIGINT, ts TIMESTAMP"``. Columns that a file lacks are null.
        format: ``"parquet"``; ``"json"``, an object in each line; or ``"csv"``.
        options: Options of Spark's file source, such as ``maxFilesPerTrigger``, and of its readers. With
            those that the workers do not know, Spark reads the files.

    Raises:
        InvalidEndpoint: The description makes no sense.

    Example:
        >>> import tempfile
        >>> wm.files(spark, tempfile.mkdtemp(), schema="id BIGINT, ts TIMESTAMP, amount DOUBLE").isStreaming
        True
    """
    if format not in _FORMATS:
        raise InvalidEndpoint(
            f'files cannot be read as "{format}"',
            "",
            f"format is {choices(_FORMATS)}; read others with spark.readStream.",
        )
    folder = os.fspath(path)
    return read_files(spark, folder, Endpoint(format, folder, texts(options)), schema)


def read_files(
    spark: SparkSession, name: str, source: Endpoint, schema: str | StructType | None
) -> DataFrame:
    """A streaming DataFrame from any source, noted if it is one of files that workers can open themselves."""
    df = read_stream(spark, name, source, schema)
    return (
        df
        if source.path is None or source.format not in _FORMATS
        else _noted(df, FileSource(source.path, df.schema, dict(source.options), source.format))
    )


def _noted(df: DataFrame, source: FileSource) -> DataFrame:
    known = _LISTING | _READING.get(source.format, set())
    if not _on_this_disk(source.path) or any(name.lower() not in known for name in source.options):
        return df
    if _uses_special_settings(df.sparkSession) or any("." in name for name in df.columns):
        return df
    if source.format in LINE_FORMATS:
        # Not before it is needed: it brings loops that have to be loaded.
        from watersmeet.spark.line_files import suits_lines

        suits = suits_lines(df.sparkSession, source)
    else:
        suits = all(_opened_alike(one.dataType) for one in df.schema.fields)
    if suits:
        _sources[df] = source
    return df


def source_of(df: DataFrame) -> FileSource | None:
    """Where a DataFrame came from; None if only Spark can say what its rows are."""
    return _sources.get(df)


def listed(spark: SparkSession, df: DataFrame, latest: Column | None) -> DataFrame:
    """The files of a DataFrame as a stream of paths, each with the latest believed time in microseconds."""
    from pyspark.sql import functions as F

    source = _sources[df]
    options = {name: value for name, value in source.options.items() if name.lower() in _LISTING}
    reader = spark.readStream.format("binaryFile").schema(_BINARY_FILE).options(**options)
    columns = [F.col(PATH)]
    if latest is not None:
        columns.append(latest.alias(LATEST))
    return reader.load(source.path).select(*columns)


def _on_this_disk(path: str) -> bool:
    if _NO_PLAIN_FOLDER.search(path):
        return False
    if path.startswith("file:") or not _SCHEME.match(path):
        folder = Path("/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path)
        if "=" in str(folder.absolute()):
            return False
        return not any("=" in below.name for below in folder.glob("*/"))
    return False


def _uses_special_settings(spark: SparkSession) -> bool:
    on = [name for name in _SPECIAL_SETTINGS if str(spark.conf.get(name, "false")).lower() == "true"]
    calendars = {str(spark.conf.get(name, "CORRECTED")).upper() for name in _CALENDARS}
    return bool(on) or calendars != {"CORRECTED"} or not _default_file_system(spark).startswith("file:")


def _default_file_system(spark: SparkSession) -> str:
    """What a path without a scheme is a path of."""
    if is_connected(spark):
        return str(spark.conf.get("spark.hadoop.fs.defaultFS", "file:///"))
    return str(spark._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///"))  # noqa: SLF001


def _opened_alike(kind: DataType) -> bool:
    """Whether Arrow's values of a type are those of Spark, without a doubt."""
    from pyspark.sql import types as T

    alike = (T.StringType, T.BinaryType, T.BooleanType, T.DateType, T.TimestampType, T.DecimalType)
    numbers = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType)
    return type(kind) in (*alike, *numbers)
