"""Streams at sites, links between them, and the work of joining over a network (Tran & Lee 2010, Table 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from watersmeet.errors import InvalidQuery


def _check(what: str, value: float, rule: str, *, holds: bool) -> None:
    if not holds:
        raise InvalidQuery(f"{what} must be {rule}", f"it is {value:g}.")


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of work per second of arrivals, on links and at nodes.

    >>> (Work(3.0, 0.5) + Work(1.0, 0.25)).total
    4.75
    """

    transmission: float = 0.0
    processing: float = 0.0

    @property
    def total(self) -> float:
        """Both together."""
        return self.transmission + self.processing

    def __add__(self, other: Work) -> Work:
        return Work(self.transmission + other.transmission, self.processing + other.processing)


@dataclass(frozen=True, slots=True)
class SiteStream:
    """A stream, or the results of earlier steps, as they arrive at a node.

    Attributes:
        node: Where its rows arrive.
        rate: Rows per second.
        window: How long a row is kept, seconds.
        distinct: Number of distinct keys, all equally frequent: 1 / f in the paper.
        full: Bytes of a row.
        partial: Bytes of its key.
    """

    node: int
    rate: float
    window: float
    distinct: float
    full: float
    partial: float

    def __post_init__(self) -> None:
        """Refuse what no stream can be."""
        where = f"of the stream at node {self.node}"
        _check(f"rate {where}", self.rate, "0 or more", holds=0 <= self.rate < math.inf)
        _check(f"window {where}", self.window, "above 0 s", holds=0 < self.window < math.inf)
        _check(f"distinct keys {where}", self.distinct, "1 or more", holds=1 <= self.distinct < math.inf)
        _check(f"bytes of a key {where}", self.partial, "above 0", holds=0 < self.partial < math.inf)
        roomy = self.partial <= self.full < math.inf
        _check(f"bytes of a row {where}", self.full, "those of its key or more", holds=roomy)

    @property
    def held(self) -> float:
        """Expected rows in the window."""
        return self.rate * self.window


@dataclass(frozen=True, slots=True)
class Link:
    """What lies between two nodes: seconds of latency, bytes per second.

    >>> Link(latency=0.025, bandwidth=128_000).time(12_800)
    0.125
    """

    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        """Refuse what no link can be; infinite bandwidth stands for no link at all."""
        _check("latency of a link", self.latency, "0 s or more", holds=0 <= self.latency < math.inf)
        _check("bandwidth of a link", self.bandwidth, "above 0", holds=self.bandwidth > 0)

    def time(self, size: float) -> float:
        """S(x) of the paper: how long a message of this many bytes takes."""
        return self.latency + size / self.bandwidth


# Streams at the same node need no link.
HERE = Link(latency=0.0, bandwidth=math.inf)


@dataclass(frozen=True, slots=True)
class Constants:
    """Seconds per elementary operation; the paper names them and gives no values.

    Attributes:
        probe: To compare a row with one row of a window, c_p.
        insert: To add a row to a window, c_i.
        update: To add one and to remove an expired one, c_u.
        hashing: To look a key up, c_h.
        message: Bytes of a number sent on its own.
    """

    probe: float = 1e-6
    insert: float = 1e-6
    update: float = 1e-6
    hashing: float = 1e-6
    message: float = 4.0

    def __post_init__(self) -> None:
        """Refuse operations that give time back."""
        for name in self.__slots__:
            value = getattr(self, name)
            _check(f"constant {name}", value, "0 or more", holds=0 <= value < math.inf)


@dataclass(frozen=True, slots=True)
class Setting:
    """How the streams are processed, and how literally the formulas are taken.

    Attributes:
        tick: Arrivals are processed in batches of this many seconds, the paper's execution interval.
        constants: What elementary operations take.
        literal_keys: Table 4 lets a batch or window have all keys of its stream, even if it has fewer rows
            than the stream has keys. By default it has no more keys than rows.
        literal_empty: The formulas charge a latency for messages without content. By default nothing is sent
            then, as the paper's own explanation of Fig. 7 has it.
        detailed: Also charge what the formulas of SM-S2 and SM-D1 leave out: the counts by which the
            other side learns what has expired, and that SM-S2 answers a key with all its rows, not one.
    """

    tick: float = 0.1
    constants: Constants = field(default_factory=Constants)
    literal_keys: bool = False
    literal_empty: bool = False
    detailed: bool = False

    def __post_init__(self) -> None:
        """Refuse a tick that never passes."""
        _check("tick", self.tick, "above 0 s", holds=0 < self.tick < math.inf)

    def shipping(self, link: Link, *sizes: float) -> float:
        """Seconds per second to send messages of these many bytes at every tick."""
        return sum(link.time(size) for size in sizes if size or self.literal_empty) / self.tick


DEFAULT = Setting()
