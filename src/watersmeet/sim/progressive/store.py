"""Rows with whole numbers as keys, in memory and on a disk whose pages take time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from watersmeet.cost.progressive import DiskPart, PageTimes, md_seconds
from watersmeet.kernel.progressive.history import NEVER, History
from watersmeet.kernel.progressive.store import DiskRun


@dataclass(frozen=True, slots=True)
class KeyRows:
    """Rows of one side: keys from zero on, and numbers to know the rows by."""

    keys: Any
    numbers: Any

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.keys)

    def __getitem__(self, some: Any) -> KeyRows:
        """Some of the rows."""
        return KeyRows(self.keys[some], self.numbers[some])


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows in memory or on disk, with the stamps at which they came and left."""

    rows: KeyRows
    came: Any
    left: Any

    def __getitem__(self, some: Any) -> Kept:
        """Some of the rows."""
        return Kept(self.rows[some], self.came[some], self.left[some])


@dataclass(frozen=True, slots=True)
class Found:
    """Results: how many, and which rows of the two sides unless only counts are wanted."""

    count: int
    pairs: tuple[Any, Any] | None = None


@dataclass(frozen=True, slots=True)
class _ByRun:
    """Results with several runs: where those of each begin and end, and the rows of all."""

    bounds: list[int]
    pairs: tuple[Any, Any] | None

    def found(self, place: int) -> Iterator[Found]:
        """Those with one run, if any."""
        begin, end = self.bounds[place], self.bounds[place + 1]
        if begin == end:
            return
        if self.pairs is None:
            yield Found(end - begin)
        else:
            yield Found(end - begin, (self.pairs[0][begin:end], self.pairs[1][begin:end]))


# A table of rows in memory has lines for keys, numbers, stamps and partitions; rows that left are in none.
_CAME, _PARTITION = 2, 3
_GONE = -1


@dataclass(slots=True)
class _Memory:
    """Rows of one side in memory, in the order they came, with gaps where some have left."""

    table: Any = field(default_factory=lambda: np.empty((4, 0), np.int64))
    used: int = 0

    def add(self, rows: KeyRows, partitions: Any, stamp: int) -> None:
        """Rows come."""
        if self.used + len(rows) > self.table.shape[1]:
            staying = self.table[:, : self.used][:, self.table[_PARTITION, : self.used] != _GONE]
            self.used = staying.shape[1]
            self.table = np.empty((4, 2 * (self.used + len(rows))), np.int64)
            self.table[:, : self.used] = staying
        new = slice(self.used, self.used + len(rows))
        for line, values in enumerate((rows.keys, rows.numbers, stamp, partitions)):
            self.table[line, new] = values
        self.used = new.stop

    def find(self, partition: int, after: int = -1) -> Any:
        """Where rows of a partition are that came after a stamp, the oldest first."""
        first = int(np.searchsorted(self.table[_CAME, : self.used], after, side="right"))
        return first + np.flatnonzero(self.table[_PARTITION, first : self.used] == partition)

    def get(self, places: Any) -> Kept:
        """The rows at some places."""
        keys, numbers, came = self.table[:_PARTITION, places]
        return Kept(KeyRows(keys, numbers), came, np.full(len(keys), NEVER))

    def remove(self, places: Any) -> None:
        """They leave."""
        self.table[_PARTITION, places] = _GONE


