"""How much an exact search may look at before a heuristic takes over."""

from __future__ import annotations

from dataclasses import dataclass

# Some hundredths of a second: all orders of seven streams on one key, from any of them.
DEFAULT_BUDGET = 20_000


class BudgetSpent(Exception):
    """The search was ended early."""


@dataclass(slots=True)
class Budget:
    """Steps that may still be looked at.

    >>> budget = Budget(10)
    >>> budget.spend(4)
    >>> budget.left
    6
    """

    left: int = DEFAULT_BUDGET

    def spend(self, steps: int) -> None:
        """Take steps off.

        Raises:
            BudgetSpent: There are not as many left.
        """
        self.left -= steps
        if self.left < 0:
            raise BudgetSpent
