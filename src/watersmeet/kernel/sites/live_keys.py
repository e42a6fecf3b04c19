"""A window whose keys are known elsewhere: what has come and gone since that was last told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.key_table import key_table
from watersmeet.kernel.sites.mixed import KeyCounts
from watersmeet.kernel.sites.packet import Packet, ends, identities, keys_of, times
from watersmeet.kernel.sites.window import SiteWindow
from watersmeet.plan.sites.step import JoinStep


class LiveKeys:
    """The rows of a window that some head can still meet, and the counts of their keys."""

    def __init__(self, step: JoinStep, window: SiteWindow, *, counted: bool = True) -> None:
        """The window is empty; without `counted` only its rows are kept track of, not its keys."""
        self.step, self.window, self.counted = step, window, counted
        self.counts = KeyCounts()
        self.gone: list[int] = []
        # Number, number of the key, time and end of every row.
        self.rows = np.empty((4, 0), np.int64)
        self.inserted = 0

    def insert(self, packet: Packet, *, counts_of_all: bool) -> dict[str, pa.RecordBatch]:
        """Rows have come; what to tell, together with what was removed since the last time.

        Args:
            packet: The rows, as the window has just taken them.
            counts_of_all: Whether the other side has rows too, so that counts and times matter; else it only
                has to know which keys are gone.
        """
        rows = packet.rows
        keys = []
        if rows is not None and self.counted:
            keys = identities(keys_of(rows, self.step.window_key)).tolist()
        update = self.counts.change(keys, self.gone)
        self.gone = []
        tables = {}
        if counts_of_all and "times" in packet.tables:
            tables["times"] = packet.tables["times"]
        if rows is not None:
            numbers = self.inserted + np.arange(rows.num_rows)
            self.inserted += rows.num_rows
            serials = update.serials if self.counted else np.zeros(rows.num_rows, np.int64)
            fresh = np.array([numbers, serials, times(rows), ends(rows, self.window.store.reach)])
            self.rows = np.concatenate([self.rows, fresh], axis=1)
            if update.new:
                tables["keys"] = key_table(rows, self.step.window_key, update.new)
            if update.following:
                tables["rows"] = rows.take(pa.array(update.following))
        pulled = self.counts.pulled if counts_of_all else set()
        told = {s: count for s, count in update.counts.items() if not count or s in pulled}
        if told:
            tables["counts"] = pa.record_batch(
                [pa.array(list(told), pa.int64()), pa.array(list(told.values()), pa.int32())],
                ["serial", "count"],
            )
        return tables

    def release(self, until: int) -> None:
        """Only heads after this time will come: remove the rows they cannot meet."""
        _, serials, starts, lasts = self.rows
        gone = lasts <= until
        if self.window.row_times is not None:
            at = np.full(len(starts), min(until, self.window.watermark))
            gone |= ~self.window.row_times.alive(starts, at)
        if gone.any():
            if self.counted:
                self.gone += serials[gone].tolist()
            self.rows = self.rows[:, ~gone]

    def of(self, serials: list[int]) -> pa.RecordBatch | None:
        """The rows of keys, by their numbers, in the order of time."""
        numbers = self.rows[0][np.isin(self.rows[1], serials)]
        return self.window.store.numbered(numbers) if len(numbers) else None

    @property
    def since(self) -> int | None:
        """The time of the oldest row that a head can still meet."""
        return int(self.rows[2].min()) if self.rows.shape[1] else None

    def save(self) -> Any:
        """All state."""
        return self.counts.save(), tuple(self.gone), self.rows, self.inserted

    def restore(self, kept: Any) -> None:
        """Take back the state."""
        counts, gone, self.rows, self.inserted = kept
        self.counts = KeyCounts.restored(counts)
        self.gone = list(gone)
