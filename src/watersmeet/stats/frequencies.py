"""How often each value of a key occurs: value by value, or by ranges of values.

The probability that rows of several streams agree on a key is not the product of what holds for pairs, once
some values are frequent: it is the sum over the values of the product of their frequencies (the correction of
Zhou et al. 2006, eq. 2, for skewed values).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The share of rows per value, or per group of `width` values that are equally frequent.

    Attributes:
        shares: The share of rows by value, or by group.
        width: How many values a group has.
        sampled: Which part of the values is listed, beside the frequent ones.
        frequent: The values that are listed because they are frequent; of these none is missing.
        behind: Where values are listed by a hash, the values behind those that are known; None where they are
            listed themselves.

    >>> Frequencies({"1..10": 1.0}, width=10).distinct
    10.0
    >>> Frequencies({"a": 0.25, "hot": 0.5}, sampled=0.5, frequent=frozenset(["hot"])).distinct
    3.0
    """

    shares: Mapping[Hashable, float]
    width: float = 1.0
    sampled: float = 1.0
    frequent: frozenset[Hashable] = frozenset()
    behind: Mapping[Hashable, Any] | None = None

    @property
    def distinct(self) -> float:
        """How many values there are."""
        frequent = sum(value in self.frequent for value in self.shares)
        return (frequent + (len(self.shares) - frequent) / self.sampled) * self.width

    def value(self, entry: Hashable) -> Any:
        """The value an entry stands for; None if that is not known."""
        return entry if self.behind is None else self.behind.get(entry)

    def weight(self, value: Hashable) -> float:
        """For how many values one that is listed stands."""
        return 1.0 if value in self.frequent else 1.0 / self.sampled


class FrequencyTable:
    """The frequencies of one key in several streams, side by side.

    Streams with ranges must have the same ranges, and samples must be of the same values. A value a stream
    does not mention it does not have, unless it has more values than it mentions: those share the rows that
    are left.

    >>> coins = Frequencies({"heads": 0.9, "tails": 0.1})
    >>> round(FrequencyTable({0: coins, 1: coins}, {}).match_probability([0, 1]), 2)
    0.82
    >>> hot = FrequencyTable({0: Frequencies({7: 0.1}), 1: Frequencies({7: 0.1})}, {0: 91, 1: 91})
    >>> round(hot.match_probability([0, 1]), 3)
    0.019
    """

    def __init__(self, spreads: Mapping[int, Frequencies], distinct: Mapping[int, float | None]) -> None:
        """Line the values up; `distinct` are the streams' numbers of values where they are known."""
        first = next(iter(spreads.values()))
        values = list(dict.fromkeys(value for spread in spreads.values() for value in spread.shares))
        self._weights = np.array([first.weight(value) for value in values])
        self._width = first.width
        self._shares = {
            stream: np.array([spread.shares.get(value, 0.0) for value in values])
            for stream, spread in spreads.items()
        }
        self._rest = {s: _rest(spread, distinct.get(s)) for s, spread in spreads.items()}

    def has(self, streams: Sequence[int]) -> bool:
        """Whether the frequencies of all these streams are known."""
        return all(stream in self._shares for stream in streams)

    def match_probability(self, streams: Sequence[int]) -> float:
        """How likely one row of each stream all have the same value."""
        product = self._weights.copy()
        for stream in streams:
            product *= self._shares[stream]
        listed = float(product.sum()) / self._width ** (len(streams) - 1)
        rests = [self._rest[stream] for stream in streams]
        if not all(values for _, values in rests):
            return listed
        # Among the others, the values of the stream with the fewest occur in all.
        counts = sorted(values for _, values in rests)
        return listed + math.prod(share for share, _ in rests) / math.prod(counts[1:])


def _rest(spread: Frequencies, distinct: float | None) -> tuple[float, float]:
    """The share of the rows whose value is not listed, and how many such values there are."""
    left = 1.0 - sum(spread.shares.values())
    values = 0.0 if distinct is None else distinct - spread.distinct
    if spread.sampled < 1 or left <= 1e-9 or values < 1:
        return 0.0, 0.0
    return left, values
