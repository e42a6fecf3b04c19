"""A number that knows how well it is known.

A figure nobody has given or measured is absent, which is not zero: whatever is computed from it is absent
as well, and the reader is told what was missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

Operation = Callable[[float, float], float]


class Known(IntEnum):
    """How well a figure is known; of two, the lesser is the weaker."""

    ABSENT = 0
    ESTIMATED = 1
    EXACT = 2


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, or the lack of one.

    >>> rate, seconds = Figure.exact(10), Figure.estimated(3)
    >>> rate * seconds
    Figure(value=30.0, known=<Known.ESTIMATED: 1>)
    >>> (rate * ABSENT).value is None
    True
    """

    value: float | None
    known: Known

    @classmethod
    def exact(cls, value: float) -> Figure:
        """A number that is right."""
        return cls(float(value), Known.EXACT)

    @classmethod
    def estimated(cls, value: float) -> Figure:
        """A number from a sample, a sketch or a formula."""
        return cls(float(value), Known.ESTIMATED)

    @property
    def is_known(self) -> bool:
        """Whether there is a number at all."""
        return self.known is not Known.ABSENT

    @property
    def number(self) -> float:
        """The number; only where there is one."""
        assert self.value is not None, "an absent figure has no number"
        return self.value

    def __mul__(self, other: Figure | float) -> Figure:
        """The product, known as well as the weaker of the two."""
        return self._with(other, lambda a, b: a * b)

    def __add__(self, other: Figure | float) -> Figure:
        """The sum, known as well as the weaker of the two."""
        return self._with(other, lambda a, b: a + b)

    def __truediv__(self, other: Figure | float) -> Figure:
        """The quotient; by zero it is not known."""
        return self._with(other, lambda a, b: a / b if b else math.inf)

    __rmul__ = __mul__
    __radd__ = __add__

    def _with(self, other: Figure | float, operation: Operation) -> Figure:
        second = other if isinstance(other, Figure) else Figure.exact(other)
        known = min(self.known, second.known)
        if known is Known.ABSENT:
            return ABSENT
        value = operation(self.number, second.number)
        # Beyond what a number can be, nothing is known.
        return Figure(value, known) if math.isfinite(value) else ABSENT


ABSENT = Figure(None, Known.ABSENT)
