"""Rows go different ways by the group of values their key belongs to (Zhou et al. 2006, Sect. 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.sites.packet import END, START, Packet, chosen, keys_of, rows_packet
from watersmeet.kernel.sites.part import Sent
from watersmeet.plan.sites.wiring import SplitSpec


class Split:
    """A part that routes rows by key."""

    def __init__(self, spec: SplitSpec) -> None:
        """Nothing has come; the table of values is made when the type of the key is known."""
        self.key, self.ways, self.other = spec.key, spec.ways, spec.other
        self.values = spec.values
        self._table: tuple[Any, Any] | None = None
        self.done = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Send rows on, each one way, and the promise all ways."""
        rows = packet.rows
        ways = None
        if rows is not None:
            self.work["hash"] += rows.num_rows
            ways = np.full(rows.num_rows, self.other, np.int64)
            if self.values[0]:
                known, way = self._by_hash(rows.column(self.key[0]).type)
                hashes = keys_of(rows, self.key).hashes
                place = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
                listed = known[place] == hashes
                ways[listed] = way[place[listed]]
        self.done = packet.watermark
        for way in range(self.ways):
            mine = None if rows is None else chosen(rows, ways == way)
            yield f"way {way}", rows_packet(mine, packet.watermark)

    def _by_hash(self, kind: pa.DataType) -> tuple[Any, Any]:
        """The hashes of the listed values, in order, and the way of each.

        Values must be hashed as the column is, so they take its type.
        """
        if self._table is None:
            values, ways = self.values
            hashes = encode_keys([pa.array(values, kind)]).hashes
            order = np.argsort(hashes, kind="stable")
            self._table = hashes[order], np.array(ways, np.int64)[order]
        return self._table

    @property
    def rows_held(self) -> int:
        """None: all rows go on."""
        return 0

    @property
    def rows_waiting(self) -> int:
        """None: they go on at once."""
        return 0

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.done >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        return {"split": self.done}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.done = kept["split"]
