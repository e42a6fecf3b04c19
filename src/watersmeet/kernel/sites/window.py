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
from dataclasses import replace
from typing import Any

import numpy as np

from watersmeet.kernel.shares import Shares
from watersmeet.kernel.sites.live_rows import LiveRows
from watersmeet.kernel.sites.packet import END, START, Packet, chosen, ends, times
from watersmeet.kernel.sites.part import Sent
from watersmeet.plan.sites.wiring import Share

# In a packet to a window, and from it to its readers: rows that end before this time are gone.
REMOVE = "remove"


class SiteWindow(LiveRows):
    """A part that holds the rows of a stream, or of intermediate results.

    Attributes:
        watermark: All rows up to here have come.
        done: How far each reader is.
    """

    def __init__(
        self, reach: int, count: int | None, readers: Sequence[str], share: Share | None = None
    ) -> None:
        """An empty window for these readers, of all rows that come or of a share of them."""
        super().__init__(reach, count)
        self.slice = 0 if share is None else share.slice
        self.shares = None if share is None else Shares(share.slices, share.slices)
        self.watermark = START
        self.done = dict.fromkeys(readers, START)
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Rows have come; readers at the site are woken."""
        mine = self._mine(packet)
        self.take(mine)
        self.work["insert"] += 0 if mine.rows is None else mine.rows.num_rows
        self.watermark = packet.watermark
        if REMOVE in packet.numbers:
            before = self.store.rows
            self.store.remove(packet.numbers[REMOVE])
            self.work["expire"] += before - self.store.rows
        # Readers may be done with heads that have come so far, or for good.
        self._drop()
        yield "out", packet

    def _mine(self, packet: Packet) -> Packet:
        """The packet with only those rows that are stored here; all slices get the same packets."""
        rows = packet.rows
        if rows is None or self.shares is None:
            return packet
        # What the stream has promised is the same for all slices, unlike how far their readers are.
        # Rows come in the same order everywhere, so that their place tells them apart.
        owners = self.shares.owners(
            times(rows),
            ends(rows, self.store.reach),
            self.watermark,
            lambda: np.arange(rows.num_rows),
        )
        return replace(packet, tables={**packet.tables, "rows": chosen(rows, owners == self.slice)})

    def release(self, reader: str, until: int) -> None:
        """A reader will only look for partners of rows after this time."""
        self.done[reader] = max(self.done[reader], until)
        self._drop()

    def _drop(self) -> None:
        before = self.store.rows
        self.expire(min(self.done.values()))
        self.work["expire"] += before - self.store.rows

    @property
    def rows_held(self) -> int:
        """The rows of the window."""
        return self.store.rows

    @property
    def rows_waiting(self) -> int:
        """None: what comes is stored at once."""
        return 0

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return min(self.watermark, *self.done.values()) >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        pieces = None if self.shares is None else tuple(self.shares.pieces)
        return super().save() | {"window": (self.watermark, dict(self.done), pieces)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        super().restore(kept)
        self.watermark, self.done, pieces = kept["window"]
        if self.shares is not None:
            self.shares.pieces = list(pieces)


class WindowSide:
    """The side of a semijoin that has the window: its rows are the window's, and heads wait elsewhere.

    Attributes:
        name: The part, as the window knows it.
        window: The window it reads.
    """

    name: str
    window: SiteWindow

    @property
    def rows_held(self) -> int:
        """None of its own."""
        return 0

    @property
    def rows_waiting(self) -> int:
        """None: questions are answered, and heads that come are joined, at once."""
        return 0

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.window.done[self.name] >= END
