"""From a query to the plan that runs it."""

from __future__ import annotations

from watersmeet.errors import InvalidQuery
from watersmeet.optimize.order import shortest_window_first
from watersmeet.plan import Plan
from watersmeet.plan.plan import DEFAULT_BUCKETS
from watersmeet.query import JoinQuery


def choose_plan(query: JoinQuery, *, buckets: int | None = None) -> Plan:
    """The plan for a query.

    Args:
        query: What to compute.
        buckets: How many parts the key domain is split into; None takes the default. It bounds the
            parallelism and cannot change once a checkpoint exists.
    """
    count = DEFAULT_BUCKETS if buckets is None else buckets
    if not 1 <= count <= 4096:
        raise InvalidQuery(
            "the number of buckets is out of range",
            f"it is {count}.",
            "use 1 to 4096; a few per core of the cluster is a good choice.",
        )
    return Plan(query, shortest_window_first(query), count)
