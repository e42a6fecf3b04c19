"""What the user may say about planning."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from watersmeet.cost.visit import COST_MODELS
from watersmeet.errors import InvalidPlanning, choices
from watersmeet.optimize.keyless import ROUTINGS, SLICED
from watersmeet.optimize.order.optimizers import ORDER_OPTIMIZERS
from watersmeet.optimize.progressive.planning import MemoryPlanning
from watersmeet.optimize.search_steps import DEFAULT_SEARCH_STEPS
from watersmeet.optimize.sites.planning import SitePlanning
from watersmeet.stats import NOTHING_KNOWN, Statistics

# The exact search within its steps, then the cheapest heuristic, then the order as written.
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Planning:
    """How a plan is chosen.

    Attributes:
        statistics: What is known about the data.
        optimizer: Who chooses the probe orders.
        cost_model: What they are compared by.
        search_steps: How many steps an exact search may look at.
        adaptive: Whether buckets change their probe orders while they run.
        routing: How rows meet that share no key.
        segment: The length of a segment where they are aligned by time; None chooses one.
        spread: How many buckets share a window whose rows have no key; None takes all.
        spread_hot_keys: Whether rows of hot keys are spread over all buckets while the join runs.
        sites: How a plan between sites is chosen.
        memory: How a join larger than memory keeps to it.
    """

    statistics: Statistics = NOTHING_KNOWN
    optimizer: str = AUTO
    cost_model: str = "probes"
    search_steps: int = DEFAULT_SEARCH_STEPS
    adaptive: bool = True
    routing: str = SLICED
    segment: timedelta | None = None
    spread: int | None = None
    spread_hot_keys: bool = True
    sites: SitePlanning = field(default_factory=SitePlanning)
    memory: MemoryPlanning = field(default_factory=MemoryPlanning)

    def __post_init__(self) -> None:
        """Refuse names that do not exist."""
        _refuse_unknown("optimizer", self.optimizer, [AUTO, *ORDER_OPTIMIZERS])
        _refuse_unknown("cost model", self.cost_model, list(COST_MODELS))
        _refuse_unknown("routing", self.routing, list(ROUTINGS))
        if self.segment is not None and self.segment <= timedelta(0):
            raise InvalidPlanning("a segment is not above zero", f"it is {self.segment}.")
        if type(self.search_steps) is not int or self.search_steps < 0:
            raise InvalidPlanning(
                "search_steps is not a number of steps",
                f"it is {self.search_steps!r}.",
                f"give a whole number from 0 up; the default is {DEFAULT_SEARCH_STEPS}.",
            )
        for name in ("adaptive", "spread_hot_keys"):
            if not isinstance(value := getattr(self, name), bool):
                raise InvalidPlanning(
                    f"{name} is neither true nor false", f"it is {value!r}.", f"say {name}=False."
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
