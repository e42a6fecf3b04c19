r"""Whole joins placed at sites, one plan for all values or one per group of values (Zhou et al. 2006).

ByValue on k, over the inputs  0: s0   1: s1   2: s2

        way 0, for values a and b      way 1, for all others

              JoinAt oslo                    JoinAt bonn
             /    |    \                    /         \
            0     1     2                  2       JoinAt oslo
                                                    /      \
                                                   0        1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class At:
    """A stream where it arrives."""

    stream: int

    @property
    def streams(self) -> frozenset[int]:
        """Itself."""
        return frozenset({self.stream})


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the join that is split by value, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class JoinAt:
    """A join of inputs at a site."""

    inputs: tuple[Tree | Input, ...]
    site: str

    @property
    def streams(self) -> frozenset[int]:
        """The streams below."""
        return frozenset().union(*(part.streams for part in self.inputs if not isinstance(part, Input)))


@dataclass(frozen=True, slots=True)
class ByValue:
    """A join split by the values of an attribute: a PMJoin.

    Attributes:
        attribute: The number of the query's attribute that all inputs share.
        inputs: What is joined.
        ways: The plans; their leaves are the inputs.
        values: Values as the column has them, and the way of each.
        other: The way of all other values.
    """

    attribute: int
    inputs: tuple[Tree, ...]
    ways: tuple[JoinAt, ...]
    values: tuple[tuple[Any, ...], tuple[int, ...]] = ((), ())
    other: int = 0

    @property
    def streams(self) -> frozenset[int]:
        """The streams below."""
        return frozenset().union(*(part.streams for part in self.inputs))


Tree = At | JoinAt | ByValue
