"""Streams as in the experiments of Zhou et al. 2006 (Sect. 4), and how often each value occurs in them.

The paper names the kinds of distributions and leaves much open. Filled in here:

* the standard deviation of a normal distribution is a sixth of the range;
* "different" distributions are of any kind, and each stream has its frequent values elsewhere: its
  distribution is moved along the range by a distance of its own (contiguous hot spots), or its values are
  shuffled (random hot spots);
* "similar" ones are Zipf's with exponents from 0.1 to 0.3, all with the same frequent values: unmoved, or
  all shuffled alike.
"""

from __future__ import annotations

from math import log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Likeness = Literal["similar", "different"]
HotSpots = Literal["contiguous", "random"]
Windows = tuple[float, float]

# What the paper gives, in seconds. With a thousand values they hold more than one tuple of each on average,
# and joins give more than they take.
LONG: Windows = (10, 100)
# Ours, where they hold less than one on average.
SHORT: Windows = (0.3, 3)


def uniform(values: int) -> Floats:
    """All values equally often."""
    return np.full(values, 1 / values)


def normal(values: int) -> Floats:
    """Most in the middle, hardly any at the ends."""
    places = (np.arange(values) + 0.5) / values
    return _normalised(np.exp(-0.5 * ((places - 0.5) * 6) ** 2))


def zipf(values: int, exponent: float) -> Floats:
    """The first most often."""
    return _normalised(np.arange(1.0, values + 1) ** -exponent)


def self_similar(values: int, h: float) -> Floats:
    """The first h of the values carry 1 - h of the weight, and so on within them: cdf x^(ln(1-h) / ln h).

    >>> [round(float(share), 6) for share in self_similar(100, 0.2).cumsum()[[3, 19]]]
    [0.64, 0.8]
    """
    # The difference of neighbours of the cumulative distribution.
    return np.diff((np.arange(values + 1) / values) ** (log(1 - h) / log(h)))


def drawn(values: int, rng: np.random.Generator) -> Floats:
    """A distribution of any kind."""
    match rng.integers(4):
        case 0:
            return uniform(values)
        case 1:
            return normal(values)
        case 2:
            return zipf(values, rng.uniform(0.1, 1.5))
        case _:
            return self_similar(values, rng.uniform(0.1, 0.9))


def frequencies(
    streams: int,
    values: int,
    likeness: Likeness,
    rng: np.random.Generator,
    hot_spots: HotSpots = "contiguous",
) -> Floats:
    """How often each value occurs: one row per stream, each adding up to 1."""
    if likeness == "similar":
        rows = np.array([zipf(values, rng.uniform(0.1, 0.3)) for _ in range(streams)])
        return rows[:, rng.permutation(values)] if hot_spots == "random" else rows
    rows = np.array([drawn(values, rng) for _ in range(streams)])
    if hot_spots == "random":
        return np.array([row[rng.permutation(values)] for row in rows])
    return np.array([np.roll(row, rng.integers(values)) for row in rows])


def spans(streams: int, rng: np.random.Generator, windows: Windows = LONG) -> Floats:
    """How long the window of each stream lasts, in seconds."""
    return rng.uniform(*windows, streams)


def generator(*key: int) -> np.random.Generator:
    """Random numbers that depend on these numbers and on nothing else."""
    return np.random.default_rng(key)


def _normalised(weights: NDArray[np.floating[Any]]) -> Floats:
    return np.asarray(weights / weights.sum())
