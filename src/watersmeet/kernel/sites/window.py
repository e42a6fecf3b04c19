"""The window of a stream at a site, read by any number of parts there.

Rows are kept as long as a reader can still need one. Each reader says how far it is: it will not look for
partners of rows up to that time again. No bound on delays is needed for this (Tran & Lee 2010 remove
expired tuples a fixed time after the tick): a slow link makes a reader slow, and the rows wait.

    row of time u, reach T:     u ........... u + T
    readers are at                       r1          r2        kept, since u + T > r1

For experiments with the paper's rule a packet may carry the number `remove`: rows that end before this time
go at once, even if somebody needs them. Readers hear of it by the same packet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.packet import END, START, Packet, ends, times
from watersmeet.kernel.sites.part import Sent
from watersmeet.kernel.sites.store import Store

# In a packet to a window, and from it to its readers: rows that end before this time are gone.
REMOVE = "remove"


class Clock:
    """The times of a stream whose rows live until `count` others have come after them.

    Rows of equal time come and go together, so that only rows later than a row are counted.
    """

    def __init__(self, count: int) -> None:
        """No row has come."""
        self.count = count
        self.times = np.empty(0, np.int64)

    def add(self, new: Any) -> None:
        """Rows have come, in the order of time."""
        self.times = np.concatenate([self.times, new])

    def alive(self, starts: Any, at: Any) -> Any:
        """Whether rows of these times are alive at these times, all of which are known by now."""
        later = np.searchsorted(self.times, at, "right") - np.searchsorted(self.times, starts, "right")
        return later < self.count

    @property
    def oldest(self) -> int:
        """The time before which no row is alive any more."""
        return int(self.times[0]) if len(self.times) else START

    def forget(self, until: int) -> None:
        """Let go of times that decide nothing after a watermark: those before the last `count` up to it."""
        known = int(np.searchsorted(self.times, until, "right"))
        if known > self.count:
            # Rows of this time are alive; of equal times all are needed.
            first = np.searchsorted(self.times, self.times[known - self.count], "left")
            self.times = self.times[first:]


class Window:
    """A part that holds the rows of a stream, or of intermediate results.

    Attributes:
        watermark: All rows up to here have come.
        store: The rows.
        clock: Their times, where a number of rows limits how long they live.
    """

    def __init__(self, reach: int, count: int | None, readers: Sequence[str]) -> None:
        """An empty window for these readers."""
        self.store = Store(reach) if count is None else Store(reach, count)
        self.clock = None if count is None else Clock(count)
        self.watermark = START
        self.done = dict.fromkeys(readers, START)
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Rows have come; readers at the site are woken."""
        if packet.rows is not None:
            self.store.insert(packet.rows)
            self.work["insert"] += packet.rows.num_rows
        if self.clock is not None and "times" in packet.tables:
            self.clock.add(times(packet.tables["times"]))
        self.watermark = packet.watermark
        if REMOVE in packet.numbers:
            before = self.store.rows
            self.store.remove(packet.numbers[REMOVE])
            self.work["expire"] += before - self.store.rows
        # Readers may be done with heads that have come so far, or for good.
        self._drop()
        yield "out", packet

    def alive(self, rows: pa.RecordBatch, at: Any) -> Any:
        """Whether rows of this window are alive at these times, not asking whether they have come alive."""
        found = at <= ends(rows, self.store.reach)
        if self.clock is not None:
            found &= self.clock.alive(times(rows), at)
        return found

    def release(self, reader: str, until: int) -> None:
        """A reader will only look for partners of rows after this time."""
        self.done[reader] = max(self.done[reader], until)
        self._drop()

    def _drop(self) -> None:
        before = self.store.rows
        horizon = min(self.done.values())
        self.store.expire(horizon)
        if self.clock is not None:
            self.clock.forget(horizon)
            self.store.drop_before(self.clock.oldest)
        self.work["expire"] += before - self.store.rows

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return min(self.watermark, *self.done.values()) >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        clock = None if self.clock is None else self.clock.times
        return self.store.save("rows") | {"window": (self.watermark, dict(self.done), clock)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.store.restore("rows", kept)
        self.watermark, self.done, clock = kept["window"]
        if self.clock is not None:
            self.clock.times = clock
