"""How often each value of a key occurs: value by value, or by ranges of values.

The probability that rows of several streams agree on a key is not the product of what holds for pairs, once
some values are frequent: it is the sum over the values of the product of their frequencies (the correction of
Zhou et al. 2006, eq. 2, for skewed values).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The share of rows per value, or per group of `width` values that are equally frequent.

    Attributes:
        shares: The share of rows by value, or by group.
        width: How many values a group has.
        sampled: Which part of the values is listed, beside the frequent ones.
        frequent: The values that are listed because they are frequent; of these none is missing.

    >>> coins = Frequencies({"heads": 0.9, "tails": 0.1})
    >>> round(match_probability([coins, coins]), 2)
    0.82
    >>> round(match_probability([Frequencies({"1..10": 1.0}, width=10)] * 3), 2)
    0.01
    >>> half = Frequencies({"a": 0.25, "hot": 0.5}, sampled=0.5, frequent=frozenset(["hot"]))
    >>> match_probability([half, half]), half.distinct
    (0.375, 3.0)
    """

    shares: Mapping[Hashable, float]
    width: float = 1.0
    sampled: float = 1.0
    frequent: frozenset[Hashable] = frozenset()

    @property
    def distinct(self) -> float:
        """How many values there are."""
        frequent = sum(value in self.frequent for value in self.shares)
        return (frequent + (len(self.shares) - frequent) / self.sampled) * self.width

    def weight(self, value: Hashable) -> float:
        """For how many values one that is listed stands."""
        return 1.0 if value in self.frequent else 1.0 / self.sampled


def match_probability(frequencies: Sequence[Frequencies]) -> float:
    """How likely one row of each stream all have the same value.

    Streams with ranges must have the same ranges, and samples must be of the same values; a value a stream
    does not mention it does not have.
    """
    first, *_ = frequencies
    common: set[Hashable] = reduce(lambda a, b: a & b, (set(one.shares) for one in frequencies))
    agree = (math.prod(one.shares[value] for one in frequencies) * first.weight(value) for value in common)
    return sum(agree) / first.width ** (len(frequencies) - 1)
