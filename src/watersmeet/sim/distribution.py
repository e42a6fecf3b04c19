"""How often each value of a column occurs (the workloads of Zhou et al. 2006, Sect. 4).

Values are numbered from 0. The paper leaves some things open; filled in here: the standard deviation of a
normal distribution is a sixth of the range, and hot spots lie

                    alike in all streams         elsewhere in each stream
    contiguous      as the distribution says     moved along the range by a random distance
    random          one shuffle for all          a shuffle for each
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, log

import numpy as np
from numpy.typing import NDArray

from watersmeet.errors import InvalidSimulation, choices

Floats = NDArray[np.float64]

DISTRIBUTIONS = ("uniform", "normal", "zipf", "self-similar", "given")
HOT_SPOTS = ("contiguous", "random")


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a column.

    Attributes:
        count: How many there are.
        distribution: Which kind of distribution.
        theta: Exponent of Zipf's distribution; 0 is uniform.
        h: Of a self-similar one: the first h of the values carry 1 - h of the weight.
        shares: Of a given one: how often each value occurs, in any unit.
        hot_spots: Where the frequent values lie.
        alike: Whether they lie there in all streams.
    """

    count: int
    distribution: str = "uniform"
    theta: float = 1.0
    h: float = 0.2
    shares: tuple[float, ...] = ()
    hot_spots: str = "contiguous"
    alike: bool = True

    def __post_init__(self) -> None:
        """Refuse what is no distribution."""
        _known("distribution", self.distribution, DISTRIBUTIONS)
        _known("hot spots", self.hot_spots, HOT_SPOTS)
        if self.count < 1:
            raise InvalidSimulation("a column needs a value", f"it has {self.count}.")
        if not 0 <= self.theta < inf:
            raise InvalidSimulation("theta of Zipf's distribution must be 0 or more", f"it is {self.theta}.")
        if not 0 < self.h < 1:
            raise InvalidSimulation(
                "h of a self-similar distribution must be between 0 and 1", f"it is {self.h}."
            )
        if self.distribution == "given" and (
            len(self.shares) != self.count
            or not all(isfinite(share) and share >= 0 for share in self.shares)
            or not sum(self.shares)
        ):
            raise InvalidSimulation(
                "given shares must be numbers from 0 up, one for each value, not all 0",
                f"there are {self.count} values and the shares {list(self.shares)}.",
            )

    def frequencies(self, own: np.random.Generator, common: np.random.Generator) -> Floats:
        """The share of each value, all together 1.

        Args:
            own: Random numbers of the stream.
            common: Random numbers that are the same for all streams.

        >>> rng = np.random.default_rng(1)
        >>> Values(4, "zipf", theta=1).frequencies(rng, rng).round(2).tolist()
        [0.48, 0.24, 0.16, 0.12]
        """
        shares = self.in_order()
        if self.hot_spots == "random":
            return shares[(common if self.alike else own).permutation(self.count)]
        return shares if self.alike else np.roll(shares, own.integers(self.count))

    def in_order(self) -> Floats:
        """The share of each value where hot spots lie as the distribution says.

        >>> Values(100, "self-similar", h=0.2).in_order().cumsum()[[3, 19]].round(6).tolist()
        [0.64, 0.8]
        """
        match self.distribution:
            case "normal":
                places = (np.arange(self.count) + 0.5) / self.count
                weights = np.exp(-0.5 * ((places - 0.5) * 6) ** 2)
            case "zipf":
                weights = np.arange(1.0, self.count + 1) ** -self.theta
            case "self-similar":
                # Differences of the cumulative distribution x^(ln(1 - h) / ln h).
                weights = np.diff((np.arange(self.count + 1) / self.count) ** (log(1 - self.h) / log(self.h)))
            case "given":
                weights = np.array(self.shares, np.float64)
            case _:
                weights = np.ones(self.count)
        return np.asarray(weights / weights.sum())


def generator(*numbers: int) -> np.random.Generator:
    """Random numbers that depend on these numbers and on nothing else."""
    return np.random.default_rng(numbers)


def _known(what: str, name: str, valid: tuple[str, ...]) -> None:
    if name not in valid:
        raise InvalidSimulation(f'unknown {what} "{name}"', hint=f"valid are {choices(valid)}.")
