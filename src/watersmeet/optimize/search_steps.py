"""How many steps an exact search may look at before a heuristic takes over."""

from __future__ import annotations

from dataclasses import dataclass

# Some hundredths of a second: all orders of seven streams on one key, from any of them.
DEFAULT_SEARCH_STEPS = 20_000


class NoStepsLeft(Exception):
    """The search was ended early."""


@dataclass(slots=True)
class SearchSteps:
    """Steps that may still be looked at.

    >>> steps = SearchSteps(10)
    >>> steps.take(4)
    >>> steps.left
    6
    """

    left: int = DEFAULT_SEARCH_STEPS

    def take(self, steps: int) -> None:
        """Take steps off.

        Raises:
            NoStepsLeft: There are not as many left.
        """
        self.left -= steps
        if self.left < 0:
            raise NoStepsLeft
