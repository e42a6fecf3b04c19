"""What a paper claims, and whether our figures agree.

Nobody writes a verdict down: whoever makes a claim computes from the figures whether it holds. A claim about
random workloads is judged over several independent draws of them, and over all together:

    reproduced        it holds for all together, and in at least four of five draws
    not reproduced    it does not hold for all together, and in at most one of five draws
    in part           anything else

Where a claim is known not to hold, the code says which verdict is expected and why. A verdict that is not the
expected one, for better or worse, is not explained by that: it has changed, and somebody must look at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Literal

# Rounding in the last digits is no change.
_NOISE = 1e-9
# In so many draws a claim must hold to be reproduced, and fail not to be.
_MOST = 0.8

Origin = Literal["paper", "corrected", "measured"]


class Verdict(Enum):
    """How a claim came out."""

    REPRODUCED = "yes"
    IN_PART = "in part"
    NOT_REPRODUCED = "no"


@dataclass(frozen=True, slots=True)
class Known:
    """A claim that is known not to hold, or not always: the verdict it gets, and why."""

    verdict: Verdict
    why: str


def fails(why: str) -> Known:
    """The claim does not hold."""
    return Known(Verdict.NOT_REPRODUCED, why)


def partly(why: str) -> Known:
    """The claim holds for some workloads and not for others."""
    return Known(Verdict.IN_PART, why)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about an experiment, held against our figures.

    Attributes:
        text: What is claimed, in our own words.
        found: Our figures, in words.
        holds: Whether they agree; computed from them. Of random workloads: from all together.
        draws: Whether the figures of each draw agree; empty if nothing is random.
        known: What is expected if not that the claim is reproduced.
        origin: Whether the paper says so, or what it says was corrected, or extended to a case that
            shows more, or it is about what the simulator measured.

    >>> Claim("costs fall", "they fall from 3 to 2 s", holds=3 > 2).verdict
    <Verdict.REPRODUCED: 'yes'>
    >>> Claim("costs fall", "on average", holds=True, draws=(True, True, False, True, False)).verdict
    <Verdict.IN_PART: 'in part'>
    """

    text: str
    found: str
    holds: bool
    draws: tuple[bool, ...] = ()
    known: Known | None = None
    origin: Origin = "paper"

    @property
    def verdict(self) -> Verdict:
        """Whether the figures bear it out."""
        judged = self.draws or (self.holds,)
        if self.holds and sum(judged) >= _MOST * len(judged):
            return Verdict.REPRODUCED
        if not self.holds and judged.count(False) >= _MOST * len(judged):
            return Verdict.NOT_REPRODUCED
        return Verdict.IN_PART

    @property
    def expected(self) -> Verdict:
        """The verdict we know of."""
        return self.known.verdict if self.known else Verdict.REPRODUCED

    @property
    def changed(self) -> bool:
        """Whether the verdict is another than expected, so that what we know explains nothing."""
        return self.verdict is not self.expected

    def words(self) -> str:
        """The verdict for readers.

        >>> Claim("", "", holds=False, draws=(False, False, True)).words()
        'in part, 1 of 3 draws, not on average: **changed, look at this** (expected: yes)'
        """
        text = self.verdict.value
        if self.draws:
            text += f", {sum(self.draws)} of {len(self.draws)} draws"
        if self.verdict is Verdict.IN_PART:
            text += "" if self.holds else ", not on average"
        return text + (
            f": **changed, look at this** (expected: {self.expected.value})" if self.changed else ""
        )


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
