"""Which runs of a window stay in memory where not all can: those that find most partners for their room.

A run that was looked into says by itself how useful it is. It is measured per batch and not over its life,
because it is decided anew after every batch which runs stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

# Of what is known about a run, the last batch makes up this part.
_NEW = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run that might stay.

    Attributes:
        name: What it is called.
        size: Bytes it takes.
        found: Combinations it lately had a part in per batch; None if it is new.
    """

    name: str
    size: int
    found: float | None


class SizedRun(Protocol):
    """A run, as far as its name and size go."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def size(self) -> int:
        """Bytes it takes."""


@dataclass(frozen=True, slots=True)
class MostUseful:
    """The rule, for so many bytes."""

    bytes: int

    def recently(self, before: float | None, found: int) -> float:
        """Combinations per batch, brought up to date."""
        return recently(before, found)

    def staying(self, runs: Iterable[SizedRun], found: Mapping[str, float]) -> set[str]:
        """The names of the runs that stay."""
        return most_useful((Candidate(run.id, run.size, found.get(run.id)) for run in runs), self.bytes)


def recently(before: float | None, found: int) -> float:
    """Combinations per batch, brought up to date.

    >>> recently(None, 8), recently(8.0, 4)
    (8.0, 6.0)
    """
    return float(found) if before is None else before + _NEW * (found - before)


def most_useful(candidates: Iterable[Candidate], free: int) -> set[str]:
    """The names of the runs that stay: new ones, and then those that found most per byte.

    >>> runs = [Candidate("cold", 10, 0.0), Candidate("hot", 10, 50.0), Candidate("new", 10, None)]
    >>> sorted(most_useful(runs, 20))
    ['hot', 'new']
    """
    staying: set[str] = set()
    for one in sorted(candidates, key=_use, reverse=True):
        if one.size <= free:
            staying.add(one.name)
            free -= one.size
    return staying


def _use(one: Candidate) -> float:
    return inf if one.found is None else one.found / max(1, one.size)
