"""One bucket of a join in bounded memory, as a host runs it: rows in, results out, and what to remember."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from watersmeet.kernel.bucket import Bucket, Counts, Metrics, RunFiles
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.progressive.books import Books
from watersmeet.kernel.progressive.history import History
from watersmeet.kernel.progressive.join import ProgressiveJoin
from watersmeet.kernel.progressive.runs import STAMPS, RunStore, bytes_in_memory
from watersmeet.kernel.progressive.store import DiskRun
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows
from watersmeet.kernel.stored import stored_as
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan import Operator, Plan
from watersmeet.plan.layout import OperatorLayout
from watersmeet.plan.progressive import MergeTask, Policy

# Of a full memory, one part in so many is made free.
_FLUSH_PARTS = 4
# Runs are mapped and looked into where they lie, so all of a side take part in one merge.
ALL_RUNS = 1 << 30
# And a block of results takes one part of it in so many, but not less than so many bytes.
_BLOCK_PARTS = 8
_LEAST_BLOCK = 1 << 16
# Of an open row on disk so many bytes are in memory: its place in the directory of keys, and a stamp.
_OPEN_BYTES = 64
# A result takes as long as so many look-ups: its columns are fetched.
_RESULT_LOOKUPS = 10


@stored_as("progress")
@dataclass
class Progress:
    """What a bucket remembers between batches, beside its runs.

    Attributes:
        books: What is where.
        histories: What was found, by partition.
        last_stamp: The last stamp.
        tags: The tags of runs on disk, by the names of the runs.
        tag: The last tag.
        finished: Whether all is found.
        left: When runs left memory, by name, where their rows left together.
    """

    books: Books
    histories: list[History]
    last_stamp: int
    tags: dict[str, int]
    tag: int
    finished: bool
    left: dict[str, int]


@dataclass(slots=True)
class ProgressiveBucket(Bucket):
    """A bucket of a join of two streams without windows.

    Attributes:
        join: The join.
        store: Its rows.
        memory: Bytes that rows in memory may take.
        recent: How much of a side arrives lately, from what was known before and what came now.
        work: How much is done in silence in one batch, in look-ups.
        schemas: Per side the columns its rows are stored with, without the stamps.
        finished: Whether all has come, and all is found.
        counts: What was done; late are rows that came after the end of their stream.
        tasks: How many scans and merges were done in silence.
    """

    join: ProgressiveJoin
    store: RunStore
    memory: int
    recent: Callable[[float | None, int], float]
    work: int
    schemas: Sequence[pa.Schema] = ()
    finished: bool = False
    counts: Counts = field(default_factory=lambda: Counts([0, 0], [0, 0]))
    tasks: list[int] = field(default_factory=lambda: [0, 0])
    _remembered: tuple[int, ...] = ()

    uses_watermark: ClassVar[bool] = False
    hears_silence: ClassVar[bool] = True
    needs_files: ClassVar[bool] = True

    @classmethod
    def from_plan(
        cls,
        plan: Plan,
        operator: Operator,
        layout: OperatorLayout,
        new_id: Callable[[], str],
        *,
        policy: Policy,
        memory: int,
        recent: Callable[[float | None, int], float],
        schemas: Sequence[pa.Schema] = (),
    ) -> ProgressiveBucket:
        """An empty bucket for an operator of a plan, with so many bytes of memory."""
        assert plan.bounded is not None
        bits = plan.bounded.bits
        pairs = MultiwayJoin.from_plan(plan, operator, layout, new_id)
        # Results leave in blocks that are small against the memory: Spark copies each of them a few times.
        pairs.block_bytes = max(_LEAST_BLOCK, memory // _BLOCK_PARTS)
        first, second = (len(spec.stored) for spec in layout.inputs)
        store = RunStore(pairs, (first, second), bits, new_id, most_open=max(1, memory // _OPEN_BYTES))
        part = max(1, memory // _FLUSH_PARTS)
        join = ProgressiveJoin(
            store=store,
            policy=policy,
            partitions=1 << bits,
            capacity=memory,
            flush_size=part,
            fan_in=ALL_RUNS,
            run_size=part,
        )
        return cls(join, store, memory, recent, plan.bounded.silence_work, schemas)

    @property
    def windows(self) -> list[StoredWindow]:
        """All that has to be kept."""
        return self.store.windows

    @property
    def run_columns(self) -> pa.Schema:
        """When rows came and left."""
        return STAMPS

    def use_files(self, files: RunFiles) -> None:
        """Runs that leave memory are put away."""
        self.store.put_away = lambda side, stored: files.put_away(
            stored, pa.schema([*self.schemas[side], *STAMPS])
        )
        self.store.close_disk = lambda: files.close_others(self.resident())

    def resident(self) -> set[str]:
        """The names of the runs in memory; those on disk are looked into now and then only."""
        return {stored.id for some in self.store.memory for window in some for stored in window.runs}

    @property
    def stored(self) -> list[int | None]:
        """Per window the input whose rows it holds."""
        partitions = self.join.partitions
        sides = ([0] * partitions, [1] * partitions)
        return [*sides[0], *sides[1], *sides[0], *sides[1]]

    def late(self, side: int, rows: Rows) -> Any:
        """All that comes after the end of its stream is late."""
        return np.full(len(rows), bool(self.join.books.complete[side]))

    def on_rows(self, side: int, rows: Rows) -> Iterator[Results]:
        """New rows of a stream; those after its end are refused and counted."""
        self.counts.rows_in[side] += len(rows)
        if self.join.books.complete[side]:
            self.counts.late[side] += len(rows)
            return
        held, size = self.store.held(side)
        self._measure(side, held + len(rows), size + bytes_in_memory(rows))
        yield from self.join.arrive(side, rows)

    def on_silence(self) -> Iterator[Results]:
        """Nothing arrives: work on what is on disk, about so many look-ups and no less than one task.

        The same rows and the same work find the same, whatever the machine is doing.
        """
        until = self._done + self.work
        while (task := self.join.next_task()) is not None:
            self.tasks[isinstance(task, MergeTask)] += 1
            yield from self.join.run(task)
            if self._done >= until:
                return

    @property
    def _done(self) -> int:
        counts = self.store.pairs.counts
        return counts.lookups + _RESULT_LOOKUPS * counts.results

    def on_end(self, side: int) -> Iterator[Results]:
        """All rows of a stream have come."""
        self.join.complete(side)
        return iter(())

    def on_batch(self, until: int) -> Iterator[Results]:
        """A batch is over: if all has come, what is left is found now."""
        del until
        self.join.books.end_unit(self.recent)
        if all(self.join.books.complete) and not self.finished:
            yield from self.join.finish()
            self.finished = True
            self.store.drop_all()
        self.store.compact()

    @property
    def changed(self) -> bool:
        """Whether there is something new to remember."""
        ended = self.join.books.complete
        return (self.join.last_stamp, self.finished, *ended) != self._remembered

    def take_metrics(self) -> Metrics:
        """What it did, and how many rows it holds."""
        counts, pairs, tasks = self.counts, self.store.pairs.take_counts(), self.tasks
        self.counts, self.tasks = Counts([0, 0], [0, 0]), [0, 0]
        counts.results, counts.examined, counts.lookups = pairs.results, pairs.examined, pairs.lookups
        received = self.join.books.received
        live: Metrics = {f"live_{side}": 0 if self.finished else int(received[side].sum()) for side in (0, 1)}
        return counts.metrics() | live | {"scans": tasks[0], "merges": tasks[1]}

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs."""
        return {"progress": self.remember()}

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        if "progress" in kept:
            self.restore(kept["progress"])

    def remember(self) -> Progress:
        """What to keep beside the runs."""
        tags = {run.handle.id: run.tag for side in self.join.disk for runs in side for run in runs}
        join = self.join
        return Progress(
            join.books,
            join.histories,
            join.last_stamp,
            tags,
            join.last_tag,
            self.finished,
            self.store.left,
        )

    def restore(self, progress: Progress) -> None:
        """Go on from there; the windows have been given their runs."""
        join = self.join
        join.books, join.histories = progress.books, progress.histories
        join.last_stamp, join.last_tag = progress.last_stamp, progress.tag
        self.finished = progress.finished
        self._remembered = (join.last_stamp, self.finished, *join.books.complete)
        if self.finished:
            return
        self.store.restore(progress.left)
        for disk, windows in zip(join.disk, self.store.disk, strict=True):
            for runs, window in zip(disk, windows, strict=True):
                # In the order in which they were written or merged, which matching runs have in common.
                known = sorted(window.runs, key=lambda stored: progress.tags[stored.id])
                runs[:] = [_disk_run(stored, progress.tags[stored.id]) for stored in known]
        for side in (0, 1):
            self._measure(side, *self.store.stored(side))

    def _measure(self, side: int, rows: int, size: int) -> None:
        """What a row of a side takes, on average over so many of this size."""
        first, second = self.join.sizes
        mine = max(1, -(-size // max(1, rows)))
        self.join.sizes = (mine, second) if side == 0 else (first, mine)


def _disk_run(stored: StoredRun, tag: int) -> DiskRun:
    return DiskRun(tag, stored.rows, stored)
