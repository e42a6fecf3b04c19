"""Part of a window at another site: the rows it was sent."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from watersmeet.kernel.sites.packet import Packet, ends, times
from watersmeet.kernel.sites.store import Store
from watersmeet.kernel.sites.window import Clock


class Copy:
    """Rows of a window elsewhere, and the times of all its rows where their number matters."""

    def __init__(self, reach: int, count: int | None) -> None:
        """Nothing has come."""
        self.store = Store(reach)
        self.clock = None if count is None else Clock(count)

    def take(self, packet: Packet) -> None:
        """Take rows and times that were sent."""
        if self.clock is not None and "times" in packet.tables:
            self.clock.add(times(packet.tables["times"]))
        if packet.rows is not None:
            self.store.insert(packet.rows)

    def alive(self, rows: pa.RecordBatch, at: Any) -> Any:
        """Whether rows are alive at these times."""
        found = at <= ends(rows, self.store.reach)
        if self.clock is not None:
            found &= self.clock.alive(times(rows), at)
        return found

    def release(self, until: int) -> None:
        """Let go of rows that no head after a time can meet."""
        self.store.expire(until)
        if self.clock is not None:
            self.clock.forget(until)
            self.store.drop_before(self.clock.oldest)

    def save(self) -> dict[str, Any]:
        """All state."""
        clock = None if self.clock is None else self.clock.times
        return self.store.save("copy") | {"clock": clock}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.store.restore("copy", kept)
        if self.clock is not None:
            self.clock.times = kept["clock"]
