"""Several independent draws of random workloads: curves with their range, and claims judged by each draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Generic, TypeVar

from watersmeet.plot.chart import Line
from watersmeet_lab.papers.claim import Claim, Known, Origin

Found = TypeVar("Found")
Case = TypeVar("Case")

# By name one figure for each place.
Curves = Mapping[str, Sequence[float]]
Figures = Mapping[Case, Curves]


@dataclass(frozen=True, slots=True)
class Draws(Generic[Found]):
    """What was found in each draw.

    Attributes:
        together: The figures of all draws together: their mean, or all of them in one.
        each: The figures of each draw.
    """

    together: Found
    each: tuple[Found, ...]

    def judge(
        self,
        text: str,
        found: Callable[[Found], str],
        holds: Callable[[Found], bool],
        known: Known | None = None,
        origin: Origin = "paper",
    ) -> Claim:
        """Hold a claim against the figures.

        Args:
            text: The claim.
            found: Puts figures into words; said of all draws together.
            holds: Judges figures.
            known: What is expected if not that the claim is reproduced.
            origin: Who claims it.
        """
        verdicts = tuple(holds(figures) for figures in self.each)
        return Claim(
            text=text,
            found=found(self.together),
            holds=holds(self.together),
            draws=verdicts,
            known=known,
            origin=origin,
        )


def averaged(each: Sequence[Figures[Case]]) -> Draws[Figures[Case]]:
    """Draws whose figures have the same cases, curves and places, with their mean.

    >>> averaged([{"a": {"cost": [1.0, 3.0]}}, {"a": {"cost": [2.0, 5.0]}}]).together
    {'a': {'cost': [1.5, 4.0]}}
    """
    together = {
        case: {
            name: [mean(values) for values in zip(*(figures[case][name] for figures in each), strict=True)]
            for name in curves
        }
        for case, curves in each[0].items()
    }
    return Draws(together, tuple(each))


def lines(draws: Draws[Figures[Case]], case: Case, places: Sequence[float]) -> tuple[Line, ...]:
    """The mean curves of a case with the range of the draws."""
    found = []
    for name, ys in draws.together[case].items():
        columns = list(zip(*(figures[case][name] for figures in draws.each), strict=True))
        low, high = tuple(min(column) for column in columns), tuple(max(column) for column in columns)
        found.append(Line(name, tuple(map(float, places)), tuple(ys), low=low, high=high))
    return tuple(found)
