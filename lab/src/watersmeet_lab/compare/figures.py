"""The arithmetic of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Figure:
    """A median with the least and the greatest of the values it is from."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """From one value per round.

        >>> Figure.of([3.0, 1.0, 2.0])
        Figure(median=2.0, least=1.0, greatest=3.0)
        """
        return cls(median(values), min(values), max(values))

    @property
    def spread(self) -> float:
        """How far the values lie apart, as a part of the median.

        >>> Figure.of([9.0, 10.0, 12.0]).spread
        0.3
        """
        return (self.greatest - self.least) / self.median


@dataclass(frozen=True)
class Comparison:
    """Two versions in the same rounds; `ratio` is what the new one takes over what the base takes."""

    base: Figure
    new: Figure
    ratio: Figure

    @classmethod
    def of(cls, base: Sequence[float], new: Sequence[float]) -> Comparison:
        """From one value per round and version.

        The ratio is taken round by round: the two runs of a round come one after the other, so what slows the
        machine down meanwhile slows both.

        >>> Comparison.of([1.0, 2.0, 4.0], [1.1, 2.0, 4.8]).ratio
        Figure(median=1.1, least=1.0, greatest=1.2)
        """
        pairs = zip(base, new, strict=True)
        return cls(Figure.of(base), Figure.of(new), Figure.of([after / before for before, after in pairs]))
