"""How many rows are alive, arrive and match: what every cost model of the product starts from.

One model serves all sets of streams (Zhou et al. 2006, eq. 1 to 3, in closed form):

    alive(S) = match(S) * product of alive(i)
    rate(S)  = match(S) * sum over i of rate(i) * product over j != i of alive(j)

`match` is how likely one row of each stream of S belong together. On one attribute with v_i values in
stream i it is the product of 1 / v_i without the smallest (Golab & Özsu 2003, Sect. 4.1), which is the
product along a maximum spanning tree of the pairs' probabilities 1 / max(v_i, v_j): in that form it also
takes probabilities given pair by pair. Where all frequencies are known it is the sum over the values of the
product of their shares, since pairs do not tell what happens to three skewed streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from watersmeet.query import JoinQuery, RowWindow
from watersmeet.query.attribute import Attribute
from watersmeet.stats import ABSENT, Figure, Statistics
from watersmeet.stats.frequencies import match_probability

_ONE = Figure.exact(1)


class Sizes:
    """Sizes of results of any of a query's streams. What was asked once is remembered: planners ask often."""

    def __init__(self, query: JoinQuery, statistics: Statistics) -> None:
        """Nothing is computed yet."""
        self.query = query
        self.statistics = statistics
        self._streams = [statistics.of(name) for name in query.names]
        self._having = [attribute.streams for attribute in query.attributes]
        self._matches: dict[tuple[frozenset[int], frozenset[int] | None], Figure] = {}
        self._pairs: dict[tuple[int, int, int], Figure] = {}
        self._alive: dict[int, Figure] = {}

    def rate(self, stream: int) -> Figure:
        """Rows of a stream per second."""
        return self._streams[stream].rate

    def alive(self, stream: int) -> Figure:
        """Rows of a stream that are alive at a time."""
        if stream not in self._alive:
            self._alive[stream] = self._alive_rows(stream)
        return self._alive[stream]

    def _alive_rows(self, stream: int) -> Figure:
        known = self._streams[stream]
        if known.window_rows.is_known:
            return known.window_rows
        window, reach = self.query.streams[stream].window, self.query.reaches[stream]
        # A steady rate is assumed, so this is never more than an estimate.
        by_time = ABSENT if reach is None else known.rate * Figure.estimated(reach / 1e6)
        if not isinstance(window, RowWindow):
            return by_time
        by_count = Figure.exact(window.count)
        if window.per_key:
            by_count = by_count * self.distinct(self._key_of(stream), stream)
        if by_time.is_known and by_count.is_known:
            return min(by_time, by_count, key=lambda figure: figure.number)
        return by_count

    def distinct(self, attribute: int | None, stream: int) -> Figure:
        """How many values of an attribute a stream has."""
        if attribute is None or stream not in self._having[attribute]:
            return ABSENT
        return self._streams[stream].distinct_of(*self._called(attribute, stream))

    def match(self, streams: Iterable[int], attributes: Iterable[int] | None = None) -> Figure:
        """How likely one row of each of some streams belong together.

        Args:
            streams: The streams.
            attributes: Only these equalities, and no other condition; None takes everything.
        """
        members = frozenset(streams)
        only = None if attributes is None else frozenset(attributes)
        found = self._matches.get((members, only))
        if found is None:
            chosen = range(len(self.query.attributes)) if only is None else sorted(only)
            found = _ONE
            for number in chosen:
                found = found * self._agree(number, members)
            for condition in self.query.conditions if only is None else ():
                if condition.streams <= members:
                    # Of a condition nobody knows anything about, the most is assumed: that it holds.
                    found = found * self.statistics.conditions.get(condition.text, Figure.estimated(1))
            self._matches[members, only] = found
        return found

    def alive_together(self, streams: Iterable[int]) -> Figure:
        """How many combinations of rows of some streams are alive at a time and belong together."""
        members = frozenset(streams)
        found = self.match(members)
        for stream in sorted(members):
            found = found * self.alive(stream)
        return found

    def arriving(self, streams: Iterable[int]) -> Figure:
        """How many such combinations come about per second."""
        members = sorted(streams)
        total = Figure.exact(0)
        for last in members:
            found = self.rate(last)
            for other in members:
                found = found if other == last else found * self.alive(other)
            total = total + found
        return total * self.match(members)

    def row_bytes(self, streams: Iterable[int]) -> Figure:
        """Bytes of a result of some streams."""
        total = Figure.exact(0)
        for stream in streams:
            total = total + self._streams[stream].row_bytes
        return total

    def missing(self) -> list[str]:
        """What is not known of what sizes are made of."""
        found = []
        for number, stream in enumerate(self.query.streams):
            if not self.rate(number).is_known:
                found.append(f"the rate of {stream.name}")
            elif not self.alive(number).is_known:
                found.append(f"the rows of {stream.name} that are alive")
        for number, having in enumerate(self._having):
            if not self._agree(number, frozenset(having)).is_known:
                unknown = [stream for stream in having if not self.distinct(number, stream).is_known]
                found += [f"the distinct values of {self._called(number, s)[0]}" for s in unknown]
        return found

    def _agree(self, attribute: int, members: frozenset[int]) -> Figure:
        having = [stream for stream in self._having[attribute] if stream in members]
        if len(having) < 2:
            return _ONE
        spreads = [
            self._streams[stream].frequencies_of(*self._called(attribute, stream))
            for stream in having
            if self._streams[stream].frequencies
        ]
        known = [spread for spread in spreads if spread is not None]
        if len(known) == len(having):
            return Figure.estimated(match_probability(known))
        return _spanning_product(having, lambda a, b: self._pair(attribute, a, b))

    def _pair(self, attribute: int, a: int, b: int) -> Figure:
        """How likely a row of each of two streams agree on an attribute."""
        found = self._pairs.get((attribute, a, b))
        if found is None:
            found = self._pairs[attribute, a, b] = self._pair_match(attribute, a, b)
        return found

    def _pair_match(self, attribute: int, a: int, b: int) -> Figure:
        given = self.statistics.matches.get(frozenset((self.query.names[a], self.query.names[b])))
        if given is not None:
            # Said of all equalities between the two: it counts once.
            return given if attribute == self._first_shared(a, b) else _ONE
        values = [self.distinct(attribute, stream) for stream in (a, b)]
        if not all(value.is_known for value in values):
            return ABSENT
        return Figure.estimated(1) / max(values, key=lambda figure: figure.number)

    def _first_shared(self, a: int, b: int) -> int:
        return next(n for n, having in enumerate(self._having) if a in having and b in having)

    def _key_of(self, stream: int) -> int | None:
        return next((n for n, having in enumerate(self._having) if stream in having), None)

    def _called(self, attribute: int, stream: int) -> tuple[str, ...]:
        """The names under which statistics may mention a stream's part of an attribute."""
        return called(self.query.attributes[attribute], stream)


def called(attribute: Attribute, stream: int) -> tuple[str, ...]:
    """The names of a stream's part of an attribute: as it is written, and the plain column."""
    member = attribute.members[stream]
    assert member is not None
    return (member.text,) if member.column is None else (member.text, member.column)


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
