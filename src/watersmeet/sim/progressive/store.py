"""Rows with whole numbers as keys, in memory and on a disk whose pages take time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
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
    """Rows in memory or on disk, with the ticks at which they came and left."""

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


@dataclass(slots=True)
class SimulatedStore:
    """Where the rows of a simulated join are.

    Attributes:
        partitions: Keys are spread over them by the remainder, H(t) = A mod np.
        keys: How many keys there are.
        page_rows: Rows on a page.
        times: What a page takes.
        counting: Count results in memory without naming their rows, which is much faster.
        spent: Seconds the disk has worked.
    """

    partitions: int
    keys: int
    page_rows: int = 102
    times: PageTimes = field(default_factory=PageTimes)
    counting: bool = False
    spent: float = 0.0
    _memory: list[list[Kept]] = field(init=False)
    # Rows that came since anybody asked for partitions, by side, each block with its tick.
    _lately: tuple[list[tuple[KeyRows, int]], ...] = field(default_factory=lambda: ([], []))
    _having: Any = field(init=False)
    _reading: list[DiskRun] = field(default_factory=list)
    _ahead: dict[tuple[int, int], Found] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing has come yet."""
        self._memory = [[_together([]) for _ in range(self.partitions)] for _ in (0, 1)]
        self._having = np.zeros((2, self.keys), np.int64)

    def arrive(self, side: int, rows: KeyRows, tick: int) -> tuple[Any, Iterator[Found]]:
        """Take new rows into memory, and pair them with rows of the other side there."""
        self._lately[side].append((rows, tick))
        np.add.at(self._having[side], rows.keys, 1)
        return np.bincount(rows.keys % self.partitions, minlength=self.partitions), self._met(side, rows)

    def evict(self, side: int, partition: int, count: int, tick: int) -> tuple[Kept, Any]:
        """Write the oldest rows of a partition as a run."""
        kept = self._in_memory(side, partition)
        going = kept[:count]
        self._memory[side][partition] = kept[count:]
        np.subtract.at(self._having[side], going.rows.keys, 1)
        self.spent += md_seconds(self._on_pages(len(going.came)), self.times)
        left = np.full(len(going.came), tick)
        return _sorted(Kept(going.rows, going.came, left)), going.came

    def scan(
        self, side: int, partition: int, disk: Sequence[DiskRun], _tick: int, history: History
    ) -> Iterator[Found]:
        """Unseen pairs of a side's rows in memory with runs of the other side."""
        mine = self._in_memory(side, partition)
        # Older rows have met all that was on disk at the last scan, and in memory all that went there since.
        mine = mine[mine.came > max(history.scans[side], default=-1)]
        for run, found in zip(disk, self._unseen(side, mine, disk, history), strict=True):
            self.spent += md_seconds(self._on_pages(run.rows), self.times)
            if found.count:
                yield found

    def read(self, runs: Sequence[DiskRun]) -> None:
        """Pages of several runs are read by turns, so the arm moves for each."""
        self.spent += sum(self._on_pages(run.rows).pages for run in runs) * self.times.random
        self._reading = list(runs)

    def join(self, _partition: int, one: DiskRun, other: DiskRun, history: History) -> Iterator[Found]:
        """Unseen pairs of two runs.

        A run is joined with all those it will be asked about at once: there may be hundreds on each side.
        """
        if (one.tag, other.tag) not in self._ahead:
            # The second side's runs were read last, so these are all that follow.
            following = self._reading[[run.tag for run in self._reading].index(other.tag) :]
            wanted = [run for run in following if (one.tag, run.tag) not in history.matched]
            found = self._unseen(0, one.handle, wanted, history)
            self._ahead = {(one.tag, run.tag): some for run, some in zip(wanted, found, strict=True)}
        if self._ahead[one.tag, other.tag].count:
            yield self._ahead[one.tag, other.tag]

    def merge(self, _side: int, _partition: int, runs: Sequence[DiskRun]) -> Kept:
        """One run in place of several."""
        merged = _sorted(_together([run.handle for run in runs]))
        self.spent += self._on_pages(len(merged.came)).pages * self.times.random
        return merged

    def _on_pages(self, rows: int) -> DiskPart:
        return DiskPart(min(rows, 1), -(-rows // self.page_rows))

    def _met(self, side: int, rows: KeyRows) -> Iterator[Found]:
        if self.counting:
            yield Found(int(self._having[1 - side, rows.keys].sum()))
            return
        for partition in np.unique(rows.keys % self.partitions).tolist():
            mine = rows[rows.keys % self.partitions == partition]
            theirs = self._in_memory(1 - side, partition).rows
            one, other = _matches(mine.keys, theirs.keys, self.keys)
            yield Found(len(one), _by_side(side, mine.numbers[one], theirs.numbers[other]))

    def _in_memory(self, side: int, partition: int) -> Kept:
        lately = self._lately[side]
        if lately:
            rows, ticks = zip(*lately, strict=True)
            came = np.repeat(ticks, [len(some) for some in rows])
            keys, numbers = (
                np.concatenate([getattr(some, name) for some in rows]) for name in ("keys", "numbers")
            )
            everything = Kept(KeyRows(keys, numbers), came, np.full(len(keys), NEVER))
            homes = keys % self.partitions
            order = np.argsort(homes, kind="stable")
            ends = np.cumsum(np.bincount(homes, minlength=self.partitions))
            for home, some in enumerate(np.split(order, ends[:-1])):
                self._memory[side][home] = _together([self._memory[side][home], everything[some]])
            lately.clear()
        return self._memory[side][partition]

    def _unseen(self, side: int, mine: Kept, runs: Sequence[DiskRun], history: History) -> Iterator[Found]:
        """Pairs of a side's rows with each of some runs of the other that nobody has found."""
        theirs = _together([run.handle for run in runs])
        other, one = _matches(theirs.rows.keys, mine.rows.keys, self.keys)
        new = ~history.seen(
            _by_side(side, mine.came[one], theirs.came[other]),
            _by_side(side, mine.left[one], theirs.left[other]),
        )
        one, other = one[new], other[new]
        ends = np.searchsorted(other, np.cumsum([run.rows for run in runs])).tolist()
        pairs = _by_side(side, mine.rows.numbers[one], theirs.rows.numbers[other])
        for begin, end in pairwise([0, *ends]):
            yield Found(end - begin, (pairs[0][begin:end], pairs[1][begin:end]))


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
