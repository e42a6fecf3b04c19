"""When a key is hot."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.stats.key_sample import HOT_TIMES


@dataclass(frozen=True, slots=True)
class HotRule:
    """What a hot key has in some window of its bucket.

    Attributes:
        rows: So many rows, and
        share: this part of the window's rows, and
        times: as many times the rows of the usual key, if there are others.
        cool_batches: After so many batches with less than half of that a key that was spread is gathered.
    """

    rows: int = 100
    share: float = 0.2
    times: int = HOT_TIMES
    cool_batches: int = 8

    def enough(self, rows: int, usual: int) -> float:
        """How many rows make a key hot.

        Args:
            rows: The rows of the window.
            usual: Those of the usual key; zero if there are no others.
        """
        return max(self.rows, self.share * rows, self.times * usual)
