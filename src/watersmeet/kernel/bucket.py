"""The contract between a bucket and the host that runs it.

A join is split into buckets that know nothing of each other. A bucket is a state machine: it is told what has
come, and says what came of it. A host (Spark's is `watersmeet.spark.host`) reads sources, sorts rows into
buckets, keeps their state and carries their results, whatever the kind of bucket:

    batch   on_start, on_rows, on_message, on_silence if no rows came, on_end, on_batch, on_watermark
    state   windows (runs), save and load (values)
    report  take_metrics, next_expiry

What differs between kinds is declared by the class, so that a host never asks which kind it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows
from watersmeet.kernel.window import StoredRun, StoredWindow

if TYPE_CHECKING:
    from watersmeet.kernel.spreading import KeySpreader

# Later than every row.
END_OF_TIME = 1 << 62

# What a bucket reports, by the names of `spark.host.metrics`; `late_0` is about input 0.
Metrics = dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Message:
    """Something for another bucket.

    Attributes:
        receiver: The name of the bucket.
        body: What only buckets understand.
        rows: How many rows are in it, for people.
    """

    receiver: str
    body: bytes
    rows: int = 0


# What comes of something: results for the user, messages for other buckets.
Outcome = Iterator[Results | Message]


class RunFiles(Protocol):
    """What a host offers a bucket that keeps to its memory: runs lie in files, and may be closed."""

    def put_away(self, stored: StoredRun, schema: pa.Schema) -> StoredRun:
        """Write a run now, not at the end of the batch; returns it as one that lies in its file only."""

    def open_runs(self) -> set[str]:
        """The names of the runs that are open."""

    def close_others(self, names: set[str]) -> None:
        """Close all runs but some; their files stay."""


class Bucket:
    """One bucket. A kind says what it needs of these methods and leaves the others as they are.

    Attributes:
        uses_watermark: Whether Spark's watermark tells which rows are late and what can go. Others make
            promises of their own, or keep everything.
        rows_in_order: Whether it needs all rows of an input and a batch at once, by time and content, so that
            a batch that runs again does the same; others take them in portions, in any order.
        hears_silence: Whether it is told when nothing comes, and when streams have ended.
        sends_messages: Whether it sends messages and gets them.
        needs_files: Whether rows that leave memory must reach their files; others can do without.
        stays_in_memory: Whether it is kept in memory between batches; its values are most of its state.
    """

    __slots__ = ()

    uses_watermark: ClassVar[bool] = True
    rows_in_order: ClassVar[bool] = False
    hears_silence: ClassVar[bool] = False
    sends_messages: ClassVar[bool] = False
    needs_files: ClassVar[bool] = False
    stays_in_memory: ClassVar[bool] = False

    # A batch, in this order.

    def on_start(self, watermark: int) -> None:
        """A batch begins; rows of streams up to the watermark are late."""

    def on_rows(self, part: int, rows: Rows) -> Outcome:
        """Rows of an input have come; what they bring about comes as the iterator is read."""
        raise NotImplementedError

    def late(self, part: int, rows: Rows) -> Any:
        """A mask of the rows of an input that come too late: `on_rows` drops and counts them."""
        del part
        return np.zeros(len(rows), bool)

    def on_message(self, sender: str, body: bytes) -> Outcome:
        """A message of another bucket has come, in the order in which that one sent them."""
        raise NotImplementedError

    def on_silence(self) -> Outcome:
        """No rows came in this batch."""
        return iter(())

    def on_end(self, part: int) -> Outcome:
        """An input has ended; this may be said again and again."""
        del part
        return iter(())

    def on_batch(self, until: int) -> Outcome:
        """All of a batch is here, and all rows up to a time: the watermark, or the end of time."""
        del until
        return iter(())

    def on_watermark(self, watermark: int) -> None:
        """Every row still to come has a later time: let go of what it cannot meet."""

    def next_expiry(self) -> int | None:
        """The watermark at which there is something to do though nothing comes; None if there is none."""
        return None

    # Hot keys, whose rows may be spread over all buckets (`kernel.spreading`).

    @property
    def spreader(self) -> KeySpreader | None:
        """Who decides which keys of this bucket are spread; None where none ever are."""
        return None

    def on_hot(self, part: int, dealt: int, rows: Rows) -> Outcome:
        """Rows of hot keys: a part of those of the dealt input, or of another, which all buckets get."""
        del dealt
        return self.on_rows(part, rows)

    # State: runs of windows, which are large and never change, and values, which are small or few.

    @property
    def windows(self) -> list[StoredWindow]:
        """Everything that is kept as runs."""
        return []

    @property
    def stored(self) -> list[int | None]:
        """Per window the input whose rows it holds; None for times alone."""
        return list(range(len(self.windows)))

    @property
    def run_columns(self) -> pa.Schema | None:
        """Columns that its runs have beside those of the rows; None for none."""
        return None

    @property
    def changed(self) -> bool:
        """Whether there is anything new to keep."""
        return True

    def save(self) -> dict[str, Any]:
        """Values to keep, by name. They never change: the same object as before is not written again."""
        return {}

    def load(self, kept: dict[str, Any]) -> None:
        """Take back the values; the windows have been given their runs."""

    # Memory that is limited.

    def use_files(self, files: RunFiles) -> None:
        """Where its runs lie; called when it has been loaded, and only where memory is limited."""

    def resident(self) -> set[str]:
        """The names of the runs that stay open until the next batch; asked only where memory is limited."""
        return set()

    # What people see.

    def take_metrics(self) -> Metrics:
        """What it did since this was last asked, and what it holds."""
        return {}

    def status(self) -> dict[str, Any]:
        """More about it than numbers say, for who asks about this bucket; ready for JSON."""
        return {}


@dataclass(slots=True)
class Counts:
    """What a join did since the counts were last taken: by input, and in all.

    `late_by` is how far behind the watermark the latest row of an input was, microseconds.
    """

    late: list[int]
    rows_in: list[int]
    late_by: dict[int, int] = field(default_factory=dict)
    results: int = 0
    examined: int = 0
    lookups: int = 0

    def metrics(self) -> Metrics:
        """As they are reported."""
        late: Metrics = {f"late_{part}": count for part, count in enumerate(self.late)}
        return {
            **late,
            **{f"late_by_us_{part}": most for part, most in self.late_by.items()},
            "results": self.results,
            "rows_examined": self.examined,
            "lookups": self.lookups,
        }


class BucketMaker(Protocol):
    """Makes the empty buckets of a join; sent to the workers."""

    @property
    def kind(self) -> type[Bucket]:
        """What it makes."""

    def __call__(self, number: int, new_id: Callable[[], str]) -> Bucket:
        """An empty bucket by its number; `new_id` gives names for new runs."""
