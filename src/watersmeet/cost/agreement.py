"""How likely rows of several streams agree on their keys.

On one key with v_i values in stream i it is the product of 1 / v_i without the smallest (Golab & Özsu 2003,
Sect. 4.1), which is the product along a maximum spanning tree of the pairs' probabilities 1 / max(v_i,
v_j): in that form it also takes probabilities given pair by pair. Where all frequencies are known it is the
sum over the values of the product of their shares, since pairs do not tell what happens to three skewed
streams.

Attributes that the same streams share are one key of several columns, and are looked at together: columns of
a key are seldom independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from watersmeet.query import JoinQuery
from watersmeet.query.keys import Key, key_names, keys_of
from watersmeet.stats import ABSENT, Figure, Statistics
from watersmeet.stats.frequencies import FrequencyTable

_ONE = Figure.exact(1)


class Agreement:
    """What is known about the keys of a query; what was asked once is remembered."""

    def __init__(self, query: JoinQuery, statistics: Statistics) -> None:
        """Find out which attributes make a key."""
        self._query = query
        self._statistics = statistics
        self._streams = [statistics.of(name) for name in query.names]
        self._having = [attribute.streams for attribute in query.attributes]
        self.keys = keys_of(query)
        self._pairs: dict[tuple[Key, int, int], Figure] = {}
        self._tables: dict[Key, FrequencyTable | None] = {}

    def distinct(self, attributes: Iterable[int], stream: int) -> Figure:
        """How many values a stream has of some attributes together."""
        total, found = _ONE, False
        for key in self._keys_in(attributes):
            if stream in self._having[key[0]]:
                total, found = total * self._distinct(key, stream), True
        return total if found else ABSENT

    def of(self, members: frozenset[int], attributes: Iterable[int]) -> Figure:
        """How likely one row of each of some streams have equal values of some attributes."""
        total = _ONE
        for key in self._keys_in(attributes):
            total = total * self._agree(key, [s for s in self._having[key[0]] if s in members])
        return total

    def missing(self) -> list[str]:
        """What is not known."""
        found = []
        for key in self.keys:
            having = self._having[key[0]]
            unknown = [s for s in having if not self._distinct(key, s).is_known]
            pairs = [p for p in combinations(having, 2) if not self._agree(key, list(p)).is_known]
            lacking = [s for s in unknown if any(s in pair for pair in pairs)]
            found += [f"the distinct values of {key_names(self._query, key, s)[0]}" for s in lacking]
        return found

    def _keys_in(self, attributes: Iterable[int]) -> Iterable[Key]:
        """Whole keys where all their attributes are given, else single attributes."""
        given = set(attributes)
        for key in self.keys:
            if given.issuperset(key):
                yield key
            else:
                yield from ((number,) for number in key if number in given)

    def _distinct(self, key: Key, stream: int) -> Figure:
        found = self._streams[stream].distinct_of(*key_names(self._query, key, stream))
        if found.is_known or len(key) == 1:
            return found
        total = _ONE
        for number in key:
            total = total * self._distinct((number,), stream)
        return total

    def _agree(self, key: Key, having: list[int]) -> Figure:
        if len(having) < 2:
            return _ONE
        table = self._table(key)
        if table is not None and table.has(having):
            return Figure.estimated(table.match_probability(having))
        return _spanning_product(having, lambda a, b: self._pair(key, a, b))

    def _table(self, key: Key) -> FrequencyTable | None:
        if key not in self._tables:
            spreads = {
                stream: spread
                for stream in self._having[key[0]]
                if (spread := self._streams[stream].frequencies_of(*key_names(self._query, key, stream)))
            }
            distinct = {s: self._distinct(key, s).value for s in spreads}
            self._tables[key] = FrequencyTable(spreads, distinct) if spreads else None
        return self._tables[key]

    def _pair(self, key: Key, a: int, b: int) -> Figure:
        found = self._pairs.get((key, a, b))
        if found is None:
            found = self._pairs[key, a, b] = self._pair_match(key, a, b)
        return found

    def _pair_match(self, key: Key, a: int, b: int) -> Figure:
        given = self._statistics.matches.get(frozenset((self._query.names[a], self._query.names[b])))
        if given is not None:
            # Said of all equalities between the two: it counts once.
            first = next(n for n, having in enumerate(self._having) if a in having and b in having)
            return given if first in key else _ONE
        values = [self._distinct(key, stream) for stream in (a, b)]
        if not all(value.is_known for value in values):
            return ABSENT
        return Figure.estimated(1) / max(values, key=lambda figure: figure.number)


def _spanning_product(members: list[int], probability: Callable[[int, int], Figure]) -> Figure:
    """The product along a maximum spanning tree (Prim): each stream is joined where it matches most."""
    total = _ONE
    reached = {stream: probability(members[0], stream) for stream in members[1:]}
    while reached:
        nearest = max(reached, key=lambda stream: (_order(reached[stream]), -stream))
        total = total * reached.pop(nearest)
        for stream, known in reached.items():
            reached[stream] = max(known, probability(nearest, stream), key=_order)
    return total


def _order(figure: Figure) -> float:
    return figure.number if figure.is_known else -1.0
