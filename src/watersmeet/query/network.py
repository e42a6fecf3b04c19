"""Which sites are linked, and what a link is like.

A network has one link for all pairs of sites, links for single pairs, or both. Without one for all, only the
pairs that are named can talk. A link is the same in both directions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.duration import describe_duration, duration
from watersmeet.query.stream import Stream, refuse_unusable_site

# Two sites, in alphabetical order.
Pair = tuple[str, str]

# Bytes per second; small b for bits, as networks are sold.
_SPEEDS = {
    "bps": 1 / 8,
    "kbps": 1e3 / 8,
    "Mbps": 1e6 / 8,
    "Gbps": 1e9 / 8,
    "B/s": 1.0,
    "kB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
}
_SPEED = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z/]+)\s*")
_FIELDS = ("latency", "bandwidth", "price")


@dataclass(frozen=True, slots=True)
class Link:
    """What lies between two sites.

    Attributes:
        latency: How long a byte takes.
        bandwidth: Bytes per second.
        price: Of a gigabyte, in any currency.
    """

    latency: timedelta = timedelta(0)
    bandwidth: float = math.inf
    price: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no link can be."""
        if self.latency < timedelta(0):
            raise InvalidQuery(
                "latency of a link is negative",
                f"it is {describe_duration(self.latency)}.",
                'write for example latency="25 ms".',
            )
        if not self.bandwidth > 0:
            raise InvalidQuery(
                "bandwidth of a link is not above zero",
                f"it is {self.bandwidth:g} bytes per second, so nothing would ever arrive.",
                "leave out the link if the two sites cannot talk.",
            )
        if not 0 <= self.price < math.inf:
            raise InvalidQuery(
                "price of a link is not a number from zero up",
                f"it is {self.price:g}.",
                "give the price of a gigabyte; zero if nothing is paid.",
            )


@dataclass(frozen=True, slots=True)
class Network:
    """Links between sites.

    Attributes:
        default: Between sites that have no link of their own; None if these cannot talk.
        links: By pair of sites, in alphabetical order.

    >>> cheap, dear = Link(price=0.01), Link(price=0.2)
    >>> net = Network(cheap, {("oslo", "tokyo"): dear})
    >>> net.between("tokyo", "oslo").price, net.between("oslo", "bonn").price
    (0.2, 0.01)
    >>> Network(links={("oslo", "tokyo"): dear}).between("oslo", "bonn") is None
    True
    """

    default: Link | None = None
    links: Mapping[Pair, Link] = field(default_factory=dict)

    def between(self, one: str, other: str) -> Link | None:
        """The link of two different sites; None if there is none."""
        return self.links.get(_pair(one, other), self.default)


def network(
    *,
    latency: str | timedelta | None = None,
    bandwidth: str | float | None = None,
    price: float | None = None,
    links: Mapping[tuple[str, str], Mapping[str, Any]] | None = None,
) -> Network:
    """Describe the links between the sites of a query's streams.

    Args:
        latency: Of every link that does not say otherwise, for example ``"25 ms"``.
        bandwidth: Likewise, for example ``"100 Mbps"``, ``"2 MB/s"``, or a number of bytes per second.
        price: Likewise, of a gigabyte. Plans are chosen by what they cost, or where nothing has a price by
            the bytes they send.
        links: Links between single pairs of sites, each with its own latency, bandwidth and price. Without
            anything said for all links, only these exist.

    Example:
        >>> net = network(
        ...     latency="25 ms",
        ...     bandwidth="1 Gbps",
        ...     price=0.01,
        ...     links={("tokyo", "oslo"): {"latency": "140 ms", "price": 0.09}},
        ... )
        >>> net.between("oslo", "tokyo").price, net.between("oslo", "tokyo").bandwidth
        (0.09, 125000000.0)
    """
    given = {"latency": latency, "bandwidth": bandwidth, "price": price}
    general = {name: value for name, value in given.items() if value is not None}
    default = _link("every link", general, Link()) if general else None
    if links is not None and not isinstance(links, Mapping):
        raise InvalidQuery(
            "links are not given by pair of sites", f"they are {links!r}.", f"write {_EXAMPLE}."
        )
    if default is None and not links:
        raise InvalidQuery(
            "the network has no link",
            "neither one for all sites nor one for a pair.",
            f'say latency="25 ms" for all, or name pairs: {_EXAMPLE}.',
        )
    found: dict[Pair, Link] = {}
    for sites, fields in (links or {}).items():
        pair = _sites(sites)
        if pair in found:
            raise InvalidQuery(
                f'the link between "{pair[0]}" and "{pair[1]}" is given twice',
                "it is the same in both directions.",
                "give one.",
            )
        found[pair] = _link(f'the link between "{pair[0]}" and "{pair[1]}"', fields, default or Link())
    return Network(default, found)


