"""Files that a worker opens itself: from the paths of a batch to rows as Spark would have given them.

    (path, latest)  ->  c0, c1, ... [, believed] [, wanted]

Names are found as Spark finds them, without regard to case. A column that a file lacks is null. A column of
another type is taken only where each of its values is one of the wanted type too; Spark's own reader is
there for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from watersmeet.errors import UnreadableFile
from watersmeet.kernel.evaluate import where_true
from watersmeet.query.expression import Expression
from watersmeet.spark.host.computed import Computed

# Rows that are read at a time.
_ROWS = 1 << 17
# Spark's names for files whose dates follow another calendar.
_OLD_CALENDARS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
# Which version of Spark wrote a file. Before the first of these dates followed that calendar without a word,
# before the second timestamps of the old kind.
_WRITTEN_BY = b"org.apache.spark.version"
_NEW_DATES, _NEW_INT96 = b"3.0.0", b"3.1.0"
_INSTANT = pa.timestamp("us", tz="UTC")
_HINT = (
    "read this folder with spark.readStream instead of wm.files, in a job file with "
    "options = { mergeSchema = false }: Spark's own reader knows more kinds of files."
)


@dataclass(frozen=True)
class FileColumns:
    """What is wanted of every file.

    Attributes:
        columns: The names and types of those that are read.
        packed: What is packed: the places of columns, or what is computed from them.
        time: Which column is the time, if not every time is believed; None believes all.
        condition: What the rows of this stream have to fulfil; None wants all.
    """

    columns: tuple[tuple[str, pa.DataType], ...]
    packed: tuple[int | Computed, ...]
    time: int | None = None
    condition: Expression | None = None

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of all files that are listed, file by file."""
        for batch in batches:
            latest = batch.column(1).to_pylist() if batch.num_columns > 1 else [None] * batch.num_rows
            for path, until in zip(batch.column(0).to_pylist(), latest, strict=True):
                yield from _rows_of(local_path(path), self, until)


def _rows_of(path: str, wanted: FileColumns, until: int | None) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path, memory_map=True, coerce_int96_timestamp_unit="us") as file:
            _refuse_old_calendar(path, file)
            refuse_values_in_folders(path)
            found = _found(path, file, wanted)
            names = [name for name in found if name is not None]
            int96 = {name for name in names if _physical_type(file, name) == "INT96"}
            if not names:
                yield from _without_columns(file.metadata.num_rows, wanted, until)
                return
            for batch in file.iter_batches(_ROWS, columns=list(dict.fromkeys(names)), use_threads=False):
                columns = [
                    pa.nulls(batch.num_rows, kind)
                    if name is None
                    else _converted(path, name, batch.column(name), kind, instant=name in int96)
                    for name, (_, kind) in zip(found, wanted.columns, strict=True)
                ]
                yield _prepared(columns, wanted, until)
    except (OSError, pa.ArrowException) as error:
        raise UnreadableFile(
            f"the file {path} cannot be read",
            f"{error}.",
            "see whether it is whole and of the format that was said. New files must appear whole, by a "
            "rename.",
        ) from None


def _prepared(columns: list[pa.Array], wanted: FileColumns, until: int | None) -> pa.RecordBatch:
    named = {name: column for (name, _), column in zip(wanted.columns, columns, strict=True)}
    passes = None if wanted.condition is None else judged(wanted.condition, named)
    prepared = {
        f"c{number}": columns[one] if isinstance(one, int) else one.values(named, passes)
        for number, one in enumerate(wanted.packed)
    }
    if wanted.time is not None:
        prepared["believed"] = pc.less_equal(columns[wanted.time], pa.scalar(until, _INSTANT))
    if passes is not None:
        prepared["wanted"] = passes
    return pa.record_batch(prepared)


def judged(condition: Expression, columns: Mapping[str, pa.Array]) -> pa.Array:
    """For which rows of a stream a condition on it is true; its columns by their names."""
    rows = len(next(iter(columns.values())))
    return pa.array(where_true(condition, lambda field: columns[field.column], rows))


def _without_columns(rows: int, wanted: FileColumns, until: int | None) -> Iterator[pa.RecordBatch]:
    yield _prepared([pa.nulls(rows, kind) for _, kind in wanted.columns], wanted, until)


