"""SM-D1 of Tran & Lee 2010 (Algorithm 5): send only heads whose key the window has.

    head side                                     window side
    knows all keys of the window      <- changes  after every change of the window
    heads that have one of them       heads ->    join the window

With Bloom filters the changes are one filter per change of the window, of the keys of the rows that came. A
filter is let go of when no row that came before its last one is alive; which keys are gone need not be
told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.bloom import bloom_filter, from_table, passing, to_table
from watersmeet.kernel.sites.held import Held
from watersmeet.kernel.sites.key_table import arrived_keys
from watersmeet.kernel.sites.live_keys import LiveKeys
from watersmeet.kernel.sites.mixed import MixedWindow
from watersmeet.kernel.sites.packet import (
    END,
    START,
    Packet,
    chosen,
    distinct,
    identities,
    keys_of,
    rows_packet,
    times,
)
from watersmeet.kernel.sites.part import Sent
from watersmeet.kernel.sites.window import REMOVE, SiteWindow, WindowSide
from watersmeet.plan.sites.bloom import SLICE_FILTER
from watersmeet.plan.sites.step import JoinStep


class Sifting:
    """The head side: it has the heads and knows the keys of the window."""

    def __init__(self, step: JoinStep) -> None:
        """Nothing is known of the window."""
        self.step = step
        self.mixed = MixedWindow()
        # Per change of the window its last time and its filter.
        self.filters: list[tuple[int, Any]] = []
        self.held = Held()
        self.heads = self.current = self.done = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take heads, or changes of the window."""
        if port == "heads":
            self.held.add(packet.rows)
            self.heads = packet.watermark
        else:
            self._changed(packet)
        due = self.held.take(self.current)
        left = None
        if due is not None:
            self.work["hash"] += due.num_rows
            left = chosen(due, self._met(due))
        until = min(self.heads, self.current)
        if until > self.done or (left is not None and left.num_rows):
            self.done = max(self.done, until)
            yield "rows", rows_packet(left, self.done)

    def _changed(self, packet: Packet) -> None:
        if "keys" in packet.tables:
            keys = arrived_keys(packet.tables["keys"], self.step.window_key)
            self.mixed.add(identities(keys).tolist())
        if "counts" in packet.tables:
            serials, counts = (column.to_pylist() for column in packet.tables["counts"].columns)
            self.mixed.count(zip(serials, counts, strict=True))
        if "filter" in packet.tables:
            self.filters.append((packet.numbers["latest"], from_table(packet.tables["filter"])))
        since = packet.numbers.get("since", START)
        self.filters = [(latest, bloom) for latest, bloom in self.filters if latest >= since]
        self.current = packet.watermark

    def _met(self, heads: pa.RecordBatch) -> Any:
        """Which heads have a key that the window has, or may have."""
        keys = keys_of(heads, self.step.head_key)
        found, first, inverse = distinct(keys)
        met = np.array([key in self.mixed.serials for key in found.tolist()], np.bool_)
        for _, bloom in self.filters:
            met |= passing(bloom, keys.hashes[first], SLICE_FILTER)
        return met[inverse]

    @property
    def rows_held(self) -> int:
        """None: it knows keys, not rows."""
        return 0

    @property
    def rows_waiting(self) -> int:
        """Heads that wait for changes of the window."""
        return self.held.count

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.done >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        marks = (self.heads, self.current, self.done)
        return self.held.save("held") | {"sifting": (self.mixed.save(), tuple(self.filters), marks)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.held.restore("held", kept)
        mixed, filters, (self.heads, self.current, self.done) = kept["sifting"]
        self.mixed = MixedWindow.restored(mixed)
        self.filters = list(filters)


class Sifted(WindowSide):
    """The window side: it has the window, tells its changes and joins the heads that come."""

    def __init__(self, name: str, step: JoinStep, window: SiteWindow, *, bloom: bool = False) -> None:
        """Nothing was told."""
        self.name, self.step, self.window, self.bloom = name, step, window, bloom
        self.live = LiveKeys(step, window, counted=not bloom)
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take a change of the window, or heads."""
        if port == "window":
            if REMOVE in packet.numbers:
                self.live.release(packet.numbers[REMOVE] - 1)
            yield "answer", self._change(packet)
            return
        results = None
        if packet.rows is not None:
            self.work["probe"] += packet.rows.num_rows * self.window.store.rows
            results = self.window.join(self.step, packet.rows)
        yield "out", rows_packet(results, packet.watermark)
        self.live.release(packet.watermark)
        self.window.release(self.name, packet.watermark)

    def _change(self, packet: Packet) -> Packet:
        tables = self.live.insert(packet, counts_of_all=False)
        if not self.bloom:
            return Packet(packet.watermark, tables)
        numbers = {} if self.live.since is None else {"since": self.live.since}
        if packet.rows is None:
            return Packet(packet.watermark, {}, numbers)
        keys = keys_of(packet.rows, self.step.window_key)
        _, first, _ = distinct(keys)
        numbers["latest"] = int(times(packet.rows).max())
        return Packet(
            packet.watermark, {"filter": to_table(bloom_filter(keys.hashes[first], SLICE_FILTER))}, numbers
        )

    def save(self) -> dict[str, Any]:
        """All state."""
        return {"sifted": self.live.save()}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.live.restore(kept["sifted"])
