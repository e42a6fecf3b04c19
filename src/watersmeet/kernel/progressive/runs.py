"""Rows of a bucket as runs, for a progressive join of real rows.

    memory[side][partition]    runs that new rows of the other side look into
    disk[side][partition]      runs that only scans and merges look into

Both are durable in the same way and lie in files; what makes the difference is which of them are looked into
when rows arrive. So a run leaves memory without being written again. Two more columns of every run have the
stamps at which its rows came and left; where all left together, the stamp is kept beside the run. A partition
is a range of hashes, so the runs of one never meet those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.grouping import in_groups
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.progressive.history import NEVER, History
from watersmeet.kernel.progressive.store import DiskRun
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows, Run, concat_rows, replace_columns, rows_of
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan.plan import FOREVER_US

# Of a row beside its columns and the bytes of its key: two stamps, the time, and for a key that no other row
# has its hash, its first row, where its bytes are, and four slots of the directory.
_ROW_BYTES = 8 * 2 + 8 + (8 + 8 + 8 + 4 * 4)

STAMPS = pa.schema([("__came", pa.int64()), ("__left", pa.int64())])


@dataclass(frozen=True, slots=True)
class Unseen:
    """A condition: the pair was not found before.

    Attributes:
        positions: By side, where the stamp columns are.
        history: What was found.
    """

    positions: tuple[tuple[int, int], tuple[int, int]]
    history: History

    def holds(self, rows: Combinations) -> Any:
        """A mask of the pairs to keep."""
        stamps = [
            [column.to_numpy() for column in rows.columns(side, self.positions[side])] for side in (0, 1)
        ]
        return ~self.history.seen([came for came, _ in stamps], [left for _, left in stamps])


@dataclass(slots=True)
class RunStore:
    """The rows of one bucket.

    Attributes:
        pairs: Finds pairs between runs, with all conditions of the query; its own windows stay empty.
        columns: How many columns each side stores, without the stamps.
        bits: Leading bits of a hash that say which partition a row is of.
        new_id: Names for new runs.
        put_away: Called with a side and a run of it that has left memory; returns one that is not held there.
        left: When the rows of a run left memory, for those that left together; by the name of the run.
        most_open: How many rows of runs may be looked into before those on disk are closed.
        close_disk: Called to close the runs on disk.
    """

    pairs: MultiwayJoin
    columns: tuple[int, int]
    bits: int
    new_id: Callable[[], str]
    put_away: Callable[[int, StoredRun], StoredRun] = lambda _side, stored: stored
    left: dict[str, int] = field(default_factory=dict)
    most_open: int = 1 << 62
    close_disk: Callable[[], None] = lambda: None
    _open: dict[str, int] = field(default_factory=dict)
    memory: tuple[list[StoredWindow], list[StoredWindow]] = field(init=False)
    disk: tuple[list[StoredWindow], list[StoredWindow]] = field(init=False)

    def __post_init__(self) -> None:
        """Nothing has come yet."""
        self.memory, self.disk = (([], []), ([], []))
        for side in (0, 1):
            for _ in range(1 << self.bits):
                self.memory[side].append(StoredWindow(FOREVER_US, 1, self.new_id))
                self.disk[side].append(StoredWindow(FOREVER_US, 1, self.new_id))

    @property
    def windows(self) -> list[StoredWindow]:
        """All that has to be kept: memory of the first side, of the second, then their disks."""
        return [*self.memory[0], *self.memory[1], *self.disk[0], *self.disk[1]]

    @property
    def bytes_in_memory(self) -> int:
        """What the runs in memory take."""
        return sum(self.held(side)[1] for side in (0, 1))

    def held(self, side: int) -> tuple[int, int]:
        """Rows and bytes of a side in memory."""
        return _rows_and_bytes(self.memory[side])

    def stored(self, side: int) -> tuple[int, int]:
        """Rows and bytes of a side, in memory and on disk."""
        return _rows_and_bytes([*self.memory[side], *self.disk[side]])

    def arrive(self, side: int, rows: Rows, stamp: int) -> tuple[Any, Iterator[Results]]:
        """Take new rows into memory, and pair them with rows of the other side there."""
        homes = self._partitions(rows.keys.hashes)
        counts = np.bincount(homes, minlength=1 << self.bits)
        fresh = {}
        for partition in np.flatnonzero(counts).tolist():
            mine = rows.take(np.flatnonzero(homes == partition))
            stamped = with_stamps(mine, np.full(len(mine), stamp), np.full(len(mine), NEVER))
            fresh[partition] = self.memory[side][partition].keep(stamped)
        return counts, self._meeting(side, fresh)

    def resident(self, side: int, partition: int) -> list[tuple[int, StoredRun]]:
        """What is in memory of a partition."""
        return [(stored.rows, stored) for stored in self.memory[side][partition].runs]

    def evict(
        self, side: int, partition: int, count: int, stamp: int
    ) -> tuple[list[tuple[int, StoredRun]], Any]:
        """Let the oldest runs of a partition leave memory, until enough rows have gone."""
        window = self.memory[side][partition]
        going: list[StoredRun] = []
        while sum(stored.rows for stored in going) < count:
            going.append(window.runs[len(going)])
        came = np.concatenate([stored.run.columns.column(STAMPS.names[0]).to_numpy() for stored in going])
        window.take_out(going)
        gone = [self._to_disk(side, partition, stored, stamp) for stored in going]
        return [(stored.rows, stored) for stored in gone], came

    def scan(
        self, side: int, partition: int, disk: Sequence[DiskRun], _stamp: int, history: History
    ) -> Iterator[Results]:
        """Unseen pairs of a side's rows in memory with runs of the other side."""
        handles = [run.handle for run in disk]
        return self._found(side, self.memory[side][partition].runs, handles, history)

    def read(self, runs: Sequence[DiskRun]) -> None:
        """Runs are mapped as they are looked into."""

    def join(
        self, _partition: int, one: DiskRun, others: Sequence[DiskRun], history: History
    ) -> Iterator[Results]:
        """Unseen pairs of a run with some of the other side; the fewer rows are looked up in the more."""
        theirs = [other.handle for other in others]
        if one.rows <= sum(other.rows for other in others):
            return self._found(0, [one.handle], theirs, history)
        return self._found(1, theirs, [one.handle], history)

    def merge(self, side: int, partition: int, runs: Sequence[DiskRun]) -> StoredRun:
        """One run in place of several."""
        handles = [run.handle for run in runs]
        rows = concat_rows([rows_of(stored.run) for stored in handles])
        window = self.disk[side][partition]
        window.take_out(handles)
        for stored in handles:
            self.left.pop(stored.id, None)
        merged = window.keep(rows)
        return window.swap(merged, self.put_away(side, merged))

    def restore(self, left: dict[str, int]) -> None:
        """The windows have been given their runs; some of these left memory together."""
        self.left = left
        for windows in self.disk:
            for window in windows:
                window.runs = [
                    _left_at(stored, left[stored.id]) if stored.id in left else stored
                    for stored in window.runs
                ]

    def drop_all(self) -> None:
        """Forget every row."""
        self.left = {}
        for window in self.windows:
            window.take_out(list(window.runs))

    def compact(self) -> None:
        """Merge small runs in memory."""
        for side in (0, 1):
            for window in self.memory[side]:
                window.compact()

    def _meeting(self, side: int, fresh: dict[int, StoredRun]) -> Iterator[Results]:
        for partition, head in fresh.items():
            yield from self._found(side, [head], self.memory[1 - side][partition].runs, None)

    def _found(
        self, side: int, heads: Sequence[StoredRun], others: Sequence[StoredRun], history: History | None
    ) -> Iterator[Results]:
        """Pairs of some runs with others that were not found before; no history while rows first meet."""
        first, second = self.columns
        positions = (first, first + 1), (second, second + 1)
        also = () if history is None else (Unseen(positions, history),)
        for group in in_groups(others, (lambda stored: stored.rows, self.most_open)):
            self._look_into([*heads, *group])
            visible = (list(heads), group) if side == 0 else (group, list(heads))
            yield from self.pairs.results(side, visible, also=also)

    def _look_into(self, runs: Sequence[StoredRun]) -> None:
        """An open run takes memory for the directory of its keys: make room for these."""
        opening = {stored.id: stored.rows for stored in runs}
        if sum((self._open | opening).values()) > self.most_open:
            self.close_disk()
            self._open = {}
        self._open |= opening

    def _to_disk(self, side: int, partition: int, stored: StoredRun, stamp: int) -> StoredRun:
        self.left[stored.id] = stamp
        gone = _left_at(self.put_away(side, stored), stamp)
        self.disk[side][partition].take_in(gone)
        return gone

    def _partitions(self, hashes: Any) -> Any:
        return (
            (hashes >> np.uint64(64 - self.bits)).astype(np.int64)
            if self.bits
            else np.zeros(len(hashes), int)
        )


