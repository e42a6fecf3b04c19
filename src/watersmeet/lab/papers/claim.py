"""What a paper claims, and whether our figures agree.

Nobody writes a verdict down: whoever makes a claim computes `holds` from the figures, so a claim that stops
holding shows. Some claims are known to be mistaken. They are stated all the same, with the reason why they
cannot hold, and beside them stands the corrected claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Literal

# Rounding in the last digits is no change.
_NOISE = 1e-9


class Verdict(Enum):
    """How a claim came out."""

    REPRODUCED = "reproduced"
    EXPLAINED = "not reproduced"
    OPEN = "not reproduced, and not explained"


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about an experiment, held against our figures.

    Attributes:
        text: What is claimed, in our own words.
        found: Our figures, in words.
        holds: Whether they agree; computed from them.
        why_not: Where they are known to differ, the reason. Only shown if they do.
        origin: Whether the paper says so, or what it says was corrected, or extended to a case that
            shows more.

    >>> Claim("costs fall", "they fall from 3 to 2 s", holds=3 > 2).verdict
    <Verdict.REPRODUCED: 'reproduced'>
    >>> Claim("costs fall", "they stay at 3 s", holds=False).verdict.value
    'not reproduced, and not explained'
    """

    text: str
    found: str
    holds: bool
    why_not: str = ""
    origin: Literal["paper", "corrected"] = "paper"

    @property
    def verdict(self) -> Verdict:
        """Whether the figures bear it out, and if not, whether we know why."""
        if self.holds:
            return Verdict.REPRODUCED
        return Verdict.EXPLAINED if self.why_not else Verdict.OPEN


def grows(values: Sequence[float]) -> bool:
    """Whether every value is above the one before.

    >>> grows([1, 2, 3]), grows([1, 2, 2])
    (True, False)
    """
    return all(later > earlier * (1 + _NOISE) for earlier, later in pairwise(values))


def falls(values: Sequence[float]) -> bool:
    """Whether every value is below the one before."""
    return grows(values[::-1])


def never_falls(values: Sequence[float]) -> bool:
    """Whether no value is below the one before.

    >>> never_falls([1, 2, 2]), never_falls([1, 2, 1])
    (True, False)
    """
    return all(later >= earlier * (1 - _NOISE) for earlier, later in pairwise(values))


def never_grows(values: Sequence[float]) -> bool:
    """Whether no value is above the one before."""
    return never_falls(values[::-1])


def spread(values: Iterable[float]) -> float:
    """How much larger the largest value is than the smallest: 1 if they are all the same.

    >>> spread([2, 4, 3])
    2.0
    """
    seen = list(values)
    return max(seen) / min(seen)


def flat(values: Iterable[float], *, within: float = _NOISE) -> bool:
    """Whether the largest value is above the smallest by at most this share.

    >>> flat([100, 104], within=0.05), flat([100, 104])
    (True, False)
    """
    return spread(values) <= 1 + within
