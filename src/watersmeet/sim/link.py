"""Links between simulated sites: first in, first out, with latency, bandwidth, jitter and failures.

    ready ......... on the link for size / bandwidth ......... latency + jitter ......... there
                    waits for messages before it, and for the end of a failure

A message never overtakes another on the same link.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from watersmeet.errors import InvalidSimulation

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class LinkModel:
    """How a link behaves; the other direction is a link of its own that behaves alike.

    Attributes:
        latency: Seconds from one end to the other.
        bandwidth: Bytes per second.
        jitter: Up to so many seconds more, at random, for every message.
        failures: Spans of time, in seconds, in which nothing enters the link.
    """

    latency: float = 0.025
    bandwidth: float = math.inf
    jitter: float = 0.0
    failures: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no link can be."""
        for name in ("latency", "jitter"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise InvalidSimulation(f"{name} of a link must be 0 s or more", f"it is {value}.")
        if not self.bandwidth > 0:
            raise InvalidSimulation("bandwidth of a link must be above 0", f"it is {self.bandwidth}.")
        for begin, end in self.failures:
            if not 0 <= begin <= end < math.inf:
                raise InvalidSimulation(
                    "a failure of a link must end after it began", f"it lasts from {begin} s to {end} s."
                )


@dataclass(slots=True)
class Traffic:
    """What went over a link.

    Attributes:
        messages: How often something was sent.
        promises: Messages among them that only say how far a stream is.
        packets: What they were made of.
        rows: Full rows in them, without keys and counts.
        bytes: How long they were.
        busy: Seconds they took, latency and bytes over bandwidth, added up.
        transmission: The same without promises, which the papers do not send.
    """

    messages: int = 0
    promises: int = 0
    packets: int = 0
    rows: int = 0
    bytes: int = 0
    busy: float = 0.0
    transmission: float = 0.0


@dataclass(slots=True)
class Link:
    """One direction of a link at work; times in microseconds."""

    model: LinkModel
    random: Random
    traffic: Traffic = field(default_factory=Traffic)
    _free: int = 0
    _last: int = 0

    def arrival(self, now: int, size: int, *, promise: bool = False) -> int:
        """When a message of this many bytes, ready now, is there."""
        begin = max(now, self._free)
        for down, up in sorted(self.model.failures):
            if down * SECOND <= begin < up * SECOND:
                begin = math.ceil(up * SECOND)
        self._free = begin + math.ceil(size / self.model.bandwidth * SECOND)
        delay = self.model.latency + self.random.uniform(0, self.model.jitter)
        self._last = max(self._last, self._free + math.ceil(delay * SECOND))
        taken = self.model.latency + size / self.model.bandwidth
        self.traffic.messages += 1
        self.traffic.bytes += size
        self.traffic.busy += taken
        if promise:
            self.traffic.promises += 1
        else:
            self.traffic.transmission += taken
        return self._last


# The link from a site to another.
Links = Callable[[str, str], LinkModel]
