"""What the user may say about planning."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from watersmeet.cost.visit import COST_MODELS
from watersmeet.errors import InvalidPlanning, choices
from watersmeet.optimize.budget import DEFAULT_BUDGET
from watersmeet.optimize.keyless import ROUTINGS, SLICED
from watersmeet.optimize.order.optimizers import ORDER_OPTIMIZERS
from watersmeet.optimize.progressive.policies import PROGRESSIVE
from watersmeet.stats import NOTHING_KNOWN, Statistics

# The exact search within its budget, then the cheapest heuristic, then the order as written.
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Planning:
    """How a plan is chosen.

    Attributes:
        statistics: What is known about the data.
        optimizer: Who chooses the probe orders.
        cost_model: What they are compared by.
        budget: How many steps an exact search may look at.
        adaptive: Whether buckets change their probe orders while they run.
        routing: How rows meet that share no key.
        segment: The length of a segment where they are aligned by time; None chooses one.
        slices: How many buckets share sliced windows; None takes all.
        progressive: Who decides what leaves memory, where it is limited.
        tick_s: How long a silence is before it is used, seconds.
    """

    statistics: Statistics = NOTHING_KNOWN
    optimizer: str = AUTO
    cost_model: str = "probes"
    budget: int = DEFAULT_BUDGET
    adaptive: bool = True
    routing: str = SLICED
    segment: timedelta | None = None
    slices: int | None = None
    progressive: str = "rpj"
    tick_s: float = 1.0

    def __post_init__(self) -> None:
        """Refuse names that do not exist."""
        _refuse_unknown("optimizer", self.optimizer, [AUTO, *ORDER_OPTIMIZERS])
        _refuse_unknown("cost model", self.cost_model, list(COST_MODELS))
        _refuse_unknown("routing", self.routing, list(ROUTINGS))
        _refuse_unknown("progressive join", self.progressive, list(PROGRESSIVE))
        if self.segment is not None and self.segment <= timedelta(0):
            raise InvalidPlanning("a segment is not above zero", f"it is {self.segment}.")
        if type(self.budget) is not int or self.budget < 0:
            raise InvalidPlanning(
                "the budget is not a number of steps",
                f"it is {self.budget!r}.",
                f"give a whole number from 0 up; the default is {DEFAULT_BUDGET}.",
            )
        if not isinstance(self.adaptive, bool):
            raise InvalidPlanning(
                "adaptive is neither true nor false", f"it is {self.adaptive!r}.", "say adaptive=False."
            )
        if not isinstance(self.statistics, Statistics):
            raise InvalidPlanning(
                "these are not statistics",
                f"they are {type(self.statistics).__name__}.",
                'make them with wm.statistics({"orders": {"rate": 100}}) or query.analyze().',
            )


def _refuse_unknown(what: str, name: str, valid: list[str]) -> None:
    if name not in valid:
        raise InvalidPlanning(
            f'there is no {what} "{name}"', f"there are {len(valid)}.", f"valid are {choices(valid)}."
        )
