"""A progressive join: rows arrive, memory overflows, nothing arrives, all has come.

    arrive   new rows meet what the other side has in memory               mm
    flush    memory is full: some rows go to disk as sorted runs
    idle     nothing arrives: rows in memory meet the other's on disk      md, a scan
             or both sides' runs of a partition are merged                 dd, a merge
    finish   all has come: whatever has not met meets                      clean-up

Results leave as they are found. Every step may be followed by any other, and a pair is reported once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from watersmeet.kernel.progressive.books import Books
from watersmeet.kernel.progressive.history import History
from watersmeet.kernel.progressive.merge import progressive_merge
from watersmeet.kernel.progressive.store import DiskRun, Store
from watersmeet.plan.progressive import Flush, MergeTask, Policy, ScanTask


@dataclass(slots=True)
class ProgressiveJoin:
    """The join of two relations.

    Attributes:
        store: Where the rows are.
        policy: Who decides.
        partitions: How many parts the keys are split into.
        capacity: What memory holds: rows, or anything else that `sizes` are in.
        flush_size: What has to go when it is full.
        fan_in: How many runs of a side are merged at a time.
        run_size: The most that a run which others are merged to may take; None sets no limit.
        sizes: What a row of each side takes.
        last_stamp: The last stamp.
        books: What is where.
        disk: Runs on disk, by side and partition.
        histories: What was found, by partition.
        last_tag: The tag of the last run.
    """

    store: Store
    policy: Policy
    partitions: int
    capacity: int
    flush_size: int
    fan_in: int = 2
    run_size: int | None = None
    sizes: tuple[int, int] = (1, 1)
    last_stamp: int = 0
    books: Books = field(init=False)
    disk: tuple[list[list[DiskRun]], ...] = field(init=False)
    histories: list[History] = field(init=False)
    last_tag: int = 0

    def __post_init__(self) -> None:
        """Nothing has come yet."""
        self.books = Books(self.partitions)
        self.disk = tuple([[] for _ in range(self.partitions)] for _ in (0, 1))
        self.histories = [History() for _ in range(self.partitions)]

    @property
    def in_memory(self) -> int:
        """What the rows in memory take."""
        first, second = self.books.memory.sum(axis=1).tolist()
        return int(first * self.sizes[0] + second * self.sizes[1])

    def arrive(self, side: int, rows: Any) -> Iterator[Any]:
        """New rows of a side; memory is made room in as they come."""
        first, size = 0, self.sizes[side]
        while first < len(rows):
            while self.in_memory and self.in_memory + size > self.capacity:
                self.flush(self.flush_size)
            # A row that is larger than memory is taken all the same, alone.
            last = first + max(1, (self.capacity - self.in_memory) // size)
            counts, found = self.store.arrive(side, rows[first:last], self._stamp())
            self.books.came(side, counts)
            yield from found
            first = last

    def flush(self, room: int) -> None:
        """Make so much room."""
        for flush in self.policy.flushes(self.books, room, self.sizes):
            self._evict(flush)

    def idle(self) -> Iterator[Any]:
        """One task while nothing arrives, the best there is; nothing if there is none worth it."""
        task = self.next_task()
        if task is not None:
            yield from self.run(task)

    def next_task(self) -> ScanTask | MergeTask | None:
        """The best task there is; None if none would find anything new."""
        return self.policy.task(self.books, self.disk)

    def run(self, task: ScanTask | MergeTask) -> Iterator[Any]:
        """Do a task, to its end."""
        if isinstance(task, ScanTask):
            yield from self._scan(task)
        else:
            yield from self.merge(task.partition, self.fan_in)

    def complete(self, side: int) -> None:
        """All of a side has come."""
        self.books.complete[side] = True

    def finish(self) -> Iterator[Any]:
        """All has come: find what is left. Nothing is merged or moved, for nothing comes after it."""
        for partition, history in enumerate(self.histories):
            memory = [
                [DiskRun(self._new_tag(), *run) for run in self.store.resident(side, partition)]
                for side in (0, 1)
            ]
            resident = [{run.tag for run in runs} for runs in memory]
            first, second = ([*self.disk[side][partition], *memory[side]] for side in (0, 1))
            self.store.read([*first, *second])
            for one in first:
                # What both have in memory has met there.
                met = resident[1] if one.tag in resident[0] else set()
                new = [other for other in history.unmatched(one, second) if other.tag not in met]
                if new:
                    yield from self.store.join(partition, one, new, history)

    def merge(self, partition: int, fan_in: int) -> Iterator[Any]:
        """Join what both sides have on disk of a partition."""
        self._stamp()
        disk = (self.disk[0][partition], self.disk[1][partition])
        most = None if self.run_size is None else [max(1, self.run_size // size) for size in self.sizes]
        yield from progressive_merge(
            self.store, partition, disk, self.histories[partition], fan_in, self._new_tag, most
        )
        self.books.merging[partition] = 0

    def _scan(self, task: ScanTask) -> Iterator[Any]:
        stamp, history = self._stamp(), self.histories[task.partition]
        disk = self.disk[1 - task.side][task.partition]
        yield from self.store.scan(task.side, task.partition, disk, stamp, history)
        history.scans[task.side].append(stamp)
        self.books.scanning[task.side, task.partition] = 0

    def _evict(self, flush: Flush) -> None:
        side, partition, stamp = flush.side, flush.partition, self._stamp()
        runs, came = self.store.evict(side, partition, flush.rows, stamp)
        self.disk[side][partition].extend(DiskRun(self._new_tag(), *run) for run in runs)
        self.books.went(side, partition, stamp, came, self.histories[partition].scans[side])

    def _stamp(self) -> int:
        self.last_stamp += 1
        return self.last_stamp

    def _new_tag(self) -> int:
        self.last_tag += 1
        return self.last_tag
