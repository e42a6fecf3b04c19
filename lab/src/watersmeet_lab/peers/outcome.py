"""What came of one run, and its rates."""

from __future__ import annotations

from dataclasses import dataclass, field

# The first part of the rows fills windows and warms up Java; the steady rate is that of the others.
WARM = 0.25


@dataclass(frozen=True)
class Outcome:
    """A run.

    Attributes:
        results: How many results there were.
        seconds: From the start of the query, in a session that is there, to its end.
        reached: How many rows had been read after so many seconds, up to when all were joined; nothing where
            a system does not say.
    """

    results: int
    seconds: float
    reached: list[tuple[float, int]] = field(default_factory=list)

    def rate(self, rows: int) -> float:
        """Rows per second end to end."""
        return rows / self.seconds

    def steady(self, rows: int) -> float | None:
        """Rows per second once so much was read as to be warm.

        >>> Outcome(0, 20, [(0, 0), (8, 25), (10, 50), (14, 100)]).steady(100)
        12.5
        """
        if not self.reached:
            return None
        first = next((point for point in self.reached if point[1] >= rows * WARM), self.reached[-1])
        last = self.reached[-1]
        return (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] else None
