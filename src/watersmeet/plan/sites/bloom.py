"""How large Bloom filters of keys are, and how often they err (Bloom 1970)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FilterSize:
    """Bits per key, and how many of them are set for a key.

    >>> round(ONE_FILTER.false_positives, 4), round(SLICE_FILTER.false_positives, 5)
    (0.0082, 0.00046)
    """

    bits: int
    positions: int

    @property
    def bytes(self) -> float:
        """Bytes per key."""
        return self.bits / 8

    @property
    def false_positives(self) -> float:
        """The share of keys that pass though they are not in the filter."""
        return float((1 - math.exp(-self.positions / self.bits)) ** self.positions)

    def any_false(self, filters: float) -> float:
        """The share that passes at least one of several filters."""
        return float(1 - (1 - self.false_positives) ** filters)

    def passing(self, share: Any, filters: float = 1.0) -> Any:
        """What passes one of several filters, where a share should: a number, or an array of them."""
        return share + (1 - share) * self.any_false(filters)


# Asked once.
ONE_FILTER = FilterSize(bits=10, positions=7)
# One of many, all of which are asked: each must err less for all to err as little.
SLICE_FILTER = FilterSize(bits=16, positions=11)
