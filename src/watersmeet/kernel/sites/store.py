"""Rows in the order they came, found by key.

Rows lie in chunks, numbered one after the other; a chunk is never changed. Neighbouring chunks of about one
size are merged, so that there are few of them however many batches come, as long as they cover a short
time: a chunk goes when all its rows have ended. Every part that looks rows up may do so by other columns,
so a chunk has an index for each set of columns that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.grid import cell_hashes, cells
from watersmeet.kernel.keys import Keys, same_keys
from watersmeet.kernel.sites.packet import chosen, ends, keys_of, times
from watersmeet.plan.sites.step import column_name
from watersmeet.query.number_band import NumberBand

# A window is held in at least so many chunks, so that at most this part of it is dead weight.
_CHUNKS_PER_WINDOW = 12
# Chunks are merged when the older one is less than this many times as large.
_ALIKE = 2
# More rows than any window holds.
_MANY = 1 << 62


@dataclass(slots=True)
class Chunk:
    """Rows side by side.

    Attributes:
        first: The number of its first row.
        rows: The rows.
        since: When the first of them came alive.
        latest: When the last of them did.
        until: The last instant at which one of them is alive.
    """

    first: int
    rows: pa.RecordBatch
    since: int
    latest: int
    until: int
    _indexes: dict[tuple[str, ...] | NumberBand, tuple[Keys, Any, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Unlike any other chunk's of its store."""
        return f"{self.first}+{self.rows.num_rows}"

    def index(self, by: tuple[str, ...] | NumberBand) -> tuple[Keys, Any, Any]:
        """The keys of the rows, the rows in the order of their hashes, and the hashes in order.

        Keys are made of columns, or of the cells of numbers that others are to be near to.
        """
        found = self._indexes.get(by)
        if found is None:
            if isinstance(by, NumberBand):
                values = self.rows.column(column_name(by.right.stream, by.right.column))
                keys = Keys(cell_hashes(cells(by, values, left=False)), None)
            else:
                keys = keys_of(self.rows, by)
            order = np.argsort(keys.hashes, kind="stable")
            found = self._indexes[by] = keys, order, keys.hashes[order]
        return found


@dataclass(slots=True)
class Store:
    """Rows that wait for others.

    Attributes:
        reach: How long a row lives that does not say it itself, microseconds.
        most_rows: How many rows are of use at a time, where their number limits it.
        chunks: The rows.
        count: How many rows ever came.
    """

    reach: int
    most_rows: int = _MANY
    chunks: list[Chunk] = field(default_factory=list)
    count: int = 0

    @property
    def rows(self) -> int:
        """How many rows are held."""
        return sum(chunk.rows.num_rows for chunk in self.chunks)

    def insert(self, rows: pa.RecordBatch) -> int:
        """Add rows; returns the number of the first."""
        first = self.count
        if rows.num_rows:
            self.chunks.append(self._chunk(first, rows))
            self.count += rows.num_rows
            self._merge()
        return first

    def _merge(self) -> None:
        while len(self.chunks) > 1:
            older, newer = self.chunks[-2:]
            adjacent = older.first + older.rows.num_rows == newer.first
            alike = older.rows.num_rows < _ALIKE * newer.rows.num_rows
            span, rows = newer.latest - older.since, older.rows.num_rows + newer.rows.num_rows
            short = span * _CHUNKS_PER_WINDOW <= self.reach and rows * _CHUNKS_PER_WINDOW <= self.most_rows
            if not (adjacent and alike and short):
                return
            self.chunks[-2:] = [self._chunk(older.first, pa.concat_batches([older.rows, newer.rows]))]

    def expire(self, watermark: int) -> None:
        """Drop the chunks in which no row is alive after a watermark."""
        self.chunks = [chunk for chunk in self.chunks if chunk.until > watermark]

    def remove(self, before: int) -> None:
        """Drop just the rows that end before a time, even where their chunk stays."""
        kept: list[Chunk] = []
        for chunk in self.chunks:
            alive = ends(chunk.rows, self.reach) >= before
            if alive.all():
                kept.append(chunk)
                continue
            # Runs of rows that stay become chunks of their own, so that all keep their numbers.
            edges = np.flatnonzero(np.diff(alive, prepend=False, append=False)).reshape(-1, 2)
            for begin, end in edges.tolist():
                kept.append(self._chunk(chunk.first + begin, chosen(chunk.rows, np.arange(begin, end))))
        self.chunks = kept

    def drop_before(self, time: int) -> None:
        """Drop the chunks whose rows all come alive before a time."""
        self.chunks = [chunk for chunk in self.chunks if chunk.latest >= time]

    def matches(self, keys: Keys, by: tuple[str, ...] | NumberBand) -> Iterator[tuple[Chunk, Any, Any]]:
        """Per chunk which of some keys meet which of its rows: pairs of numbers, as two arrays."""
        # Looked up in order, neighbours are found near each other: several times faster than at random.
        sequence = np.argsort(keys.hashes)
        wanted = keys.hashes[sequence]
        for chunk in self.chunks:
            held, order, hashes = chunk.index(by)
            low = np.searchsorted(hashes, wanted)
            found = np.flatnonzero(hashes[np.minimum(low, len(hashes) - 1)] == wanted)
            if not len(found):
                continue
            low = low[found]
            counts = np.searchsorted(hashes, wanted[found], "right") - low
            asked = np.repeat(sequence[found], counts)
            # 0, 1, 2 .. within the rows of each key, from where these begin.
            within = np.arange(len(asked)) - np.repeat(np.cumsum(counts) - counts, counts)
            rows = order[np.repeat(low, counts) + within]
            if keys.encoded is not None:
                same = same_keys(keys.take(asked), held.take(rows))
                asked, rows = asked[same], rows[same]
            if len(rows):
                yield chunk, asked, rows

    def numbered(self, numbers: Any) -> pa.RecordBatch | None:
        """The rows with these numbers, in the order they came; None if none of them is held."""
        found = []
        for chunk in self.chunks:
            mine = numbers[(numbers >= chunk.first) & (numbers < chunk.first + chunk.rows.num_rows)]
            if len(mine):
                found.append(chunk.rows.take(pa.array(np.sort(mine) - chunk.first)))
        return pa.concat_batches(found) if found else None

    def save(self, name: str) -> dict[str, Any]:
        """What to keep, under names that begin with this one."""
        kept: dict[str, Any] = {f"{name}/{chunk.name}": chunk.rows for chunk in self.chunks}
        return kept | {name: ([(chunk.first, chunk.rows.num_rows) for chunk in self.chunks], self.count)}

    def restore(self, name: str, kept: dict[str, Any]) -> None:
        """Take back what was kept."""
        places, self.count = kept[name]
        self.chunks = []
        for first, size in places:
            rows = kept[f"{name}/{first}+{size}"]
            self.chunks.append(self._chunk(first, rows))

    def _chunk(self, first: int, rows: pa.RecordBatch) -> Chunk:
        starts = times(rows)
        return Chunk(first, rows, int(starts.min()), int(starts.max()), int(ends(rows, self.reach).max()))
