"""What planners are told: rates, windows, sizes and how often values occur, as the workload says them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from watersmeet.cost.attribute_traffic import AttributeTraffic, SharedAttribute
from watersmeet.cost.site import Link, Setting, SiteStream
from watersmeet.cost.traffic import Feed, ValueTraffic
from watersmeet.optimize.papers.tran_lee.plan import Network, SitesQuery
from watersmeet.plan.sites.algorithm import PUBLISHED, Algorithm
from watersmeet.sim.distribution import Floats
from watersmeet.sim.link import SECOND
from watersmeet.sim.replay import Replayed
from watersmeet.sim.scenario import Scenario

# Of a number or a time.
_BYTES = 8
# What planners take for the latency between sites without a link: plans that need it come last.
_NO_LINK = 1e6


@dataclass(frozen=True, slots=True)
class Known:
    """Figures of one stream.

    Attributes:
        rate: Rows per second.
        window: How long a row lives, seconds.
        row_bytes: Bytes of a row as it travels.
        values: Per column that is joined on the share of every value.
    """

    rate: float
    window: float
    row_bytes: float
    values: Mapping[str, Mapping[Any, float]]

    @property
    def distinct(self) -> float:
        """So many values, all equally frequent, would meet each other as often: 1 / sum of p^2.

        A stream that is joined on several columns has the largest number of them.
        """
        return max((1 / sum(p * p for p in shares.values()) for shares in self.values.values()), default=1.0)

    @property
    def key_bytes(self) -> float:
        """Bytes of a key."""
        texts = [
            len(value)
            for shares in self.values.values()
            for value in shares
            if isinstance(value, str | bytes)
        ]
        return sum(texts) / len(texts) if texts else _BYTES


def known_streams(scenario: Scenario) -> list[Known]:
    """The figures of every stream."""
    found = []
    for number, stream in enumerate(scenario.streams):
        if isinstance(stream.feed, Replayed):
            counted = scenario.profiles[number]
            rate, size = counted.rate, counted.row_bytes
            values = {
                name: {value: count / counted.rows for value, count in counter.items()}
                for name, counter in counted.values.items()
            }
        else:
            feed = stream.feed
            rate, size = feed.rate, _BYTES * (1 + len(feed.columns)) + feed.payload
            joined = {
                member.column
                for attribute in scenario.query.attributes
                if (member := attribute.members[number]) is not None
            }
            shares = feed.frequencies(scenario.seed, number)
            values = {
                name: {value: share for value, share in enumerate(row.tolist()) if share}
                for name, row in shares.items()
                if name in joined
            }
        reach, kind = scenario.query.reaches[number], scenario.query.streams[number].window
        window = float("inf") if reach is None else kind.mean_life_us(reach) / SECOND
        if kind.most_rows is not None:
            window = min(window, kind.most_rows / rate)
        # Every row travels with its time.
        found.append(Known(rate, window, size + _BYTES, values))
    return found


def sites_query(scenario: Scenario) -> SitesQuery:
    """The join as planners of sequences and trees take it."""
    nodes = _nodes(scenario)
    streams = tuple(
        SiteStream(
            node=nodes[site],
            rate=k.rate,
            window=k.window,
            distinct=k.distinct,
            full=k.row_bytes,
            partial=min(k.key_bytes, k.row_bytes),
        )
        for site, k in zip(scenario.sites, known_streams(scenario), strict=True)
    )
    names = list(nodes)
    links = {}
    for one in range(len(names)):
        for other in range(one + 1, len(names)):
            model = scenario.between(names[one], names[other])
            links[one, other] = (
                Link(_NO_LINK, 1.0)
                if model is None
                else Link(model.latency + model.jitter / 2, model.bandwidth)
            )
    return SitesQuery(
        streams,
        frozenset((min(pair), max(pair)) for pair in _pairs(scenario)),
        Network(Link(_NO_LINK, 1.0), links),
        Setting(scenario.tick),
        tuple(Algorithm) if scenario.method.bloom else PUBLISHED,
    )


def shared_attribute(scenario: Scenario) -> int | None:
    """The number of an attribute that all streams have."""
    everywhere = len(scenario.streams)
    attributes = scenario.query.attributes
    return next((n for n, one in enumerate(attributes) if len(one.streams) == everywhere), None)


def value_traffic(scenario: Scenario, attribute: int) -> tuple[ValueTraffic, list[Any]]:
    """The streams by the values of an attribute that all share, and these values in order."""
    known = known_streams(scenario)
    rows, values = _frequencies(scenario, known, attribute)
    frequencies = np.array([rows[stream] for stream in range(len(known))])
    return ValueTraffic.spread(_feeds(scenario, known), frequencies), values


def graph_traffic(scenario: Scenario) -> AttributeTraffic:
    """The streams by all that is compared; a condition that is no equality is taken to hold."""
    known = known_streams(scenario)
    attributes = {
        f"attribute {number}": SharedAttribute(_frequencies(scenario, known, number)[0])
        for number in range(len(scenario.query.attributes))
    }
    for number, condition in enumerate(scenario.query.conditions):
        if len(condition.streams) > 1:
            # As if its streams shared an attribute that always has the same value.
            always = SharedAttribute({stream: np.ones(1) for stream in condition.streams})
            attributes[f"condition {number}"] = always
    return AttributeTraffic(_feeds(scenario, known), attributes)


def _frequencies(
    scenario: Scenario, known: list[Known], attribute: int
) -> tuple[dict[int, Floats], list[Any]]:
    """Per stream with an attribute the share of each of its values, and these values in order."""
    streams = scenario.query.attributes[attribute].streams
    shares = {stream: _shares(scenario, known, attribute, stream) for stream in streams}
    found = {value for row in shares.values() for value in row}
    values = sorted(found, key=lambda value: (str(type(value)), value))
    return {s: np.array([row.get(value, 0.0) for value in values]) for s, row in shares.items()}, values


def _shares(scenario: Scenario, known: list[Known], attribute: int, stream: int) -> Mapping[Any, float]:
    member = scenario.query.attributes[attribute].members[stream]
    assert member is not None
    assert member.column is not None
    return known[stream].values[member.column]


def _feeds(scenario: Scenario, known: list[Known]) -> tuple[Feed, ...]:
    nodes = _nodes(scenario)
    return tuple(
        Feed.timed(one.rate, one.window, nodes[site]) for one, site in zip(known, scenario.sites, strict=True)
    )


def _nodes(scenario: Scenario) -> dict[str, int]:
    """Sites of streams, numbered."""
    return {site: number for number, site in enumerate(sorted(set(scenario.sites)))}


def _pairs(scenario: Scenario) -> set[tuple[int, int]]:
    """The streams that a condition connects."""
    groups = [attribute.streams for attribute in scenario.query.attributes]
    groups += [tuple(condition.streams) for condition in scenario.query.conditions]
    return {(one, other) for group in groups for one in group for other in group if one < other}
