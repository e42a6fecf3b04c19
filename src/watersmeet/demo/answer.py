"""Is the answer right? Found out without Spark and without the join under test.

Counting needs no join. Every result has exactly one latest row (of rows with the same time, the one of the
last stream). Given the latest row, the others are free: each is any row of its stream with the same key,
not later, and inside the window. So the results with that latest row are a product of counts, and a count
is two binary searches in the rows sorted by key and time.

The number of results is then known, and if every result is a true one and no two are the same, these are
the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.demo.scenario import ROW, Check, Feed, Integers, Scenario, times_us
from watersmeet.query.duration import describe_duration, to_us

# Floating point, since a product of counts may pass any integer; exact up to 2 ** 53.
Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedScenario(Scenario):
    """A demo of streams with one key and one window.

    Attributes:
        key: The column they are joined on.
        known_results: The number of results, where it is known from elsewhere.
    """

    key: str
    known_results: int | None

    @property
    def on(self) -> str:
        """The key."""
        return self.key

    def check(self, answer: pa.Table) -> list[Check]:
        """Look at every result, and count them."""
        feeds, window_us = self.feeds, to_us(self.window)
        first_key, *other_keys = [field_of(answer, feed.name, self.key) for feed in feeds]
        times = np.array(
            [field_of(answer, feed.name, self.time).cast(pa.int64()).to_numpy() for feed in feeds]
        )
        true = (
            all(as_sent(answer, feed) for feed in feeds)
            and all(key.equals(first_key) for key in other_keys)
            and bool((np.ptp(times, axis=0) <= window_us).all())
        )
        names, expected = expected_results(self)
        unknown = len(names)
        numbers = pc.fill_null(pc.index_in(first_key, names), unknown).to_numpy()
        found = np.bincount(numbers, minlength=unknown + 1)
        checks = [
            Check(
                f"every result is one row of each stream, as sent, with one {self.key}, at most "
                f"{describe_duration(self.window)} apart",
                true,
            ),
            Check(
                "no result came twice",
                _all_different([field_of(answer, feed.name, ROW).to_numpy() for feed in feeds]),
            ),
            Check(
                f"counted again with NumPy, without Spark or the join: {int(expected.sum()):,}, "
                f"and the same for every {self.key}",
                np.array_equal(np.append(expected, 0), found),
            ),
        ]
        if self.known_results is not None:
            claim = f"{self.known_results:,} is the number known for this data"
            checks.append(Check(claim, len(answer) == self.known_results))
        return checks


def expected_by_key(keys: Sequence[Integers], times: Sequence[Integers], window_us: int) -> Counts:
    """The number of results of each key, when all streams have the same window.

    Args:
        keys: Per stream the keys of its rows, small non-negative integers.
        times: Per stream the times of the same rows, in microseconds.
        window_us: The length of the window; both ends count.

    Example:
        >>> keys = [np.array([0, 0]), np.array([0, 1]), np.array([0, 0])]
        >>> times = [np.array([10, 95]), np.array([15, 15]), np.array([5, 12])]
        >>> expected_by_key(keys, times, 10)
        array([2., 0.])
    """
    every_key, every_time = np.concatenate(keys), np.concatenate(times)
    totals: Counts = np.zeros(int(every_key.max(initial=-1)) + 1)
    if not len(every_time):
        return totals
    start, end = int(every_time.min()), int(every_time.max())
    window_us = min(window_us, end - start)
    # One sortable number for key and time; the gap keeps a window from reaching into the key before.
    span = end - start + window_us + 1
    places = [np.sort(key * span + window_us + time - start) for key, time in zip(keys, times, strict=True)]
    for latest, place in enumerate(places):
        combinations = np.ones(len(place))
        for other, candidates in enumerate(places):
            if other == latest:
                continue
            until = np.searchsorted(candidates, place, side="right" if other < latest else "left")
            combinations *= until - np.searchsorted(candidates, place - window_us, side="left")
        totals += np.bincount(place // span, weights=combinations, minlength=len(totals))
    return totals


def expected_results(scenario: KeyedScenario) -> tuple[pa.Array, Counts]:
    """The different keys of a scenario, and the number of results of each."""
    columns = []
    for feed in scenario.feeds:
        with_time = feed.rows.filter(feed.rows[scenario.time].is_valid())
        columns.append(with_time[scenario.key])
    names = pa.chunked_array([chunk for column in columns for chunk in column.chunks]).unique()
    keys = [pc.index_in(column, names).to_numpy().astype(np.int64) for column in columns]
    times = [times_us(feed.rows, scenario.time) for feed in scenario.feeds]
    return names, expected_by_key(keys, times, to_us(scenario.window))


def field_of(answer: pa.Table, stream: str, column: str) -> pa.ChunkedArray:
    """A column of one stream in an answer."""
    return pc.struct_field(answer[stream], column)


def as_sent(answer: pa.Table, feed: Feed) -> bool:
    """Whether the answer's rows of a stream are, value by value, rows of that stream."""
    numbers = field_of(answer, feed.name, ROW)
    if numbers.null_count or not pc.all(pc.less(numbers, feed.rows.num_rows), min_count=0).as_py():
        return False
    sent = feed.rows.take(numbers)
    return all(field_of(answer, feed.name, column).equals(sent[column]) for column in sent.column_names)


def _all_different(columns: Sequence[Integers]) -> bool:
    order = np.lexsort(list(columns))
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for column in columns:
        same &= np.diff(column[order]) == 0
    return not bool(same.any())
