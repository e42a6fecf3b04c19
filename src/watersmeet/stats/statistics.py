"""The figures about a query's streams that planning and prediction start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from watersmeet.stats.figure import ABSENT, Figure
from watersmeet.stats.frequencies import Frequencies

# The name under which a stream's distinct count counts for each of its keys.
ANY_KEY = "*"


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """One stream.

    Attributes:
        rate: Rows per second of event time, after the filters of the query.
        window_rows: Rows alive at a time; absent means rate times window.
        row_bytes: Bytes of a stored row.
        key_bytes: Bytes of its key.
        distinct: How many values a key has, by its text (a column, or an expression).
        frequencies: How the rows spread over the values of a key, by its text.
    """

    rate: Figure = ABSENT
    window_rows: Figure = ABSENT
    row_bytes: Figure = ABSENT
    key_bytes: Figure = ABSENT
    distinct: Mapping[str, Figure] = field(default_factory=dict)
    frequencies: Mapping[str, Frequencies] = field(default_factory=dict)

    def distinct_of(self, *texts: str) -> Figure:
        """The distinct count of a key under the first of its names that is known."""
        for text in (*texts, ANY_KEY):
            if text in self.distinct:
                return self.distinct[text]
            if text in self.frequencies:
                return Figure.estimated(self.frequencies[text].distinct)
        return ABSENT

    def over(self, others: StreamStatistics) -> StreamStatistics:
        """These figures, and what they do not say from others."""

        def better(own: Figure, other: Figure) -> Figure:
            return own if own.is_known else other

        keys = {**others.distinct, **self.distinct}
        measured = {*self.distinct, *self.frequencies}
        return StreamStatistics(
            rate=better(self.rate, others.rate),
            # Rows alive that were given with another rate would contradict the one that was measured.
            window_rows=self.window_rows
            if self.rate.is_known
            else better(self.window_rows, others.window_rows),
            row_bytes=better(self.row_bytes, others.row_bytes),
            key_bytes=ABSENT if self.row_bytes.is_known else better(self.key_bytes, others.key_bytes),
            distinct={key: figure for key, figure in keys.items() if key in self.distinct or not measured},
            frequencies={**({} if measured else others.frequencies), **self.frequencies},
        )

    def frequencies_of(self, *texts: str) -> Frequencies | None:
        """How the rows spread over the values of a key, if that is known."""
        return next((self.frequencies[text] for text in texts if text in self.frequencies), None)


@dataclass(frozen=True, slots=True)
class Statistics:
    """All that is known about the data of a query.

    Attributes:
        streams: By name.
        matches: How likely a row of one stream and a row of another agree on all equalities between them, by
            the names of the two.
        conditions: How likely a condition holds, by its text.
        batch_seconds: The event time one micro-batch spans.
        costs: Seconds that the function of a condition takes for one pair, by the condition's text.
    """

    streams: Mapping[str, StreamStatistics] = field(default_factory=dict)
    matches: Mapping[frozenset[str], Figure] = field(default_factory=dict)
    conditions: Mapping[str, Figure] = field(default_factory=dict)
    batch_seconds: Figure = ABSENT
    costs: Mapping[str, float] = field(default_factory=dict)

    def of(self, stream: str) -> StreamStatistics:
        """The figures of a stream; all absent if it was not mentioned."""
        return self.streams.get(stream, _UNKNOWN)

    def over(self, others: Statistics) -> Statistics:
        """These figures, and what they do not say from others."""
        return Statistics(
            {name: self.of(name).over(others.of(name)) for name in (*others.streams, *self.streams)},
            {**others.matches, **self.matches},
            {**others.conditions, **self.conditions},
            self.batch_seconds if self.batch_seconds.is_known else others.batch_seconds,
            {**others.costs, **self.costs},
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return self == NOTHING_KNOWN


_UNKNOWN = StreamStatistics()
NOTHING_KNOWN = Statistics()
