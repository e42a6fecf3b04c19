"""The window of one stream: runs grouped by slice, merged when small ones pile up, dropped when dead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from watersmeet.kernel.keys import Keys
from watersmeet.kernel.run import Run, build_run, merge_runs
from watersmeet.kernel.slices import Slice, cut

# Runs of one slice and about one size are merged when there are this many: every row is rewritten
# log4(slice / batch) times, and a probe meets at most three runs of each size.
_FAN_IN = 4
# Larger runs stay as they are: a column of texts in Arrow holds two gigabytes.
_MERGE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run in a window, with what is needed to place and to drop it without opening it."""

    id: str
    slice: Slice
    rows: int
    earliest: int
    latest: int
    open: Callable[[], Run]

    @property
    def run(self) -> Run:
        """The rows; opening them is the owner's business, and cheap when they are at hand."""
        return self.open()


@dataclass(slots=True)
class Window:
    """The rows of one stream that can still find partners.

    Attributes:
        length: How long a row lives, microseconds.
        slices: How many slices the length is cut into.
        new_id: Names for new runs; the caller's, since a kernel draws no random numbers.
        runs: What is stored now.
        added: Runs stored since the changes were last taken.
        removed: Names of runs that are gone since then.
    """

    length: int
    slices: int
    new_id: Callable[[], str]
    runs: list[StoredRun] = field(default_factory=list)
    added: dict[str, StoredRun] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows are stored."""
        return sum(stored.rows for stored in self.runs)

    def insert(self, keys: Keys, times: Any, columns: pa.RecordBatch) -> list[StoredRun]:
        """Store rows; returns their runs."""
        fresh = []
        for piece, rows in cut(times, self.length, self.slices):
            if len(rows) == len(times):
                run = build_run(keys, times, columns)
            else:
                encoded = None if keys.encoded is None else keys.encoded.take(rows)
                run = build_run(Keys(keys.hashes[rows], encoded), times[rows], columns.take(pa.array(rows)))
            fresh.append(self._store(piece, run))
        return fresh

    def expire(self, watermark: int) -> None:
        """Drop the runs in which no row is alive after the watermark."""
        self._remove([stored for stored in self.runs if stored.latest + self.length <= watermark])

    def next_expiry(self) -> int | None:
        """The watermark at which the next run can go."""
        return min((stored.latest + self.length for stored in self.runs), default=None)

    def compact(self) -> None:
        """Merge runs of one slice where `_FAN_IN` of about one size have come together."""
        while group := self._crowded():
            merged = merge_runs([stored.run for stored in group])
            self._remove(group)
            self._store(group[0].slice, merged)

    def take_changes(self) -> tuple[list[StoredRun], list[str]]:
        """What to persist: runs to put, names to delete."""
        added, removed = list(self.added.values()), self.removed
        self.added, self.removed = {}, []
        return added, removed

    def _store(self, piece: Slice, run: Run) -> StoredRun:
        stored = StoredRun(
            self.new_id(), piece, run.rows, int(run.times.min()), int(run.times.max()), lambda: run
        )
        self.runs.append(stored)
        self.added[stored.id] = stored
        return stored

    def _remove(self, gone: Iterable[StoredRun]) -> None:
        names = {stored.id for stored in gone}
        if not names:
            return
        self.runs = [stored for stored in self.runs if stored.id not in names]
        # A run that came and went between two persists was never written.
        self.removed += [name for name in names if self.added.pop(name, None) is None]

    def _crowded(self) -> list[StoredRun]:
        groups: dict[tuple[Slice, int], list[StoredRun]] = defaultdict(list)
        for stored in self.runs:
            size_class = stored.rows.bit_length() // 2
            group = groups[stored.slice, size_class]
            group.append(stored)
            if len(group) == _FAN_IN:
                if sum(stored.run.columns.nbytes for stored in group) <= _MERGE_BYTES:
                    return group
                group.clear()
        return []
