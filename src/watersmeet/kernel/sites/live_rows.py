"""Rows of a window that can still find partners: all of them, or those that another site was sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.limit_join import limit_join
from watersmeet.kernel.sites.packet import START, Packet, times
from watersmeet.kernel.sites.store import Store
from watersmeet.plan.sites.step import JoinStep


class RowTimes:
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


class LiveRows:
    """Rows, and the times of all rows of their stream where a number of rows limits how long they live.

    Attributes:
        store: The rows.
        row_times: The times; None where only time limits them.
    """

    def __init__(self, reach: int, count: int | None) -> None:
        """Nothing has come."""
        self.store = Store(reach) if count is None else Store(reach, count)
        self.row_times = None if count is None else RowTimes(count)

    def take(self, packet: Packet) -> None:
        """Take rows and times that have come."""
        if packet.rows is not None:
            self.store.insert(packet.rows)
        if self.row_times is not None and "times" in packet.tables:
            self.row_times.add(times(packet.tables["times"]))

    def alive(self, came: Any, until: Any, at: Any) -> Any:
        """Whether rows that came and end at these times are still alive at those."""
        found = at <= until
        if self.row_times is not None:
            found &= self.row_times.alive(came, at)
        return found

    def join(self, step: JoinStep, heads: pa.RecordBatch | None) -> pa.RecordBatch | None:
        """The results of heads with these rows; None if there are none."""
        if heads is None or not heads.num_rows:
            return None
        found = limit_join(step, heads, self.store, self.alive)
        return pa.concat_batches(found) if found else None

    def expire(self, until: int) -> None:
        """Let go of rows that no head after a time can meet."""
        self.store.expire(until)
        if self.row_times is not None:
            self.row_times.forget(until)
            self.store.drop_before(self.row_times.oldest)

    def save(self) -> dict[str, Any]:
        """All state."""
        return self.store.save("rows") | {
            "row_times": None if self.row_times is None else self.row_times.times
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.store.restore("rows", kept)
        if self.row_times is not None:
            self.row_times.times = kept["row_times"]
