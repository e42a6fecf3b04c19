"""The rule of Tran & Lee 2010 for delays (Sect. 3.2): fixed times instead of promises.

The kernels wait for promises and keep a row as long as somebody needs it, so nothing is lost however slow a
link is. The paper has two fixed times instead. For the rows of a tick, which all are there at time t:

    t            own windows take the rows in, rows and keys are sent
    t + probe    windows fed over the network are probed, whether or not everything has come
    t + removal  rows that ended before t are removed, whether or not somebody still needs them

At one instant messages are taken first, then windows are probed, then rows are removed. The host does all
this from outside: it holds back the promises of packets on their way into a copied window, makes them itself
when it is time, and tells windows what to remove. How long `removal` must be is found in
`docs/design/20261116-simulator.md`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.sites.node import Addressed, Node, Outcome
from watersmeet.kernel.sites.packet import START, Packet
from watersmeet.kernel.sites.window import REMOVE, SiteWindow
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.wiring import HeadSideSpec, TimeOrderSpec, WindowSideSpec, WindowSpec, Wiring

# The head_side sides that know the keys of a window elsewhere.
_KNOWING = frozenset({Algorithm.SM_S2, Algorithm.SM_D1, Algorithm.SM_D1_BLOOM})


@dataclass(frozen=True, slots=True)
class FixedDelay:
    """How long after a tick something is done, in seconds.

    Attributes:
        probe: When windows fed over the network are probed, the paper's delta.
        removal: When rows that have ended are removed. The paper takes delta again, which is too early for
            SM-S2 and SM-D1.
    """

    probe: float
    removal: float

    def __post_init__(self) -> None:
        """Refuse times before the tick."""
        for name in self.__slots__:
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise InvalidSimulation(f"{name} after a tick must be 0 s or more", f"it is {value}.")


class FixedRule:
    """The rule at work in a wiring."""

    def __init__(self, wiring: Wiring) -> None:
        """Find the windows, and the edges over which windows elsewhere are kept current."""
        parts = {part.name: part for part in wiring.parts}
        streams: dict[str, int] = {}
        # Per stream: where a window is, the edge that feeds it, and its name.
        self.windows: dict[int, list[tuple[str, int, str]]] = defaultdict(list)
        # Per stream: where something is that knows its window, and the edge by which it does.
        self.knowing: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self._assumed: dict[int, int] = {}
        for number, edge in enumerate(wiring.edges):
            window, sender = parts.get(edge.receiver), parts[edge.sender]
            if not isinstance(window, WindowSpec):
                continue
            if not isinstance(sender, TimeOrderSpec) or sender.stream is None or window.count is not None:
                raise _unfit(f'"{window.name}" is none.')
            streams[window.name] = sender.stream
            self.windows[sender.stream].append((window.site, number, window.name))
            if sender.site != window.site:
                self._know(sender.stream, window.site, number)
        for number, edge in enumerate(wiring.edges):
            head_side, window_side = parts.get(edge.receiver), parts[edge.sender]
            if (
                isinstance(head_side, HeadSideSpec)
                and isinstance(window_side, WindowSideSpec)
                and head_side.algorithm in _KNOWING
            ):
                self._know(streams[window_side.window], head_side.site, number)

        if not streams:
            raise _unfit("joins that are placed as a whole have none.")

    def _know(self, stream: int, site: str, number: int) -> None:
        self.knowing[stream].append((site, number))
        self._assumed[number] = START

    def held_back(self, packets: Iterable[Addressed]) -> list[Addressed]:
        """Packets without promises that it is not time for."""
        return [
            (number, replace(packet, watermark=self._assumed[number]))
            if number in self._assumed
            else (number, packet)
            for number, packet in packets
        ]

    def assume(self, number: int, watermark: int, node: Node) -> Outcome:
        """By now everything up to a time has come over an edge, as window_side as anybody waits for it."""
        self._assumed[number] = max(self._assumed[number], watermark)
        return node.on_packets([(number, Packet(self._assumed[number]))])

    def remove(self, number: int, name: str, before: int, node: Node) -> Outcome:
        """Remove the rows of a window that ended before a time."""
        window = node.parts[name]
        assert isinstance(window, SiteWindow)
        return node.on_packets([(number, Packet(window.watermark, {}, {REMOVE: before}))])


def _unfit(detail: str) -> InvalidSimulation:
    return InvalidSimulation(
        "the fixed delays of Tran & Lee are for windows of time of whole streams",
        detail,
        "join by sequences, or leave the fixed delays out.",
    )
