"""Windows of the last so many rows (Golab & Özsu 2003, Sect. 3.6).

An eager join can overwrite the oldest row by the newest: what lies in the window is alive. A lazy join
cannot: when it processes a row, later ones lie in the windows already. Nor can a join that lets go of rows
only so often: older ones lie there still. Those that were alive when a row k came are found by their numbers:

    numbers   3   4   5   6   7   8         C = 3, and k arrives between 6 and 7
                  |.......|   later         alive are the numbers above 6 - 3, up to 6

The paper has a counter that starts again from time to time, no upper end, and one row too many at the lower
end. Here numbers grow for ever, and both ends are tested.
"""

from __future__ import annotations

from bisect import bisect_left

from watersmeet_lab.loops.arrival import Arrival
from watersmeet_lab.loops.window import Test, Window


class CircularWindow(Window):
    """The last rows and no others: an array in which the newest row takes the place of the oldest.

    >>> window = CircularWindow(2)
    >>> for number in range(3):
    ...     window.insert(Arrival(number, 0, number, 7))
    >>> [row.number for row in window.rows()]
    [1, 2]
    """

    def __init__(self, count: int, buckets: int = 1) -> None:
        """Start empty.

        Args:
            count: How many rows it has.
            buckets: How many lists there are.
        """
        assert count >= 1, "a window of no rows has no place for the newest"
        super().__init__(buckets)
        self.count = count
        self._array: list[Arrival] = []

    def insert(self, row: Arrival) -> None:
        """Take the newest row; the oldest goes, wherever in the index it lies."""
        if len(self._array) < self.count:
            self._array.append(row)
        else:
            place = row.number % self.count
            oldest, self._array[place] = self._array[place], row
            bucket = oldest.value % self.buckets
            # It is the first of its bucket: those before it have been overwritten before.
            del self._buckets[bucket][0]
            self._seen[bucket] = max(0, self._seen[bucket] - 1)
        super().insert(row)

    def alive_for(self, last: Arrival) -> Test:  # noqa: ARG002
        """Whatever is there."""
        return lambda _row: True

    def expire(self, now: float) -> int:  # noqa: ARG002
        """Nothing to do, and nothing to visit."""
        return 0


class NumberedWindow(Window):
    """The last rows and some before: which of them were the last at some time, their numbers tell.

    >>> window = NumberedWindow(2, buckets=3)
    >>> for number in range(4):
    ...     window.insert(Arrival(number, 0, number, 7))
    >>> alive = window.alive_for(Arrival(2.5, 1, 0, 7))
    >>> [row.number for row in window.rows() if alive(row)]
    [1, 2]
    >>> window.expire(9), [row.number for row in window.rows()]
    (3, [2, 3])
    """

    def __init__(self, count: int, buckets: int = 1) -> None:
        """Start empty.

        Args:
            count: How many rows are alive at a time.
            buckets: How many lists there are.
        """
        super().__init__(buckets)
        self.count = count
        # In the order of arrival, whatever the buckets.
        self._arrived: list[Arrival] = []

    def insert(self, row: Arrival) -> None:
        """Take the newest row."""
        self._arrived.append(row)
        super().insert(row)

    def alive_for(self, last: Arrival) -> Test:
        """The last rows up to the one that came just before it."""
        before = bisect_left(self._arrived, last)
        newest = self._arrived[before - 1].number if before else -1
        return lambda row: newest - self.count < row.number <= newest

    def expire(self, now: float) -> int:  # noqa: ARG002
        """Let go of rows that so many newer ones have followed, whatever the time."""
        if not self._arrived:
            return self.buckets
        oldest = self._arrived[-1].number - self.count
        self._arrived = [row for row in self._arrived if row.number > oldest]
        return self._let_go(lambda row: row.number <= oldest)