def _rows_and_bytes(windows: Sequence[StoredWindow]) -> tuple[int, int]:
    runs = [stored for window in windows for stored in window.runs]
    return sum(stored.rows for stored in runs), sum(stored.size for stored in runs)


def with_stamps(rows: Rows, came: Any, left: Any) -> Rows:
    """Rows with two more columns."""
    columns = [*rows.columns.columns, pa.array(came, pa.int64()), pa.array(left, pa.int64())]
    names = [*rows.columns.schema.names, *STAMPS.names]
    return Rows(rows.keys, rows.times, pa.record_batch(columns, names), rows.ends)


def _left_at(stored: StoredRun, stamp: int) -> StoredRun:
    """A run whose rows left memory together; so says their column when it is opened."""
    return replace(stored, open=partial(_open_left, stored.open, stamp))


def _open_left(opened: Callable[[], Run], stamp: int) -> Run:
    run = opened()
    left = pa.array(np.full(run.rows, stamp), pa.int64())
    place = run.columns.num_columns - 1
    return replace_columns(run, run.columns.set_column(place, STAMPS.names[1], left))


def bytes_in_memory(rows: Rows) -> int:
    """What rows take in memory as a run: columns, stamps, time, key, and its place in the directory."""
    keys = 0 if rows.keys.encoded is None else rows.keys.encoded.data.nbytes
    return int(rows.columns.nbytes + keys + len(rows) * _ROW_BYTES)
