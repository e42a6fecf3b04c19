"""What arrives: the relations of Tao et al., Sect. 6, at their size or smaller.

    harmony   both relations have few rows in the first partition and many in the last
    reverse   where one has many, the other has few

A smaller workload has fewer rows, less memory and fewer keys by the same factor, so that a row finds as many
partners in memory as in the paper, and memory is full as often. Its pages hold fewer rows and take less time
by that factor as well: otherwise a flush, which moves the disk's arm a dozen times however few rows it
writes, would take longer than it takes memory to fill again. So all curves keep their shape, and a result
costs as many seconds. What does not scale is silence: it follows one row of 25 at any size, so a small
workload has fewer of them for the same share of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from watersmeet.cost.progressive import PageTimes

Pattern = Literal["harmony", "reverse"]

# Seconds between rows of a reliable network; an unreliable one has up to so many times that (Sect. 6).
GAP = 0.001
LONGEST = 30
# The exponent with which the paper's rows come to an end when they do there, after 14,000 s.
SKEW = 1.07


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rows in the order they arrive: the second, the side and the key of each."""

    times: Any
    sides: Any
    keys: Any


@dataclass(frozen=True, slots=True)
class Workload:
    """Two relations, the network they come over and the memory they are joined in.

    Attributes:
        rows: Of both relations together.
        memory: How many rows memory holds.
        keys: How many values the key has, the same number in each partition.
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
        '1.236e+08, 4.242e+07'
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
    """A workload of Sect. 6, smaller by a factor."""
    paper = Workload()
    times = PageTimes(paper.times.random / smaller, paper.times.sequential / smaller)
    return Workload(
        paper.rows // smaller,
        paper.memory // smaller,
        paper.keys // smaller,
        pattern=pattern,
        ratio=ratio,
        reliable=reliable,
        page_rows=max(1, round(paper.page_rows / smaller)),
        times=times,
    )
