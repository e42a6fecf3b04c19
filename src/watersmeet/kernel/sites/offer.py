"""SM-D2 of Tran & Lee 2010 (Algorithm 6): ask which keys match, then send the heads that have one of them.

    head side                                     window side
    heads of a packet wait            keys ->
                                                  waits until no row before the heads is missing
                                      <- matches  one bit per key
    heads that match                  heads ->    join the window

The paper sends the matching keys back, here it is one bit for each that was asked. With Bloom filters both
are filters. The window keeps the rows until the heads have come, so that nothing is set aside for them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.bloom import bloom_filter, from_table, passing, to_table
from watersmeet.kernel.sites.key_table import asked_table, wanted
from watersmeet.kernel.sites.packet import END, START, Packet, chosen, keys_of, rows_packet, times
from watersmeet.kernel.sites.part import Sent
from watersmeet.kernel.sites.window import SiteWindow, WindowSide
from watersmeet.plan.sites.step import JoinStep


class Offering:
    """The head side: it has the heads and sends those that are wanted."""

    def __init__(self, step: JoinStep, *, bloom: bool = False) -> None:
        """Nothing was offered."""
        self.step, self.bloom = step, bloom
        # Heads, for each of them the number of its key, and the promise that follows them.
        self.waiting: deque[tuple[pa.RecordBatch, Any, int]] = deque()
        self.done = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take heads, or the answer which of them match."""
        if port == "heads":
            if packet.rows is None:
                if self.waiting:
                    heads, numbers, _ = self.waiting[-1]
                    self.waiting[-1] = (heads, numbers, packet.watermark)
                else:
                    self.done = packet.watermark
                    yield "rows", rows_packet(None, packet.watermark)
                return
            keys, numbers = asked_table(packet.rows, self.step.head_key, bloom=self.bloom)
            self.waiting.append((packet.rows, numbers, packet.watermark))
            yield "ask", Packet(START, {"keys": keys}, {"latest": int(times(packet.rows).max())})
            return
        heads, numbers, promise = self.waiting.popleft()
        matching = from_table(packet.tables["match"])
        if self.bloom:
            met = passing(matching, keys_of(heads, self.step.head_key).hashes)
        else:
            met = np.unpackbits(matching).view(np.bool_)[numbers]
        self.done = promise
        yield "rows", rows_packet(chosen(heads, met), promise)

    @property
    def rows_held(self) -> int:
        """None: heads go on, or are dropped."""
        return 0

    @property
    def rows_waiting(self) -> int:
        """Heads whose question is not answered."""
        return sum(heads.num_rows for heads, _, _ in self.waiting)

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.done >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        return {"offering": (tuple(self.waiting), self.done)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        waiting, self.done = kept["offering"]
        self.waiting = deque(waiting)


class Choosing(WindowSide):
    """The window side: it has the window, says which keys it has and joins the heads that come."""

    def __init__(self, name: str, step: JoinStep, window: SiteWindow, *, bloom: bool = False) -> None:
        """Nothing was asked."""
        self.name, self.step, self.window, self.bloom = name, step, window, bloom
        self.waiting: deque[Packet] = deque()
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take a question, or heads, or notice that the window has got further."""
        if port == "rows":
            results = None
            if packet.rows is not None:
                self.work["probe"] += packet.rows.num_rows * self.window.store.rows
                results = self.window.join(self.step, packet.rows)
            yield "out", rows_packet(results, packet.watermark)
            self.window.release(self.name, packet.watermark)
            return
        if port == "ask":
            self.waiting.append(packet)
        while self.waiting and self.window.watermark >= self.waiting[0].numbers["latest"]:
            yield "answer", self._answer(self.waiting.popleft().tables["keys"])

    def _answer(self, keys: pa.RecordBatch) -> Packet:
        self.work["probe"] += keys.num_rows * self.window.store.rows
        found = wanted(self.window.store, self.step.window_key, keys)
        if self.bloom:
            hashes = [chunk.index(self.step.window_key)[0].hashes[rows] for chunk, _, rows in found]
            present = np.unique(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
            return Packet(START, {"match": to_table(bloom_filter(present))})
        met = np.zeros(keys.num_rows, np.bool_)
        for _, asked, _ in found:
            met[asked] = True
        return Packet(START, {"match": to_table(np.packbits(met))})

    def save(self) -> dict[str, Any]:
        """All state."""
        return {"choosing": tuple(self.waiting)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.waiting = deque(kept["choosing"])
