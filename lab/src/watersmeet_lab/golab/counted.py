"""What the loops of `watersmeet_lab.loops` count, without running them.

On one attribute a loop finds the rows of one value. So how often the next loop runs is a product of numbers
of rows, what it looks at is the length of a list, and both are found by looking rows up by value and time.
That gives exactly the loops' own counts, for any order of loops from the same figures, in a small part of the
time. A test and a section of the page hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from watersmeet_lab.golab.setting import Integers, Loads, Orders, Rows, rows_per_unit

# How many rows or combinations: for each new row, or for each run and value.
Numbers = NDArray[np.float64]


class _Lookup:
    """How many rows of a stream, with some value or in some bucket, came in a span of time."""

    def __init__(self, times: Integers, groups: Integers, last: int) -> None:
        self._span = last + 1
        self._sorted = np.sort(groups * self._span + times)

    def between(self, groups: Integers, first: Integers, last: Integers) -> Numbers:
        """For each group the rows from one time to another, both included."""
        start = groups * self._span
        low = np.searchsorted(self._sorted, start + np.maximum(first, 0), side="left")
        high = np.searchsorted(self._sorted, start + last, side="right")
        return (high - low).astype(np.float64)


class _Lazily(dict[int, Numbers]):
    """Figures by stream, found when somebody asks for them."""

    def __init__(self, find: Callable[[int], Numbers]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, stream: int) -> Numbers:
        self[stream] = self._find(stream)
        return self[stream]


class _Origin:
    """New rows of one stream, and what they meet in each of the others.

    Attributes:
        alive: For each new row its partners.
        scanned: For each new row the length of the bucket it looks into.
        held: For each run and value the rows of the value.
        bucket: For each run and value the length of its bucket; of the origin itself only the new rows in it.
    """

    def __init__(self, counting: Counting, origin: int) -> None:
        self._counting, self._origin = counting, origin
        self._times = counting.new_rows(origin)
        self._values = counting.rows.values[self._times - 1]
        self._since, self._until = counting.run_of(self._times)
        self.alive = _Lazily(self._alive)
        self.scanned = _Lazily(self._scanned)
        self.held = _Lazily(self._held)
        self.bucket = _Lazily(self._bucket)

    def __len__(self) -> int:
        return len(self._times)

    def _alive(self, stream: int) -> Numbers:
        first = self._times - self._counting.lengths[stream]
        return self._counting.by_value[stream].between(self._values, first, self._times)

    def _scanned(self, stream: int) -> Numbers:
        buckets = self._values % self._counting.buckets[stream]
        first = self._since - self._counting.lengths[stream]
        return self._counting.by_bucket[stream].between(buckets, first, self._until)

    def _held(self, stream: int) -> Numbers:
        values, since, until = self._runs
        return self._counting.by_value[stream].between(values, since - self._counting.lengths[stream], until)

    def _bucket(self, stream: int) -> Numbers:
        values, since, until = self._runs
        if stream == self._origin:
            first = until if self._counting.interval is None else since + 1
        else:
            first = since - self._counting.lengths[stream]
        buckets = values % self._counting.buckets[stream]
        return self._counting.by_bucket[stream].between(buckets, first, until)

    @cached_property
    def _runs(self) -> tuple[Integers, Integers, Integers]:
        """Every value in every run, even if it has no new rows: the loops over windows run all the same."""
        ends = self._times if self._counting.interval is None else self._counting.ends
        values = np.arange(1, 1 + max(round(load.distinct) for load in self._counting.loads))
        since, until = self._counting.run_of(ends)
        times = len(values)
        return np.tile(values, len(ends)), np.repeat(since, times), np.repeat(until, times)


class Counting:
    """Counts over a stretch of time. Times are numbers of rows, and the first row is number 1."""

    def __init__(self, loads: Loads, rows: Rows, begin: int, interval: float | None = None) -> None:
        """Count rows from one on until the last.

        Args:
            loads: The streams.
            rows: What arrives.
            begin: How many rows come before; whole intervals.
            interval: Units of time between two runs, after each of which rows are let go of; None for an
                eager join, which does both at every arrival.
        """
        self.loads, self.rows, self.interval = loads, rows, interval
        self._per_unit, self._begin, self._end = rows_per_unit(loads), begin, len(rows.streams)
        self._step = 1 if interval is None else round(interval * self._per_unit)
        assert begin % self._step == self._end % self._step == 0, "runs begin and end with the stretch"
        self.ends = np.arange(begin, self._end, self._step) + self._step
        self.lengths = [round(load.length * self._per_unit) for load in loads]
        self.buckets = [round(load.buckets) for load in loads]
        times = np.arange(1, self._end + 1)
        self._times = [times[rows.streams == stream] for stream in range(len(loads))]
        self.by_value = [_Lookup(some, rows.values[some - 1], self._end) for some in self._times]
        self.by_bucket = [
            _Lookup(some, rows.values[some - 1] % buckets, self._end)
            for some, buckets in zip(self._times, self.buckets, strict=True)
        ]
        self._origins = [_Origin(self, origin) for origin in range(len(loads))]
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    @property
    def visits(self) -> float:
        """Windows or buckets looked into for expired rows, per unit of time."""
        return sum(self.buckets) * self._per_unit / self._step

    def comparisons(self, orders: Orders) -> float:
        """Rows that loops look at, per unit of time, with an order for every origin."""
        return sum(self.of_origin(origin, order) for origin, order in enumerate(orders))

    def of_origin(self, origin: int, order: Sequence[int]) -> float:
        """The same for the new rows of one stream."""
        key = origin, tuple(order)
        if key not in self._known:
            found = self._until(*key) + self._after(*key)
            self._known[key] = found * self._per_unit / (self._end - self._begin)
        return self._known[key]

    def _until(self, origin: int, order: tuple[int, ...]) -> float:
        """Loops up to the origin's own: over whole windows, for each run and each value."""
        figures, place = self._origins[origin], order.index(origin)
        if place == 0:
            return 0.0
        total, combinations = 0.0, figures.held[order[0]]
        for stream in order[1:place]:
            total += float((combinations * figures.bucket[stream]).sum())
            combinations = combinations * figures.held[stream]
        return total + float((combinations * figures.bucket[origin]).sum())

    def _after(self, origin: int, order: tuple[int, ...]) -> float:
        """Loops after it: for each new row, with rows that are alive for it."""
        figures, place = self._origins[origin], order.index(origin)
        total, combinations = 0.0, np.ones(len(figures))
        for stream in order[:place]:
            combinations = combinations * figures.alive[stream]
        for stream in order[place + 1 :]:
            total += float((combinations * figures.scanned[stream]).sum())
            if stream != order[-1]:
                combinations = combinations * figures.alive[stream]
        return total

    def new_rows(self, origin: int) -> Integers:
        """The times of the rows of a stream that count, by value, which makes looking them up much faster."""
        times = self._times[origin]
        new = times[times > self._begin]
        by_value: Integers = new[np.argsort(self.rows.values[new - 1], kind="stable")]
        return by_value

    def run_of(self, times: Integers) -> tuple[Integers, Integers]:
        """When rows were last let go of, and when these rows are processed."""
        until = -(-times // self._step) * self._step
        return (until if self.interval is None else until - self._step), until