_EXAMPLE = 'links={("tokyo", "oslo"): {"latency": "140 ms", "price": 0.09}}'


def refuse_unfit_network(streams: Sequence[Stream], given: Network | None) -> None:
    """Raise InvalidQuery if sites of streams and links do not fit together."""
    without = [stream.name for stream in streams if stream.site is None]
    sites = sites_of(streams)
    if given is not None and not isinstance(given, Network):
        raise InvalidQuery(
            "this is not a network",
            f"it is {type(given).__name__}.",
            'make one: wm.network(latency="25 ms", bandwidth="1 Gbps").',
        )
    if not sites:
        if given is not None:
            raise InvalidQuery(
                "there is a network, but no stream has a site",
                f"the streams are {choices(without)}.",
                f'say where rows arrive: wm.stream("{without[0]}", ..., site="tokyo").',
            )
        return
    if without:
        raise InvalidQuery(
            f'stream "{without[0]}" has no site',
            f"others arrive at {choices(sites)}.",
            f'say where its rows arrive: wm.stream("{without[0]}", ..., site="{sites[0]}").',
        )
    for one, other in pairwise(sorted(sites, key=str.lower)):
        if one.lower() == other.lower():
            raise InvalidQuery(
                f'sites "{one}" and "{other}" differ in upper and lower case only',
                "their folders would be one on some machines.",
                "rename one of them.",
            )
    for pair in () if given is None else given.links:
        for site in pair:
            if site not in sites:
                raise InvalidQuery(
                    f'no stream arrives at site "{site}"',
                    f'there is a link between "{pair[0]}" and "{pair[1]}".',
                    f"the sites are {choices(sites)}.",
                )


def sites_of(streams: Iterable[Stream]) -> list[str]:
    """The sites of some streams, each once, in order."""
    return sorted({stream.site for stream in streams if stream.site is not None})


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one <= other else (other, one)


def _sites(sites: Any) -> Pair:
    if not isinstance(sites, tuple) or len(sites) != 2:
        raise InvalidQuery("a link is not between two sites", f"it is {sites!r}.", f"write {_EXAMPLE}.")
    for site in sites:
        refuse_unusable_site(site, "a link")
    if sites[0] == sites[1]:
        raise InvalidQuery(
            f'a link leads from site "{sites[0]}" to itself',
            "what stays at a site needs none.",
            "name two sites.",
        )
    return _pair(*sites)


def _link(what: str, given: Any, default: Link) -> Link:
    """A link as people write it, with what is left out from another."""
    if not isinstance(given, Mapping):
        raise InvalidQuery(f"{what} is not a table", f"it is {given!r}.", f"write {_EXAMPLE}.")
    for name in given:
        if name not in _FIELDS:
            raise InvalidQuery(
                f'{what} has no "{name}"', f"there are {len(_FIELDS)}.", f"valid are {choices(_FIELDS)}."
            )
    read: dict[str, Callable[[str, Any], Any]] = {
        "latency": _latency,
        "bandwidth": _bandwidth,
        "price": _price,
    }
    try:
        return replace(default, **{name: read[name](what, value) for name, value in given.items()})
    except InvalidQuery as error:
        # Which link it is, where the link itself did not know.
        fact = error.fact.replace("of a link", f"of {what}")
        raise InvalidQuery(fact, error.detail, error.hint) from None


def _latency(what: str, value: Any) -> timedelta:
    return duration(value, f"latency of {what}", InvalidQuery, "25 ms")


def _bandwidth(what: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = _SPEED.fullmatch(value) if isinstance(value, str) else None
    speeds = {unit.lower() if unit.endswith("bps") else unit: speed for unit, speed in _SPEEDS.items()}
    # "mbps" means what "Mbps" does, but "Mb/s" is not "MB/s".
    unit = "" if found is None else found[2].lower() if found[2].lower().endswith("bps") else found[2]
    if found is None or unit not in speeds:
        raise InvalidQuery(
            f"bandwidth of {what} cannot be read",
            f"it is {value!r}.",
            f'write a number and a unit, for example "100 Mbps"; units are {choices(_SPEEDS)}.',
        )
    return float(found[1]) * speeds[unit]


def _price(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidQuery(
            f"price of {what} is not a number",
            f"it is {value!r}.",
            "give the price of a gigabyte; zero if nothing is paid.",
        )
    return float(value)
