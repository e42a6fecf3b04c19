"""Files of lines, JSON or CSV, that a worker opens itself.

Two steps, because only Spark can say what an odd line means. The first looks at all lines, hands on those
that are not simple, and each file with its size. Spark decodes what it gets. Packing makes rows of both:

    (path)  ->  (path, size) | (line)  ->  (c0, c1, ..., path, size, latest)  ->  (c0, c1, ...)

In both steps the same lines are simple, since it depends on nothing but the line.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.errors import UnreadableFile
from watersmeet.kernel.simple_lines import LineForm
from watersmeet.query.expression import Expression
from watersmeet.spark.host.computed import Computed
from watersmeet.spark.host.json_bytes import MARK, as_texts
from watersmeet.spark.host.open_files import judged, local_path, refuse_values_in_folders

# So much is read at a time, less where lines have many fields.
_BLOCK_BYTES = 1 << 23
_USUAL_FIELDS = 8
_LONGEST_LINE = 1 << 28
# Spark cuts files of this size.
_LARGE_BYTES = 1 << 27
# From so many simple lines on for each odd one.
_SIMPLE_FOR_EACH_ODD = 3
# The names of files say how they are packed, as for Hadoop.
_PACKED = {".gz": gzip.open, ".bz2": bz2.open}
_OTHERWISE_PACKED = (".deflate", ".snappy", ".lz4", ".zst")
HINT = (
    "read this folder with spark.readStream instead of wm.files, in a job file with "
    'options = { mode = "PERMISSIVE" }: Spark\'s own reader knows more kinds of files.'
)
_SPLIT = pa.schema([("path", pa.string()), ("size", pa.int64()), ("line", pa.binary())])
SPLIT_SCHEMA = "path STRING, size BIGINT, line BINARY"


@dataclass(frozen=True)
class LineFile:
    """How the files of a folder are read.

    Attributes:
        form: How their lines become columns.
        header: Whether the first line has names instead of values.
    """

    form: LineForm
    header: bool = False

    def pays(self, folder: str) -> bool:
        """Whether most lines of a folder are simple, by what its first file begins with; yes without one.

        An odd line comes to Python and goes back to Java, which takes longer than Spark's reader. A large
        file is one piece here; Spark has all cores read pieces of it, unless it is packed.
        """
        try:
            found = (one for one in Path(local_path(folder)).iterdir() if one.is_file())
            path = next(one for one in found if not one.name.startswith((".", "_")))
            if path.suffix not in _PACKED and path.stat().st_size > _LARGE_BYTES:
                return False
            rows, odd = self.split(str(path), next(self.blocks(str(path))))
        except (StopIteration, OSError):
            return True
        except UnreadableFile:
            return False
        return rows >= _SIMPLE_FOR_EACH_ODD * len(odd)

    def split(self, path: str, block: bytes) -> tuple[int, pa.Array]:
        """How many lines are simple, and the others as Spark reads them."""
        rows, odd = self.form.split(block)
        return rows, as_texts(path, odd, HINT) if self.form.separator is None else odd

    def blocks(self, path: str) -> Iterator[bytes]:
        """The lines of a file, some at a time."""
        header = self.header
        # Every line has room for all fields.
        most = max(1, _BLOCK_BYTES * _USUAL_FIELDS // max(_USUAL_FIELDS, len(self.form.fields)))
        for block in _blocks(path, most):
            if not header:
                yield block
            elif rest := _FIRST_LINE.match(block):
                yield block[rest.end() :]
                header = False


# As Java trims lines, those of blanks are none.
_FIRST_LINE = re.compile(rb"[\x00- ]*[^\x00- ][^\r\n]*")


def _blocks(path: str, most_bytes: int) -> Iterator[bytes]:
    """Whole lines, so many bytes at a time, or one line that has more."""
    rest: list[bytes] = []
    size = 0
    try:
        with _open(path) as file:
            if (begin := file.read(len(MARK))) != MARK:
                rest.append(begin)
            while read := file.read(most_bytes):
                # A line that ends in both signs is followed by one of nothing if it is cut between them.
                end = read.rfind(b"\n") + 1 or read.rfind(b"\r") + 1
                if end:
                    yield b"".join([*rest, read[:end]])
                    rest, size = [], 0
                rest.append(read[end:])
                size += len(read) - end
                if size > _LONGEST_LINE:
                    raise UnreadableFile(
                        f"the file {path} has a line of more than {_LONGEST_LINE:,} bytes", "", HINT
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(
            f"the file {path} cannot be read",
            f"{error}.",
            "see whether it is whole and of the format that was said. New files must appear whole, by a "
            "rename.",
        ) from None
    if last := b"".join(rest):
        yield last


def _open(path: str) -> IO[bytes]:
    ending = Path(path).suffix
    if ending in _OTHERWISE_PACKED:
        raise UnreadableFile(f"the file {path} is packed", f"as {ending}.", HINT)
    return _PACKED.get(ending, open)(path, "rb")  # type: ignore[operator,no-any-return]


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise UnreadableFile(
            f"the file {path} cannot be read", f"{error}.", "files of a batch must stay until it is done."
        ) from None


def split(file: LineFile, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of all files that are listed the lines that are not simple, and the files themselves."""
    for batch in batches:
        for listed in batch.column(0).to_pylist():
            path = local_path(listed)
            refuse_values_in_folders(path)
            size, simple = _size(path), 0
            for block in file.blocks(path):
                rows, odd = file.split(path, block)
                simple += rows
                if len(odd):
                    nothing = [pa.nulls(len(odd), field.type) for field in _SPLIT][:2]
                    yield pa.record_batch([*nothing, odd], schema=_SPLIT)
            if simple:
                yield pa.record_batch([[path], [size], pa.nulls(1, pa.binary())], schema=_SPLIT)


