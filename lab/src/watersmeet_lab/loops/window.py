"""Sliding windows as lists, oldest row first (Golab & Özsu 2003, Sect. 3 and 6.1).

A hash index is several such lists, its buckets, and a row lies in the one its value leads to. A window that
has no index is one bucket: scanning it is a nested loop, so the hash join needs no code of its own.

    rows of a bucket    | expired | alive ................ | unseen ... |
                        oldest                             no run has processed these

Letting go of rows means to look at the oldest of every bucket, whether there is anything to let go of or not.
That look is what a visit is, and the reason why many buckets want to be visited seldom.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain

from watersmeet_lab.loops.arrival import Arrival

# Whether a row is in the window of the row that arrived last.
Test = Callable[[Arrival], bool]


class Window(ABC):
    """The rows of one stream that may still find partners."""

    def __init__(self, buckets: int = 1) -> None:
        """Start empty.

        Args:
            buckets: How many lists there are.
        """
        assert buckets >= 1, "one bucket is a plain window"
        self._buckets: list[list[Arrival]] = [[] for _ in range(buckets)]
        # Per bucket how many of its rows a run has processed as new ones.
        self._seen = [0] * buckets

    @property
    def buckets(self) -> int:
        """How many lists there are."""
        return len(self._buckets)

    def insert(self, row: Arrival) -> None:
        """Take the newest row."""
        self._buckets[row.value % self.buckets].append(row)

    def rows(self, value: int | None = None) -> Sequence[Arrival]:
        """What a loop has to look at.

        Args:
            value: The value that rows must have, which tells the bucket; None for any: all buckets.
        """
        if value is not None:
            return self._buckets[value % self.buckets]
        return self._buckets[0] if self.buckets == 1 else list(chain.from_iterable(self._buckets))

    def unseen(self, value: int | None = None) -> Sequence[Arrival]:
        """The new rows among them."""
        wanted = range(self.buckets) if value is None else [value % self.buckets]
        return [row for bucket in wanted for row in self._buckets[bucket][self._seen[bucket] :]]

    def see(self) -> None:
        """All rows have been processed."""
        self._seen = [len(bucket) for bucket in self._buckets]

    @abstractmethod
    def alive_for(self, last: Arrival) -> Test:
        """Which rows were in the window when a row of another stream arrived.

        Rows that came later were not, nor those that had expired by then. A lazy join has both in its lists.
        """

    @abstractmethod
    def expire(self, now: float) -> int:
        """Let go of rows that no row after this time can meet.

        Returns:
            How many buckets had to be visited.
        """

    def _let_go(self, expired: Test) -> int:
        """Advance the start of every bucket past its expired rows."""
        for number, bucket in enumerate(self._buckets):
            gone = next((place for place, row in enumerate(bucket) if not expired(row)), len(bucket))
            del bucket[:gone]
            self._seen[number] = max(0, self._seen[number] - gone)
        return self.buckets


class TimeWindow(Window):
    """The rows of the last so many units of time, both ends included.

    >>> window = TimeWindow(10)
    >>> for number, ts in enumerate((1, 5, 12)):
    ...     window.insert(Arrival(ts, 0, number, 7))
    >>> alive = window.alive_for(Arrival(11, 1, 0, 7))
    >>> [row.ts for row in window.rows() if alive(row)]
    [1, 5]
    >>> window.expire(12), [row.ts for row in window.rows()]
    (1, [5, 12])
    """

    def __init__(self, length: float, buckets: int = 1) -> None:
        """Start empty.

        Args:
            length: How long a row stays.
            buckets: How many lists there are.
        """
        super().__init__(buckets)
        self.length = length

    def alive_for(self, last: Arrival) -> Test:
        """Rows that came before it and are not too old."""
        oldest = last.ts - self.length
        return lambda row: row.ts >= oldest and row < last

    def expire(self, now: float) -> int:
        """Let go of rows that are too old now."""
        oldest = now - self.length
        return self._let_go(lambda row: row.ts < oldest)
