"""Rows go different ways by the group of values their key belongs to (Zhou et al. 2006, Sect. 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from watersmeet.kernel.sites.packet import END, START, Packet, chosen, keys_of, rows_packet
from watersmeet.kernel.sites.part import Sent
from watersmeet.plan.sites.wiring import SplitSpec


class Split:
    """A part that routes rows by key."""

    def __init__(self, spec: SplitSpec) -> None:
        """Prepare the table of values."""
        self.key, self.ways, self.other = spec.key, spec.ways, spec.other
        hashes, ways = spec.values
        self.hashes = np.array(hashes, np.uint64)
        self.way = np.array(ways, np.int64)
        self.done = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Send rows on, each one way, and the promise all ways."""
        rows = packet.rows
        ways = None
        if rows is not None:
            self.work["hash"] += rows.num_rows
            ways = np.full(rows.num_rows, self.other, np.int64)
            if len(self.hashes):
                hashes = keys_of(rows, self.key).hashes
                place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
                listed = self.hashes[place] == hashes
                ways[listed] = self.way[place[listed]]
        self.done = packet.watermark
        for way in range(self.ways):
            mine = None if rows is None else chosen(rows, ways == way)
            yield f"way {way}", rows_packet(mine, packet.watermark)

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
