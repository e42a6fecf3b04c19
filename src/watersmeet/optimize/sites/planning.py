"""What the user may say about plans between sites."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.errors import InvalidPlanning, choices

AUTO = "auto"
METHODS = (AUTO, "one site", "placed", "sequences", "tree")
# The exact search within its steps, or the cheapest next step again and again (Tran & Lee 2010, Algorithm
# 10; Zhou et al. 2006, Algorithm 1).
OPTIMIZERS = (AUTO, "exhaustive", "greedy")
# How values are put into groups that are joined at different sites (`optimize.sites.partition`).
PARTITIONS = (AUTO, "hash", "range", "rate", "none")
# Groups of values a plan is made for, if there are so many different orders of rates.
DEFAULT_GROUPS = 64


@dataclass(frozen=True, slots=True)
class SitePlanning:
    """How a plan between sites is chosen.

    Attributes:
        method: What kind of plan; ``"auto"`` takes the cheapest of all.
        optimizer: Who searches it.
        partition: How values are put into groups that are placed on their own; ``"none"`` has one group.
        groups: How many groups at most; None takes as many as there are different orders of rates.

    >>> SitePlanning(method="trees")
    Traceback (most recent call last):
    watersmeet.errors.InvalidPlanning: there is no method "trees" to join between sites
    detail: there are 5.
    hint: valid are "auto", "one site", "placed", "sequences", "tree".
    """

    method: str = AUTO
    optimizer: str = AUTO
    partition: str = AUTO
    groups: int | None = None

    def __post_init__(self) -> None:
        """Refuse names that do not exist, and settings that contradict each other."""
        _refuse_unknown("method", self.method, METHODS, "to join between sites")
        _refuse_unknown("optimizer", self.optimizer, OPTIMIZERS, "of joins between sites")
        _refuse_unknown("partition", self.partition, PARTITIONS, "of values")
        if self.groups is not None and (type(self.groups) is not int or self.groups < 1):
            raise InvalidPlanning(
                "the number of groups is not a whole number from one up",
                f"it is {self.groups!r}.",
                f"leave it out to take what the data asks for, at most {DEFAULT_GROUPS}.",
            )
        grouped = self.partition not in (AUTO, "none") or (self.groups or 1) > 1
        if grouped and self.method not in (AUTO, "placed"):
            raise InvalidPlanning(
                f'method "{self.method}" has one plan for all values',
                "groups of values were given.",
                'say method="placed", or leave out partition and groups.',
            )


def _refuse_unknown(what: str, name: str, valid: tuple[str, ...], of: str) -> None:
    if name not in valid:
        raise InvalidPlanning(
            f'there is no {what} "{name}" {of}', f"there are {len(valid)}.", f"valid are {choices(valid)}."
        )
