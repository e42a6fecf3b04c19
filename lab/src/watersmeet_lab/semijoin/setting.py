"""What the experiments of Tran & Lee 2010 have in common: links, join graphs, random streams (Sect. 5)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from watersmeet.cost.site import Link, SiteStream
from watersmeet.optimize.papers.tran_lee.plan import Network, SitesQuery

# 1024 Kbps; the paper also calls it 1 Mbps.
LINK = Link(latency=0.025, bandwidth=128_000)

# An attribute, so also a key, has five bytes.
KEY = 5.0

Graph = frozenset[tuple[int, int]]

# Fig. 6, for four streams.
GRAPHS: Mapping[str, Graph] = {
    "star": frozenset({(0, 1), (0, 2), (0, 3)}),
    "chain": frozenset({(0, 1), (1, 2), (2, 3)}),
    "cycle": frozenset({(0, 1), (1, 2), (2, 3), (0, 3)}),
    "fully connected": frozenset({(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}),
}

# Table 2.
ATTRIBUTES = (10, 50, 100, 150, 200)
KEY_FRACTIONS = (0.02, 0.04, 0.06, 0.08, 0.1)
RATES = (10, 50, 100, 150, 200)
WINDOWS = (0.4, 0.8, 1.2, 1.6, 2.0)


def stream(
    node: int, *, attributes: float = 100, key_fraction: float = 0.06, rate: float = 100, window: float = 1.2
) -> SiteStream:
    """A stream in the paper's terms; by default one of Fig. 9.

    >>> stream(0).full
    500.0
    """
    return SiteStream(
        node=node, rate=rate, window=window, distinct=1 / key_fraction, full=KEY * attributes, partial=KEY
    )


def drawn_stream(node: int, rng: Random) -> SiteStream:
    """A stream with parameters drawn from Table 2."""
    return stream(
        node,
        attributes=rng.choice(ATTRIBUTES),
        key_fraction=rng.choice(KEY_FRACTIONS),
        rate=rng.choice(RATES),
        window=rng.choice(WINDOWS),
    )


def four_way(streams: tuple[SiteStream, ...], graph: str) -> SitesQuery:
    """The join of four streams, each at its own node."""
    return SitesQuery(streams, GRAPHS[graph], Network(LINK))