@dataclass(slots=True)
class SimulatedStore:
    """Where the rows of a simulated join are.

    Attributes:
        partitions: Keys are spread over them by the remainder, H(t) = A mod np.
        keys: How many keys there are.
        page_rows: Rows on a page.
        times: What a page takes.
        counting: Count results without naming their rows, which is much faster.
        spent: Seconds the disk has worked.
    """

    partitions: int
    keys: int
    page_rows: int = 102
    times: PageTimes = field(default_factory=PageTimes)
    counting: bool = False
    spent: float = 0.0
    _memory: tuple[_Memory, _Memory] = field(default_factory=lambda: (_Memory(), _Memory()))
    # How many rows in memory a key has, by side.
    _having: Any = field(init=False)

    def __post_init__(self) -> None:
        """Nothing has come yet."""
        self._having = np.zeros((2, self.keys), np.int64)

    def arrive(self, side: int, rows: KeyRows, stamp: int) -> tuple[Any, Iterator[Found]]:
        """Take new rows into memory, and pair them with rows of the other side there."""
        partitions = rows.keys % self.partitions
        self._memory[side].add(rows, partitions, stamp)
        np.add.at(self._having[side], rows.keys, 1)
        return np.bincount(partitions, minlength=self.partitions), self._meet(side, rows, partitions)

    def resident(self, side: int, partition: int) -> list[tuple[int, Kept]]:
        """What is in memory of a partition."""
        memory = self._memory[side]
        places = memory.find(partition)
        return [(len(places), memory.get(places))] if len(places) else []

    def evict(self, side: int, partition: int, count: int, stamp: int) -> tuple[list[tuple[int, Kept]], Any]:
        """Write the oldest rows of a partition as a run."""
        memory = self._memory[side]
        places = memory.find(partition)[:count]
        going = memory.get(places)
        memory.remove(places)
        np.subtract.at(self._having[side], going.rows.keys, 1)
        self.spent += md_seconds(DiskPart(1, self._pages(len(places))), self.times)
        run = _sorted(Kept(going.rows, going.came, np.full(len(places), stamp)))
        return [(len(places), run)], going.came

    def scan(
        self, side: int, partition: int, disk: Sequence[DiskRun], _stamp: int, history: History
    ) -> Iterator[Found]:
        """Unseen pairs of a side's rows in memory with runs of the other side."""
        memory = self._memory[side]
        # Older rows met all that was on disk in the last scan, and all that has gone there since in memory.
        mine = memory.get(memory.find(partition, after=(history.scans[side] or [-1])[-1]))
        every, begun, pages = self._unseen(side, mine, disk, history), self.spent, 0
        for place, run in enumerate(disk):
            pages += self._pages(run.rows)
            for found in every.found(place):
                self.spent = begun + md_seconds(DiskPart(place + 1, pages), self.times)
                yield found
        self.spent = begun + md_seconds(DiskPart(len(disk), pages), self.times)

    def read(self, runs: Sequence[DiskRun]) -> None:
        """Pages of several runs are read by turns, so the arm moves for each."""
        self.spent += sum(self._pages(run.rows) for run in runs) * self.times.random

    def join(
        self, _partition: int, one: DiskRun, others: Sequence[DiskRun], history: History
    ) -> Iterator[Found]:
        """Unseen pairs of a run with some of the other side."""
        every = self._unseen(0, one.handle, others, history)
        for place in range(len(others)):
            yield from every.found(place)

    def merge(self, _side: int, _partition: int, runs: Sequence[DiskRun]) -> Kept:
        """One run in place of several."""
        merged = _sorted(_together([run.handle for run in runs]))
        self.spent += self._pages(len(merged.came)) * self.times.random
        return merged

    def _pages(self, rows: int) -> int:
        return -(-rows // self.page_rows)

    def _meet(self, side: int, rows: KeyRows, partitions: Any) -> Iterator[Found]:
        if self.counting:
            yield Found(int(self._having[1 - side, rows.keys].sum()))
            return
        memory = self._memory[1 - side]
        for partition in np.unique(partitions).tolist():
            mine, theirs = rows[partitions == partition], memory.get(memory.find(partition)).rows
            one, other = _matches(mine.keys, theirs.keys, self.keys)
            yield Found(len(one), _by_side(side, mine.numbers[one], theirs.numbers[other]))

    def _unseen(self, side: int, mine: Kept, runs: Sequence[DiskRun], history: History) -> _ByRun:
        """Pairs of a side's rows with some runs of the other that nobody has found."""
        theirs = _together([run.handle for run in runs])
        other, one = _matches(theirs.rows.keys, mine.rows.keys, self.keys)
        new = ~history.seen(
            _by_side(side, mine.came[one], theirs.came[other]),
            _by_side(side, mine.left[one], theirs.left[other]),
        )
        one, other = one[new], other[new]
        bounds = [0, *np.searchsorted(other, np.cumsum([run.rows for run in runs])).tolist()]
        if self.counting:
            return _ByRun(bounds, None)
        return _ByRun(bounds, _by_side(side, mine.rows.numbers[one], theirs.rows.numbers[other]))


def _by_side(side: int, mine: Any, theirs: Any) -> tuple[Any, Any]:
    """What belongs to the first side first."""
    return (mine, theirs) if side == 0 else (theirs, mine)


def _together(parts: Sequence[Kept]) -> Kept:
    if not parts:
        none = np.zeros(0, np.int64)
        return Kept(KeyRows(none, none), none, none)
    return Kept(
        KeyRows(
            np.concatenate([part.rows.keys for part in parts]),
            np.concatenate([part.rows.numbers for part in parts]),
        ),
        np.concatenate([part.came for part in parts]),
        np.concatenate([part.left for part in parts]),
    )


def _sorted(kept: Kept) -> Kept:
    return kept[np.argsort(kept.rows.keys, kind="stable")]


def _matches(one: Any, other: Any, keys: int) -> tuple[Any, Any]:
    """Positions in two arrays that hold the same key: every pair of them, in the order of the first."""
    order = np.argsort(other, kind="stable")
    having = np.bincount(other, minlength=keys)
    counts = having[one]
    first = (np.cumsum(having) - having)[one]
    mine = np.repeat(np.arange(len(one)), counts)
    offsets = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    return mine, order[first[mine] + offsets]
