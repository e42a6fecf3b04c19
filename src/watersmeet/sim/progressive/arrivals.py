"""What arrives: the relations of Tao et al., Sect. 6, at their size or smaller.

    harmony   both relations have few rows in the first partition and many in the last
    reverse   where one has many, the other has few

A smaller workload has fewer rows, less memory and fewer keys by the same factor, so that a row has as many
partners in memory as in the paper, and memory overflows as often. Its pages hold fewer rows and take less
time by that factor, too: otherwise a flush, which writes to a dozen places however little it writes, would
take longer than memory takes to fill. So curves keep their shape, and a result costs the same seconds.

What does not scale is silence: one row of 25 is followed by one at any size. At the paper's size tasks take
longer than the time between silences, so that the disk is the limit; in a small workload silences are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from watersmeet.cost.progressive import PageTimes
from watersmeet.errors import InvalidSimulation

Pattern = Literal["harmony", "reverse"]

# Seconds between rows of a reliable network. An unreliable one has up to so many times that, by a Zipf
# distribution with an exponent for which rows end when they do in the paper, after 14,000 s.
GAP = 0.001
LONGEST = 30
SKEW = 1.07


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rows in the order they arrive.

    Attributes:
        times: The second of each.
        sides: 0 for the first relation, 1 for the second.
        keys: Whole numbers from zero on.
    """

    times: Any
    sides: Any
    keys: Any

    def results(self) -> int:
        """How many pairs have the same key."""
        keys = int(self.keys.max()) + 1
        first, second = (np.bincount(self.keys[self.sides == side], minlength=keys) for side in (0, 1))
        return int((first * second).sum())


@dataclass(frozen=True, slots=True)
class Workload:
    """Two relations, the network they come over and the memory they are joined in.

    Attributes:
        rows: Of both relations together.
        memory: How many rows memory holds.
        keys: How many values the key has, as many in each partition.
        partitions: How many parts the keys are split into, by the remainder.
        pattern: Whether partitions that are large in one relation are so in the other.
        ratio: How many rows of the first relation come for one of the second.
        reliable: Whether rows come at a constant rate.
        page_rows: Rows on a page.
        times: What a page takes.
    """

    rows: int = 2_000_000
    memory: int = 100_000
    keys: int = 10_000
    partitions: int = 20
    pattern: Pattern = "harmony"
    ratio: float = 1.0
    reliable: bool = True
    page_rows: int = 102
    times: PageTimes = field(default_factory=PageTimes)

    def __post_init__(self) -> None:
        """Refuse what cannot arrive, or fits nowhere."""
        if min(self.rows, self.memory, self.partitions, self.page_rows) < 1 or self.ratio <= 0:
            raise InvalidSimulation("a progressive join needs rows, memory, partitions and pages", f"{self}.")
        if self.keys < 1 or self.keys % self.partitions:
            raise InvalidSimulation(
                "every partition of a progressive join must have as many keys",
                f"there are {self.keys} keys for {self.partitions} partitions.",
            )

    def shares(self) -> Any:
        """How likely a row is of a side and falls into a partition: P(i) P(j|i).

        >>> Workload(partitions=2, ratio=4, pattern="reverse").shares().round(2).tolist()
        [[0.08, 0.72], [0.18, 0.02]]
        """
        first = np.linspace(1, 9, self.partitions)
        second = first if self.pattern == "harmony" else first[::-1]
        sides = np.array([[self.ratio], [1.0]]) / (self.ratio + 1)
        return sides * np.stack((first, second)) / first.sum()

    def results(self) -> float:
        """How many pairs are expected in the end.

        >>> f"{Workload().results():.3e}, {Workload(pattern='reverse', ratio=5).results():.3e}"
        '1.236e+08, 4.246e+07'
        """
        first, second = self.shares()
        return float(self.rows**2 * (first * second).sum() * self.partitions / self.keys)

    def draw(self, random: np.random.Generator) -> Arrivals:
        """The rows, as they come."""
        places = np.searchsorted(np.cumsum(self.shares()), random.random(self.rows), side="right")
        sides, homes = np.divmod(np.minimum(places, 2 * self.partitions - 1), self.partitions)
        values = random.integers(self.keys // self.partitions, size=self.rows)
        # The first row comes at once.
        times = np.concatenate(([0.0], np.cumsum(self._gaps(random))))
        return Arrivals(times, sides, homes + self.partitions * values)

    def _gaps(self, random: np.random.Generator) -> Any:
        if self.reliable:
            return np.full(self.rows - 1, GAP)
        lengths = np.arange(1, LONGEST + 1)
        chances = lengths**-SKEW
        return GAP * random.choice(lengths, self.rows - 1, p=chances / chances.sum())


def of_the_paper(
    pattern: Pattern = "harmony", ratio: float = 1.0, *, reliable: bool = True, smaller: int = 1
) -> Workload:
    """A workload of Sect. 6, smaller by a factor.

    >>> small = of_the_paper(smaller=10)
    >>> small.rows, small.memory, small.keys, small.page_rows, small.times.random
    (200000, 10000, 1000, 10, 0.001)
    """
    paper = Workload()
    return Workload(
        paper.rows // smaller,
        paper.memory // smaller,
        paper.partitions * max(1, paper.keys // paper.partitions // smaller),
        pattern=pattern,
        ratio=ratio,
        reliable=reliable,
        page_rows=max(1, round(paper.page_rows / smaller)),
        times=PageTimes(paper.times.random / smaller, paper.times.sequential / smaller),
    )