@dataclass(frozen=True)
class LineColumns:
    """What is wanted of every line.

    Attributes:
        file: How files are read.
        taken: For every packed column the field it is, or what is computed; None where it is found otherwise.
        time: Which packed column is the time, if not every time is believed; None believes all.
        believed: The column that says so.
        condition: What the rows of this stream have to fulfil; None wants all.
        wanted: The column that says whether they do.
    """

    file: LineFile
    taken: tuple[int | Computed | None, ...]
    time: int | None = None
    believed: int | None = None
    condition: Expression | None = None
    wanted: int | None = None

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of all lines: of a batch, those that Spark has decoded first."""
        known = len(self.taken)
        for batch in batches:
            schema = pa.schema(list(batch.schema)[:known])
            files = batch.column(known).is_valid()
            decoded = batch.filter(pc.invert(files))
            if decoded.num_rows:
                yield decoded.select(list(range(known)))
            listed = batch.filter(files).select(list(range(known, batch.num_columns)))
            for path, size, *latest in zip(*(column.to_pylist() for column in listed.columns), strict=True):
                if (now := _size(path)) != size:
                    raise UnreadableFile(
                        f"the file {path} changes while it is read",
                        f"it had {size:,} bytes, and has {now:,}.",
                        "new files must appear whole, by a rename.",
                    )
                for block in self.file.blocks(path):
                    yield self._rows_of(block, latest[0] if latest else None, schema)

    def _rows_of(self, block: bytes, latest: int | None, schema: pa.Schema) -> pa.RecordBatch:
        found = self.file.form.simple(block)
        rows = len(found[0])
        named = {field.name: one for field, one in zip(self.file.form.fields, found, strict=True)}
        passes = None if self.condition is None else judged(self.condition, named)

        def taken(one: int | Computed | None, kind: pa.DataType) -> pa.Array:
            if one is None:
                return pa.nulls(rows, kind)
            return (found[one] if isinstance(one, int) else one.values(named, passes)).cast(kind)

        columns = [taken(one, kind) for one, kind in zip(self.taken, schema.types, strict=True)]
        if self.time is not None and self.believed is not None:
            until = pa.scalar(latest, pa.int64()).cast(columns[self.time].type)
            columns[self.believed] = pc.less_equal(columns[self.time], until)
        if self.wanted is not None:
            columns[self.wanted] = passes
        return pa.record_batch(columns, schema=schema)
