"""Where rows begin their way: put in the order of time, so that all that follows may rely on it.

A stream's rows come in some disorder from one sender; intermediate results come from the two directions of a
join. Either way rows are held until every sender has promised that nothing before them will come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from watersmeet.kernel.sites.held import Held
from watersmeet.kernel.sites.packet import END, ENDS, START, TIME, USABLE, Packet, chosen, rows_packet, times
from watersmeet.kernel.sites.part import Sent
from watersmeet.query.window_kind import OwnEnds


class TimeOrder:
    """A part that sends on rows in the order of their times.

    Attributes:
        late: Rows that came after the promise that none like them would come; they are dropped.
    """

    def __init__(self, senders: Sequence[str], *, ordered: bool = True, ends: OwnEnds | None = None) -> None:
        """Nothing has come yet.

        Args:
            senders: Who sends rows.
            ordered: Whether rows wait for the watermark; without it they go on at once, in any order.
            ends: How rows get their ends, where their window does not say it for all.
        """
        self.ends = ends
        self.watermarks = dict.fromkeys(senders, START)
        self.ordered = ordered
        self.held = Held()
        self.sent = START
        self.late = 0
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take rows; yields those that nothing can precede any more."""
        rows = packet.rows
        if rows is not None:
            late = times(rows) <= self.watermarks[sender]
            if late.any():
                self.late += int(late.sum())
                rows = chosen(rows, ~late)
        self.watermarks[sender] = max(self.watermarks[sender], packet.watermark)
        promise = min(self.watermarks.values())
        if self.ordered:
            self.held.add(rows)
            rows = self.held.take(promise) if promise > self.sent else None
        if promise > self.sent or (rows is not None and rows.num_rows):
            self.sent = promise
            yield "out", _usable(self._ending(rows), promise)

    def _ending(self, rows: pa.RecordBatch | None) -> pa.RecordBatch | None:
        if rows is None or self.ends is None:
            return rows
        return rows.append_column(ENDS, pa.array(self.ends.of(times(rows))))

    @property
    def rows_held(self) -> int:
        """None: what is in order goes on."""
        return 0

    @property
    def rows_waiting(self) -> int:
        """Rows that wait until nothing before them is missing."""
        return self.held.count

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.sent >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        return self.held.save("held") | {"time order": (dict(self.watermarks), self.sent, self.late)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.held.restore("held", kept)
        self.watermarks, self.sent, self.late = kept["time order"]


def _usable(rows: pa.RecordBatch | None, promise: int) -> Packet:
    """The rows that can join, and where all are counted the times of all."""
    if rows is None or USABLE not in rows.schema.names:
        return rows_packet(rows, promise)
    joining = chosen(rows, rows.column(USABLE).to_numpy(zero_copy_only=False)).drop_columns([USABLE])
    counted = {"times": rows.select([TIME])} if rows.num_rows else {}
    return Packet(promise, {**rows_packet(joining, promise).tables, **counted})


def newest(rows_times: Any, lateness: int, before: int) -> int:
    """The watermark of a stream after rows of these times: rows that are late by no more are still in time.

    >>> import numpy as np
    >>> newest(np.array([100, 250, 170]), lateness=50, before=90)
    199
    """
    return max(before, int(rows_times.max()) - lateness - 1) if len(rows_times) else before
