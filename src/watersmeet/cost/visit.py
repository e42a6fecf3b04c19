"""What one step of a probe order does, and what that costs: the choices of a cost model for orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Visit:
    """Combinations found so far visit one more window.

    Attributes:
        combinations: How many there are.
        looked_at: How many rows of the window an index gives each of them.
        rows: How many rows the window has.
        buckets: Into how many hash buckets the window is split; 1 is a plain list.
        keys: How many different keys the combinations have.
        runs: In how many pieces the window has to be looked into for a key.
    """

    combinations: float
    looked_at: float
    rows: float
    buckets: float = 1
    keys: float = 0
    runs: float = 1


CostModel = Callable[[Visit], float]


def probes(visit: Visit) -> float:
    """What our kernel does: every key is looked up once in each run, and every row that is found looked at.

    >>> probes(Visit(combinations=10, looked_at=0.5, rows=1000, keys=8, runs=3))
    29.0
    """
    return visit.keys * visit.runs + visit.combinations * visit.looked_at


def comparisons(visit: Visit) -> float:
    """Golab & Özsu 2003, Sect. 4: every combination is compared with the window, or with one of its buckets.

    >>> comparisons(Visit(combinations=10, looked_at=0.5, rows=1000))
    10000.0
    """
    return visit.combinations * visit.rows / visit.buckets


# Every cost model an order can be chosen by, under the name a user gives.
COST_MODELS: dict[str, CostModel] = {"probes": probes, "comparisons": comparisons}
