"""Streams replayed from files: CSV or Parquet, read a piece at a time.

A row arrives when the newest row before it has: the order of the file is the order of arrival. What is known
about a file for planning is counted beforehand, in one pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from watersmeet.errors import InvalidSimulation, choices
from watersmeet.query import Column
from watersmeet.sim.link import SECOND
from watersmeet.sim.workload import TIMESTAMP, Times, to_clock

_TYPES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.binary(): "binary",
}
_ENDINGS = (".csv", ".parquet")
_ROWS_AT_A_TIME = 65_536


@dataclass(frozen=True, slots=True)
class Replayed:
    """A stream from a file.

    Attributes:
        path: The file.
        time: The column with the time: a timestamp, or seconds as a number.
        lateness: How late a row may arrive, seconds; later ones are dropped.
    """

    path: Path
    time: str
    lateness: float = 0.0

    def __post_init__(self) -> None:
        """Refuse files that cannot be read."""
        if self.path.suffix not in _ENDINGS:
            raise InvalidSimulation(
                f"cannot replay {self.path.name}", hint=f"valid are files that end in {choices(_ENDINGS)}."
            )
        if not self.path.is_file():
            raise InvalidSimulation(f"there is no file {self.path}")
        names = self.schema().names
        if self.time not in names:
            raise InvalidSimulation(
                f'{self.path.name} has no column "{self.time}"', hint=f"its columns are {choices(names)}."
            )
        kind = self.schema().field(self.time).type
        if not (pa.types.is_timestamp(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise InvalidSimulation(
                f'column "{self.time}" of {self.path.name} is not a time',
                f"its type is {kind}.",
                "give a timestamp, or seconds as a number.",
            )

    def schema(self) -> pa.Schema:
        """The columns of the file."""
        if self.path.suffix == ".parquet":
            return pa.parquet.read_schema(self.path)
        with _csv(self.path) as reader:
            return reader.schema

    def columns(self) -> tuple[Column, ...]:
        """The columns as queries know them; those of other types are left out."""
        found = []
        for one in self.schema():
            if one.name == self.time or pa.types.is_timestamp(one.type):
                found.append(Column(one.name, "timestamp"))
            elif one.type in _TYPES:
                found.append(Column(one.name, _TYPES[one.type]))
        return tuple(found)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a piece at a time, times as timestamps; rows without a time are left out."""
        names = [column.name for column in self.columns()]
        for batch in self._pieces(names):
            place = batch.schema.get_field_index(self.time)
            rows = batch.set_column(place, self.time, _timestamps(batch.column(place)))
            yield rows.filter(rows.column(place).is_valid())

    def _pieces(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self.path.suffix == ".parquet":
            with pa.parquet.ParquetFile(self.path) as file:
                yield from file.iter_batches(_ROWS_AT_A_TIME, columns=names)
        else:
            with _csv(self.path) as reader:
                for batch in reader:
                    yield batch.select(names)

    def source(self, epoch: int, duration: int | None = None) -> ReplayedSource:
        """Its rows.

        Args:
            epoch: When the simulated clock starts, microseconds since 1970.
            duration: When to stop, microseconds of the simulated clock; None replays the whole file.
        """
        return ReplayedSource(self, epoch, duration)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known about a file.

    Attributes:
        rows: How many rows it has.
        first: The earliest time, microseconds since 1970.
        last: The latest.
        row_bytes: Bytes per row.
        values: Per column how often each value occurs.
    """

    rows: int
    first: int
    last: int
    row_bytes: float
    values: dict[str, Counter[Any]]

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows * SECOND / max(1, self.last - self.first)


def profile(replayed: Replayed, keys: Sequence[str]) -> Profile:
    """Read a file once and count."""
    rows, size, first, last = 0, 0, 1 << 62, -(1 << 62)
    values: dict[str, Counter[Any]] = {key: Counter() for key in keys}
    for batch in replayed.batches():
        if not batch.num_rows:
            continue
        times = to_clock(batch.column(replayed.time), 0)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        first, last = min(first, int(times.min())), max(last, int(times.max()))
        for key, counter in values.items():
            for found in pc.value_counts(batch.column(key)).to_pylist():
                if found["values"] is not None:
                    counter[found["values"]] += found["counts"]
    if not rows:
        raise InvalidSimulation(f"{replayed.path.name} has no row with a time")
    return Profile(rows, first, last, size / rows, values)


@dataclass(slots=True)
class ReplayedSource:
    """The rows of a file, up to where somebody has asked for them."""

    made_of: Replayed
    epoch: int
    duration: int | None
    ended: bool = False
    _newest: int = -(1 << 62)
    _pieces: Iterator[pa.RecordBatch] = field(init=False)
    # Rows that were read and have not arrived: when they do, their times and the rows.
    _waiting: tuple[Times, Times, pa.RecordBatch] | None = None

    def __post_init__(self) -> None:
        """Open the file when the first rows are asked for."""
        self._pieces = self.made_of.batches()

    @property
    def lateness(self) -> int:
        """How much later than others of its time a row may arrive, microseconds."""
        return round(self.made_of.lateness * SECOND)

    def due(self, until: int) -> tuple[Times, pa.RecordBatch] | None:
        """The rows that arrive before a time and were not given before, with their own times."""
        end = until if self.duration is None else min(until, self.duration)
        times: list[Times] = []
        rows: list[pa.RecordBatch] = []
        while not self.ended:
            if self._waiting is None:
                self._waiting = self._read()
                self.ended = self._waiting is None
                continue
            coming, known, waiting = self._waiting
            count = int(np.searchsorted(coming, end))
            if count:
                times.append(known[:count])
                rows.append(waiting.slice(0, count))
            left = (coming[count:], known[count:], waiting.slice(count))
            self._waiting = left if len(left[0]) else None
            if self._waiting is not None:
                self.ended = self.duration is not None and until >= self.duration
                break
        return (np.concatenate(times), pa.concat_batches(rows)) if rows else None

    def _read(self) -> tuple[Times, Times, pa.RecordBatch] | None:
        for batch in self._pieces:
            if batch.num_rows:
                times = to_clock(batch.column(self.made_of.time), self.epoch)
                coming = np.maximum.accumulate(np.maximum(times, self._newest))
                self._newest = int(coming[-1])
                return coming, times, batch
        return None


def _csv(path: Path) -> Any:
    return pa.csv.open_csv(path)


def _timestamps(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", tz=column.type.tz)).cast(TIMESTAMP)
    # Rounded, since seconds with a fraction are not exact.
    micros = pc.round(pc.multiply(pc.cast(column, pa.float64()), float(SECOND)))
    return pc.cast(micros, pa.int64()).cast(TIMESTAMP)
