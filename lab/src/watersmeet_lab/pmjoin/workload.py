"""Streams as in the experiments of Zhou et al. 2006 (Sect. 4), and how often each value occurs in them.

The paper names the kinds of distributions, which are those of `sim.distribution`, and leaves much open.
Filled in here: "different" distributions are of any kind, and each stream has its frequent values elsewhere;
"similar" ones are Zipf's with exponents from 0.1 to 0.3, all with the same frequent values.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from watersmeet.sim.distribution import Floats, Values, generator

Likeness = Literal["similar", "different"]
HotSpots = Literal["contiguous", "random"]
Windows = tuple[float, float]

# What the paper gives, in seconds. With a thousand values they hold more than one tuple of each on average,
# and joins give more than they take.
LONG: Windows = (10, 100)
# Ours, where they hold less than one on average.
SHORT: Windows = (0.3, 3)


def drawn(values: int, rng: np.random.Generator, hot_spots: HotSpots = "contiguous") -> Values:
    """A distribution of any kind, with its frequent values in a place of its own."""
    match rng.integers(4):
        case 0:
            return Values(values, hot_spots=hot_spots, alike=False)
        case 1:
            return Values(values, "normal", hot_spots=hot_spots, alike=False)
        case 2:
            return Values(values, "zipf", theta=rng.uniform(0.1, 1.5), hot_spots=hot_spots, alike=False)
        case _:
            return Values(values, "self-similar", h=rng.uniform(0.1, 0.9), hot_spots=hot_spots, alike=False)


def frequencies(
    streams: int,
    values: int,
    likeness: Likeness,
    rng: np.random.Generator,
    hot_spots: HotSpots = "contiguous",
) -> Floats:
    """How often each value occurs: one row per stream, each adding up to 1."""
    common = int(rng.integers(2**32))
    kinds = [
        Values(values, "zipf", theta=rng.uniform(0.1, 0.3), hot_spots=hot_spots)
        if likeness == "similar"
        else drawn(values, rng, hot_spots)
        for _ in range(streams)
    ]
    return np.array([kind.frequencies(rng, generator(common)) for kind in kinds])


def spans(streams: int, rng: np.random.Generator, windows: Windows = LONG) -> Floats:
    """How long the window of each stream lasts, in seconds."""
    return rng.uniform(*windows, streams)
