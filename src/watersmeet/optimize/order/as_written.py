"""The order in which the user named the streams."""

from __future__ import annotations

from watersmeet.cost.orders import OrderProblem
from watersmeet.optimize.order.problem import Sequences, with_head_first


def as_written(problem: OrderProblem) -> Sequences:
    """For every head the others as they stand."""
    return with_head_first(problem, tuple(problem.heads))
