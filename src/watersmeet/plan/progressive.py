"""What a join in bounded memory decides while it runs, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# What a worker does in a second, roughly; results are counted in look-ups too (`kernel.progressive.bucket`).
_LOOKUPS_PER_SECOND = 1_600_000


@dataclass(frozen=True, slots=True)
class Flush:
    """So many of the oldest rows of a partition in memory go to disk."""

    side: int
    partition: int
    rows: int


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Rows of a side in memory meet what the other side has on disk: an md-task."""

    side: int
    partition: int


@dataclass(frozen=True, slots=True)
class MergeTask:
    """What both sides have on disk meets: a dd-task."""

    partition: int


@dataclass(frozen=True, slots=True)
class Bounded:
    """How a join keeps to its memory.

    Attributes:
        memory: Bytes of an executor.
        algorithm: Who decides what leaves memory and what is done in silence.
        bits: Every bucket has two to the power of this many partitions.
        tick_s: How long nothing must arrive before the silence is used, seconds.
        executors: How many executors share the buckets.
        tasks: How many buckets an executor works on at a time.
    """

    memory: int
    algorithm: str = "rpj"
    bits: int = 2
    tick_s: float = 1.0
    executors: int = 1
    tasks: int = 1

    def bucket_bytes(self, buckets: int) -> int:
        """What the rows of a bucket may take: half of the memory, and the other half is for the work."""
        there = -(-buckets // self.executors)
        return self.memory // 2 // there

    def resident_bytes(self, buckets: int, operators: int) -> int:
        """What the runs of a bucket with windows may take between batches: a quarter of the memory."""
        there = -(-buckets // self.executors)
        return self.memory // 4 // (there * operators)

    @property
    def open_bytes(self) -> int:
        """What windows may take while they are looked into: another quarter."""
        return self.memory // 4 // self.tasks

    @property
    def block_bytes(self) -> int:
        """What a block of results may take per input; Spark copies each of them a few times."""
        return max(1 << 16, self.memory // 128)

    @property
    def chunk_bytes(self) -> int:
        """How many bytes of rows are packed at a time."""
        return max(1 << 18, self.memory // 128)

    @property
    def silence_work(self) -> int:
        """How much a bucket does in silence in one batch, in look-ups; arrivals wait for it.

        It takes about a quarter of a tick. It is not a time, because a batch that is run again must find the
        same.
        """
        return int(self.tick_s / 4 * _LOOKUPS_PER_SECOND)


class Standing(Protocol):
    """Where a join stands; tables are `[side][partition]`.

    Attributes:
        memory: Rows in memory.
        received: Rows that ever came.
        recent: How much of each side arrives lately; None before that is known.
        complete: Whether all of a side has come.
        scanning: Pairs a scan would compare that nobody has.
        merging: The same for a merge, by partition.
    """

    memory: Any
    received: Any
    recent: list[float | None]
    complete: list[bool]
    scanning: Any
    merging: Any


class RunSize(Protocol):
    """A run on disk, as far as its size goes."""

    @property
    def rows(self) -> int:
        """How many rows it has."""


Disk = Sequence[Sequence[Sequence[RunSize]]]


class Policy(Protocol):
    """Who decides what leaves memory, and what is done in silence."""

    def flushes(self, standing: Standing, room: int, sizes: tuple[int, int]) -> Sequence[Flush]:
        """What goes to disk to make so much room, where rows of the sides take so much; at least one row."""

    def task(self, standing: Standing, disk: Disk) -> ScanTask | MergeTask | None:
        """What to do while nothing arrives; None if nothing new would be found. `disk` has runs by side."""
