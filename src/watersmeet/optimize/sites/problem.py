"""Streams at sites, what is known about them, and what sending between sites costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from watersmeet.cost.site_bytes import Exchange, Sent
from watersmeet.optimize.sites.key_groups import Streams
from watersmeet.optimize.sites.meetings import Exchanges, Meetings
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.query import JoinQuery
from watersmeet.query.network import Network, sites_of

_GIGABYTE = 1e9
SECONDS_PER_DAY = 86_400
# Links without a price, beside others that have one: bytes decide between plans that cost the same.
_ALMOST_NOTHING = 1e-6

# Where too little is known, keys are asked for before rows are sent. That is seldom much worse than sending
# all rows, and where few rows have a partner it is far better. SM-S1 only where results must come out at the
# heads, since of two sites only some are linked.
_UNKNOWN: Exchanges = {
    Algorithm.SM_D2: Exchange(there=Sent(1.0, 1.0)),
    Algorithm.SM_S1: Exchange(back=Sent(1.0, 1.01)),
}


@dataclass(frozen=True)
class SiteProblem:
    """What a plan between sites is chosen for.

    Attributes:
        query: What is joined.
        network: What lies between sites; None for the same between all.
        meetings: What joins send, by what is known.
    """

    query: JoinQuery
    network: Network | None
    meetings: Meetings

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """Where each stream arrives."""
        return tuple(stream.site or "" for stream in self.query.streams)

    @cached_property
    def places(self) -> list[str]:
        """Every site once, in order."""
        return sites_of(self.query.streams)

    @cached_property
    def known(self) -> bool:
        """Whether costs are bytes or prices, or only an order."""
        return self.meetings.known

    @cached_property
    def priced(self) -> bool:
        """Whether anything has a price."""
        return self._dearest > 0

    @cached_property
    def _dearest(self) -> float:
        links = () if self.network is None else (self.network.default, *self.network.links.values())
        return max((link.price for link in links if link is not None), default=0.0)

    def price(self, one: str, other: str) -> float:
        """What a byte per second between two sites costs: itself, or its price for a day."""
        if one == other:
            return 0.0
        if self.network is None or not self.priced:
            return 1.0
        link = self.network.between(one, other)
        return math.inf if link is None else link.price * SECONDS_PER_DAY / _GIGABYTE

    def weight(self, one: str, other: str) -> float:
        """The same for a search: infinite without a link, and never nothing."""
        if self.network is not None and one != other and self.network.between(one, other) is None:
            return math.inf
        least = _ALMOST_NOTHING * self._dearest * SECONDS_PER_DAY / _GIGABYTE
        return 0.0 if one == other else self.price(one, other) + least

    def cost(self, exchange: Exchange, heads_at: str, window_at: str) -> float:
        """What two sites send each other."""
        return (
            0.0
            if heads_at == window_at
            else self.weight(heads_at, window_at) * (exchange.there.bytes + exchange.back.bytes)
        )

    def moving(self, sent: Sent, one: str, other: str) -> float:
        """What it costs to send something from one site to another."""
        return 0.0 if one == other else self.weight(one, other) * sent.bytes

    def exchanges(self, done: Streams, heads: Streams, joined: Streams, *, ends: bool = False) -> Exchanges:
        """What every algorithm sends when results of some streams look into the window of others."""
        found = self.meetings.exchanges(done, heads, joined, ends=ends) if self.known else None
        return _UNKNOWN if found is None else found

    def shipped(self, streams: Streams, heads: Streams | None = None, *, share: float = 1.0) -> Sent:
        """What it takes to send a stream, or results that are kept where they come, or a share of them."""
        if not self.known:
            return Sent(float(len(streams)), float(len(streams)))
        if heads is not None:
            share *= _ratio(self.meetings.rate(streams, heads), self.meetings.rate(streams))
        # A join at a site sends on what every input's packet leads to.
        packets = float(len(streams)) if heads is None else 1.0
        return self.meetings.shipped(streams, ends=True, packets=packets, share=share)

    def adjacent(self, done: Streams) -> list[int]:
        """The streams that can be joined next: those that something links, or else any."""
        rest = [stream for stream in range(len(self.query.streams)) if stream not in done]
        return [stream for stream in rest if self.linked(done, frozenset({stream}))] or rest

    def linked(self, left: Streams, right: Streams) -> bool:
        """Whether an equality or a condition links two sets of streams."""
        edges = [set(attribute.streams) for attribute in self.query.attributes]
        edges += [set(condition.streams) for condition in self.query.conditions]
        return any(edge & left and edge & right for edge in edges)


def _ratio(part: float | None, whole: float | None) -> float:
    return part / whole if part and whole else 0.0
