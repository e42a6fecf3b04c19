"""What a progressive join knows: where its rows are, what arrives, and what tasks on disk would find.

Expected results are counted as pairs of rows that share a partition and have not been compared; how many of
these match is the same for all tasks of a partition, and the policies' business (Tao et al., Sect. 5.2, 5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from watersmeet.kernel.progressive.history import NEVER
from watersmeet.kernel.stored import stored_as


def _table(partitions: int) -> Any:
    return np.zeros((2, partitions), np.int64)


@stored_as("flushes")
@dataclass(slots=True)
class FlushLog:
    """How many rows of a partition of one side had left memory at which stamp."""

    stamps: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)

    def add(self, stamp: int, rows: int) -> None:
        """Rows leave memory."""
        self.stamps.append(stamp)
        self.left.append(rows + (self.left[-1] if self.left else 0))

    def before(self, stamps: Any) -> Any:
        """How many had left before each of some stamps."""
        return np.asarray([0, *self.left])[np.searchsorted(np.asarray(self.stamps, np.int64), stamps)]


@stored_as("books")
@dataclass(slots=True)
class Books:
    """Counts by side and partition.

    Attributes:
        partitions: How many there are.
        memory: Rows in memory.
        disk: Rows on disk.
        received: Rows that ever came.
        recent: How much of each side arrives lately; None before the first unit of time has passed.
        arrived: What has come of each side in this unit.
        complete: Whether all of a side has come.
        scanning: Pairs a scan would compare that nobody has: a side's rows in memory, the other's on disk.
        merging: The same for merging what both sides have on disk, by partition.
    """

    partitions: int
    memory: Any = field(init=False)
    disk: Any = field(init=False)
    received: Any = field(init=False)
    recent: list[float | None] = field(default_factory=lambda: [None, None])
    arrived: list[int] = field(default_factory=lambda: [0, 0])
    complete: list[bool] = field(default_factory=lambda: [False, False])
    scanning: Any = field(init=False)
    merging: Any = field(init=False)
    _flushes: list[list[FlushLog]] = field(init=False)

    def __post_init__(self) -> None:
        """Nothing has come yet."""
        self.memory, self.disk, self.received, self.scanning = (_table(self.partitions) for _ in range(4))
        self.merging = np.zeros(self.partitions, np.int64)
        self._flushes = [[FlushLog() for _ in range(self.partitions)] for _ in (0, 1)]

    def came(self, side: int, rows: Any) -> None:
        """New rows are in memory, so many in each partition."""
        self.memory[side] += rows
        self.received[side] += rows
        self.arrived[side] += int(rows.sum())
        self.scanning[side] += rows * self.disk[1 - side]

    def end_unit(self, recent: Callable[[float | None, int], float]) -> None:
        """A unit of time is over; `recent` says how what came in it changes the recent volume."""
        self.recent = [recent(before, now) for before, now in zip(self.recent, self.arrived, strict=True)]
        self.arrived = [0, 0]

    def went(self, side: int, partition: int, stamp: int, came: Any, scans: Sequence[int]) -> None:
        """Rows of a partition left memory.

        What a scan would have found of them a merge will find; what the last scan found, neither. (The
        paper takes off all that is on disk by now, also what came there after the row, and so falls below
        zero.)

        Args:
            side: Whose rows they are.
            partition: Their partition.
            stamp: When they left.
            came: When they came, each.
            scans: When rows of this side and partition in memory were scanned for.
        """
        last = scans[-1] if scans else -NEVER
        unscanned = came[came > last]
        waiting = int(self._flushes[1 - side][partition].before(unscanned).sum())
        self.scanning[side, partition] -= waiting
        self.merging[partition] += waiting
        self.memory[side, partition] -= len(came)
        self.disk[side, partition] += len(came)
        self._flushes[side][partition].add(stamp, len(came))
