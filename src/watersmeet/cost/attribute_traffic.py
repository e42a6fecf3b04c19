"""Streams joined on several attributes whose values are used unevenly (Zhou et al. 2006, Sect. 3.2 and 3.3).

Streams that have an attribute match if they share a value of it, so the probability that one tuple of each
match is, as for one attribute alone, a sum over its values:

    F(S) = prod over attributes of  sum_v  prod over the streams of S with the attribute of  p_i(v)

Attributes are taken to be independent of one another. What a join gives, value by value, follows from its
streams: those with the attribute that share a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from watersmeet.cost.traffic import Feed, Flow, Sizes, require_known
from watersmeet.errors import InvalidQuery

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SharedAttribute:
    """An attribute that some streams are joined on, and how often its values occur in each of them.

    Attributes:
        frequencies: Per stream the share of its tuples that have each value.
    """

    frequencies: Mapping[int, Floats]
    _known: dict[frozenset[int], float] = field(default_factory=dict)

    def match_prob(self, streams: frozenset[int]) -> float:
        """Probability that one tuple of each stream have the same value, and that it is one of these."""
        members = streams.intersection(self.frequencies)
        if not members:
            return 1.0
        if members not in self._known:
            self._known[members] = float(self.together(members).sum())
        return self._known[members]

    def together(self, streams: frozenset[int]) -> Floats:
        """The same value by value."""
        rows = [self.frequencies[stream] for stream in sorted(streams.intersection(self.frequencies))]
        return np.asarray(np.prod(rows, axis=0))

    def only(self, values: Sequence[int]) -> SharedAttribute:
        """The substreams of some values."""
        chosen = list(values)
        return SharedAttribute({stream: row[chosen] for stream, row in self.frequencies.items()})


@dataclass(frozen=True, slots=True, eq=False)
class AttributeTraffic:
    """Streams joined on several attributes, each with uneven values.

    Attributes:
        feeds: The streams.
        attributes: What they are joined on, by name.
        sizes: How long a result is.

    >>> feeds = (Feed(8, 16, node=0), Feed(4, 4, node=1))
    >>> x = SharedAttribute({0: np.array([0.75, 0.25]), 1: np.array([0.5, 0.5])})
    >>> two = AttributeTraffic(feeds, {"x": x})
    >>> two.joined(frozenset({0, 1})).rate, two.only("x", [1]).joined(frozenset({0, 1})).rate
    (48.0, 12.0)
    """

    feeds: tuple[Feed, ...]
    attributes: Mapping[str, SharedAttribute]
    sizes: Sizes = "flat"

    def __post_init__(self) -> None:
        """Refuse streams that are not there and values that do not fit."""
        for name, attribute in self.attributes.items():
            require_known(frozenset(attribute.frequencies), len(self.feeds))
            if len({len(row) for row in attribute.frequencies.values()}) != 1:
                raise InvalidQuery(
                    f'streams do not have the same values of attribute "{name}"',
                    hint="give all of them one frequency for each value.",
                )

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of every stream."""
        return tuple(feed.node for feed in self.feeds)

    @property
    def edges(self) -> dict[frozenset[int], str]:
        """The predicates, for `find_partition`."""
        return {frozenset(attribute.frequencies): name for name, attribute in self.attributes.items()}

    def joined(self, streams: frozenset[int]) -> Flow:
        """Rate and window of the join of some streams."""
        require_known(streams, len(self.feeds))
        rate, window = 0.0, 1.0
        for stream in sorted(streams):
            feed = self.feeds[stream]
            rate, window = rate * feed.window + feed.rate * window, window * feed.window
        match = 1.0
        for attribute in self.attributes.values():
            match *= attribute.match_prob(streams)
        return Flow(match * rate, match * window)

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        """Whether an attribute has streams on both sides."""
        return any(
            not (left.isdisjoint(attribute.frequencies) or right.isdisjoint(attribute.frequencies))
            for attribute in self.attributes.values()
        )

    def only(self, name: str, values: Sequence[int]) -> AttributeTraffic:
        """What is left when one attribute has some of its values; what is known of the others is kept."""
        return AttributeTraffic(
            self.feeds, {**self.attributes, name: self.attributes[name].only(values)}, self.sizes
        )

    def value_rates(self, name: str, parts: Sequence[frozenset[int]]) -> Floats:
        """Rates per value of an attribute: a row for each join of some streams, a column for each value."""
        attribute = self.attributes[name]
        rows = []
        for streams in parts:
            whole = attribute.match_prob(streams)
            share = attribute.together(streams) / whole if whole else attribute.together(streams)
            rows.append(self.joined(streams).rate * share)
        return np.array(rows)
