"""The window of one stream: runs grouped by time slice, merged when small ones pile up, dropped when dead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from watersmeet.kernel.run import Rows, Run, build_run, merge_runs, run_bytes
from watersmeet.kernel.time_slices import TimeSlice, cut

# Runs of one slice and about one size are merged when there are this many: every row is rewritten
# log4(slice / batch) times, and a probe meets at most three runs of each size.
_FAN_IN = 4
# Larger runs stay as they are: a column of texts in Arrow holds two gigabytes.
MERGE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run in a window, with what is needed to place and to drop it without opening it.

    `earliest` is the time of its first row, `end` the last instant at which one of its rows is alive, `size`
    about how many bytes it takes.
    """

    id: str
    time_slice: TimeSlice
    rows: int
    earliest: int
    end: int
    open: Callable[[], Run]
    size: int = 0

    @property
    def run(self) -> Run:
        """The rows; opening them is the owner's business, and cheap when they are at hand."""
        return self.open()


@dataclass(slots=True)
class StoredWindow:
    """The rows of one input that can still find partners.

    Attributes:
        length: How long a row lives, microseconds; at most, where rows bring their own ends.
        time_slices: How many time slices the length is cut into.
        new_id: Names for new runs; the caller's, since a kernel draws no random numbers.
        runs: What is stored now.
        added: Runs stored since the changes were last taken.
        removed: Names of runs that are gone since then.
        merge_bytes: Runs are not merged to larger ones than this.
        cut_by_end: Whether time slices hold rows that end together, instead of rows that came together. It is
            for ends that follow from times: rows of one time and one key end together, and later ones not
            before.
        lingers: How long rows are kept beyond their end, microseconds.
    """

    length: int
    time_slices: int
    new_id: Callable[[], str]
    runs: list[StoredRun] = field(default_factory=list)
    added: dict[str, StoredRun] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    merge_bytes: int = MERGE_BYTES
    cut_by_end: bool = False
    lingers: int = 0

    @property
    def rows(self) -> int:
        """How many rows are stored."""
        return sum(stored.rows for stored in self.runs)

    def insert(self, new: Rows) -> list[StoredRun]:
        """Store rows; returns their runs."""
        fresh = []
        for piece, rows in cut(new.ends if self.cut_by_end else new.times, self.length, self.time_slices):
            part = new if len(rows) == len(new) else new.take(rows)
            fresh.append(self._store(piece, build_run(part)))
        return fresh

    def keep(self, new: Rows) -> StoredRun:
        """Store rows as one run, whatever their times."""
        return self._store(TimeSlice(self.length, 0), build_run(new))

    def take_out(self, gone: Iterable[StoredRun]) -> None:
        """Forget some runs."""
        self._remove(gone)

    def take_in(self, stored: StoredRun) -> None:
        """Keep a run of another window, which has let it go."""
        self.runs.append(stored)
        self.added[stored.id] = stored

    def swap(self, old: StoredRun, new: StoredRun) -> StoredRun:
        """The same run, opened in another way."""
        self.runs[self.runs.index(old)] = new
        if old.id in self.added:
            self.added[old.id] = new
        return new

    def expire(self, watermark: int) -> None:
        """Drop the runs in which no row is alive, or lingers, after the watermark."""
        self._remove([stored for stored in self.runs if stored.end + self.lingers <= watermark])

    def next_expiry(self) -> int | None:
        """The watermark at which the next run can go."""
        return min((stored.end + self.lingers for stored in self.runs), default=None)

    def compact(self) -> None:
        """Merge runs of one slice where `_FAN_IN` of about one size have come together."""
        while group := self._crowded():
            merged = merge_runs([stored.run for stored in group])
            self._remove(group)
            self._store(group[0].time_slice, merged)

    def take_until(self, time: int) -> list[StoredRun]:
        """Take out the runs that have a row up to a time."""
        taken = [stored for stored in self.runs if stored.earliest <= time]
        self._remove(taken)
        return taken

    def take_changes(self) -> tuple[list[StoredRun], list[str]]:
        """What to persist: runs to put, names to delete."""
        added, removed = list(self.added.values()), self.removed
        self.added, self.removed = {}, []
        return added, removed

    def _store(self, piece: TimeSlice, run: Run) -> StoredRun:
        end = int(run.times.max()) + self.length if run.ends is None else int(run.ends.max())
        stored = StoredRun(
            self.new_id(), piece, run.rows, int(run.times.min()), end, lambda: run, run_bytes(run)
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
        groups: dict[tuple[TimeSlice, int], list[StoredRun]] = defaultdict(list)
        for stored in self.runs:
            size_class = stored.rows.bit_length() // 2
            group = groups[stored.time_slice, size_class]
            group.append(stored)
            if len(group) == _FAN_IN:
                if sum(stored.size for stored in group) <= self.merge_bytes:
                    return group
                group.clear()
        return []
