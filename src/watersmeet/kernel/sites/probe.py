"""Heads meet a whole window at one site: SP-S and SP-D of Tran & Lee 2010.

For SP-D heads travel to the window, for SP-S the stream travels to the heads, where it has a window of its
own. What happens then is the same. A head waits until all rows before it have come:

    window:  rows of 3, 4, 8      watermark 8
    heads:   5 joins              9 waits
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from watersmeet.kernel.sites.held import Held
from watersmeet.kernel.sites.packet import END, START, Packet, rows_packet
from watersmeet.kernel.sites.part import Sent
from watersmeet.kernel.sites.window import SiteWindow
from watersmeet.plan.sites.step import JoinStep


class Probe:
    """A part that joins heads with a window at its site."""

    def __init__(self, name: str, step: JoinStep, window: SiteWindow) -> None:
        """No head has come."""
        self.name, self.step, self.window = name, step, window
        self.held = Held()
        self.heads = START
        self.done = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take heads, or notice that the window has got further; yields results."""
        if port == "heads":
            self.held.add(packet.rows)
            self.heads = packet.watermark
        until = min(self.heads, self.window.watermark)
        # Heads that came out of order earlier may be due though no promise has moved.
        due = self.held.take(self.window.watermark)
        results = None
        if due is not None:
            self.work["probe"] += due.num_rows * self.window.store.rows
            results = self.window.join(self.step, due)
        if until > self.done or results is not None:
            self.done = max(self.done, until)
            yield "out", rows_packet(results, self.done)
            self.window.release(self.name, self.done)

    @property
    def rows_held(self) -> int:
        """None of its own: they are the window's."""
        return 0

    @property
    def rows_waiting(self) -> int:
        """Heads that wait until the window has got as far."""
        return self.held.count

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.done >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        return self.held.save("held") | {"probe": (self.heads, self.done)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.held.restore("held", kept)
        self.heads, self.done = kept["probe"]
