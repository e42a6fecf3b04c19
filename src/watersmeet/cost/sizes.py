"""How many rows are alive, arrive and match: what every cost model of the product starts from.

One model serves all sets of streams (Zhou et al. 2006, eq. 1 to 3, in closed form):

    alive(S) = match(S) * product of alive(i)
    rate(S)  = match(S) * sum over i of rate(i) * product over j != i of alive(j)

`match` is how likely one row of each stream of S belong together: that their keys agree (`cost.agreement`),
and that the conditions hold. A row that stands in several slots is alive as many times, and meets in each.
"""

from __future__ import annotations

from collections.abc import Iterable

from watersmeet.cost.agreement import Agreement
from watersmeet.query import JoinQuery
from watersmeet.query.condition import Condition
from watersmeet.stats import ABSENT, Figure, Statistics

# What one probe, or one row looked at, takes: by this the cost of functions is compared with that of probing.
UNIT_SECONDS = 5e-8
# What a function is taken to cost of which nothing is known: it is not asked without need.
USUAL_SECONDS = 1e-5


class Sizes:
    """Sizes of results of any of a query's streams. What was asked once is remembered: planners ask often."""

    def __init__(self, query: JoinQuery, statistics: Statistics) -> None:
        """Nothing is computed yet."""
        self.query = query
        self.statistics = statistics
        self._streams = [statistics.of(name) for name in query.names]
        self.copies = 1 if query.slots is None else query.slots.copies
        self._agreement = Agreement(query, statistics)
        self._matches: dict[tuple[frozenset[int], frozenset[int] | None], Figure] = {}
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
        by_time = ABSENT if reach is None else known.rate * Figure.estimated(window.mean_life_us(reach) / 1e6)
        if window.most_rows is None:
            return by_time
        by_count = Figure.exact(window.most_rows)
        if window.counts_per_key:
            own = [n for n, attribute in enumerate(self.query.attributes) if stream in attribute.streams]
            by_count = by_count * self.distinct(own, stream)
        if by_time.is_known and by_count.is_known:
            return min(by_time, by_count, key=lambda figure: figure.number)
        return by_count

    def distinct(self, attributes: Iterable[int], stream: int) -> Figure:
        """How many values a stream has of some attributes together."""
        return self._agreement.distinct(attributes, stream)

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
            found = self._agreement.of(members, chosen)
            if self.copies > 1 and members:
                found = found * Figure.estimated(self.copies ** (1 - len(members)))
            for condition in self.query.conditions if only is None else ():
                if condition.streams <= members:
                    # Of a condition nobody knows anything about, the most is assumed: that it holds.
                    known = self.holds(condition)
                    found = found * (known if known.is_known else Figure.estimated(1))
            self._matches[members, only] = found
        return found

    def holds(self, condition: Condition) -> Figure:
        """How likely a condition holds: as measured, or as its function was declared."""
        known = self.statistics.conditions.get(condition.text, ABSENT)
        said = None if condition.function is None else condition.function.selectivity
        return known if known.is_known or said is None else Figure.estimated(said)

    def asking(self, condition: Condition) -> float:
        """Seconds it takes to judge a condition for one combination."""
        return UNIT_SECONDS if condition.function is None else self.known_cost(condition) or USUAL_SECONDS

    def known_cost(self, condition: Condition) -> float | None:
        """The same for a function, as measured or declared; None if neither is known."""
        said = None if condition.function is None else condition.function.cost
        return self.statistics.costs.get(condition.text) or said

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
        if self.copies > 1 and len(members) > 1:
            total = total * self.copies
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
            elif not (self.alive(number).is_known or stream.window.endless):
                found.append(f"the rows of {stream.name} that are alive")
        return found + self._agreement.missing()