def _found(path: str, file: pq.ParquetFile, wanted: FileColumns) -> list[str | None]:
    """The column of a file for every one that is wanted; None where it has none."""
    names = file.schema_arrow.names
    by_lower: dict[str, list[str]] = {}
    for name in names:
        by_lower.setdefault(name.lower(), []).append(name)
    found: list[str | None] = []
    for name, _ in wanted.columns:
        same = by_lower.get(name.lower(), [])
        if len(same) > 1:
            raise UnreadableFile(
                f"column {name} of the file {path} is ambiguous",
                f"it has {', '.join(same)}, which differ in case alone.",
                "write the files with names that differ.",
            )
        found.append(same[0] if same else None)
    return found


def _converted(path: str, name: str, column: pa.Array, kind: pa.DataType, *, instant: bool) -> Any:
    if isinstance(column.type, pa.BaseExtensionType):
        # A kind of text or bytes that Arrow has a name for, such as JSON.
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    have = column.type
    if have == kind:
        return column
    if instant and kind == _INSTANT:
        # These old timestamps are instants, though they do not say so.
        return column.cast(pa.timestamp("us")).cast(_INSTANT)
    if pa.types.is_timestamp(have) and have.tz is None and kind == _INSTANT and _widens(have, kind):
        return column.cast(pa.timestamp("us")).cast(_INSTANT)
    if _widens(have, kind):
        return column.cast(kind)
    if _same_bytes(have, kind):
        # As they are: also Spark does not look whether a text is one.
        return column.view(kind)
    raise UnreadableFile(
        f"column {name} of the file {path} has another type", f"it is {have}, and should be {kind}.", _HINT
    )


def _widens(have: pa.DataType, kind: pa.DataType) -> bool:
    """Whether every value of a type is one of the other too."""
    types = pa.types
    if types.is_null(have):
        # What pandas writes of a column without a single value.
        return True
    if types.is_integer(have) and types.is_signed_integer(kind):
        return bool(have.bit_width < kind.bit_width)
    if types.is_timestamp(have) and kind == _INSTANT:
        # Spark takes times without a zone for those of UTC.
        return have.unit in ("s", "ms", "us")
    if types.is_decimal(have) and types.is_decimal(kind):
        whole = kind.precision - kind.scale >= have.precision - have.scale
        return bool(whole and kind.scale >= have.scale)
    return bool(
        (types.is_float32(have) and types.is_float64(kind))
        or (types.is_integer(have) and have.bit_width <= 32 and types.is_float64(kind))
        or ((types.is_large_string(have) or types.is_string_view(have)) and types.is_string(kind))
        or ((types.is_large_binary(have) or types.is_binary_view(have)) and types.is_binary(kind))
        or (types.is_fixed_size_binary(have) and types.is_binary(kind))
    )


def _same_bytes(have: pa.DataType, kind: pa.DataType) -> bool:
    """Some writers do not say which bytes are texts."""
    kinds = {pa.string(), pa.binary()}
    return have in kinds and kind in kinds


def _physical_type(file: pq.ParquetFile, name: str) -> str:
    schema = file.schema
    places = (n for n in range(len(schema)) if schema.column(n).path == name)
    place = next(places, None)
    return "" if place is None else str(schema.column(place).physical_type)


def _refuse_old_calendar(path: str, file: pq.ParquetFile) -> None:
    said = file.metadata.metadata or {}
    columns = (file.schema.column(number) for number in range(len(file.schema)))
    since = _NEW_INT96 if any(one.physical_type == "INT96" for one in columns) else _NEW_DATES
    if any(name in said for name in _OLD_CALENDARS) or said.get(_WRITTEN_BY, since) < since:
        raise UnreadableFile(
            f"the file {path} has dates of an older calendar", "an early version of Spark wrote it.", _HINT
        )


def refuse_values_in_folders(path: str) -> None:
    """Raise where the name of a folder has a value: Spark's reader makes a column of it."""
    if "=" in path.rsplit("/", 1)[0]:
        raise UnreadableFile(
            f"the file {path} lies in a folder whose name has the value of a column",
            "there was no such folder when the query was built.",
            _HINT,
        )


def local_path(path: str) -> str:
    """From Hadoop's way to write it."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path
