"""The parts of a join: state machines that take packets and send packets, and neither clock nor files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol

from watersmeet.kernel.sites.packet import Packet

# By which way a packet leaves a part, and the packet.
Sent = tuple[str, Packet]


class Part(Protocol):
    """Something that runs at one site.

    What it does depends on the packets it got and on their order on each way, never on when they came.
    """

    @property
    def work(self) -> Counter[str]:
        """Elementary operations done so far: ``probe``, ``insert``, ``expire``, ``hash``."""

    @property
    def rows_held(self) -> int:
        """Rows kept so that rows to come can meet them, copies included."""

    @property
    def rows_waiting(self) -> int:
        """Rows that nothing was done with yet: others have to come, or an answer, before they go on."""

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen: all that it waits for has ended."""

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:
        """Take a packet that came by a way from a part, and yield what to send."""

    def save(self) -> dict[str, Any]:
        """All state, as values that never change: the same object as before need not be kept again."""

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
