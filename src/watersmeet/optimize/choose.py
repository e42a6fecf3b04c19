"""From a query to the plan that runs it."""

from __future__ import annotations

from watersmeet.errors import InvalidQuery
from watersmeet.optimize.tree import merged_tree
from watersmeet.plan import Plan
from watersmeet.plan.plan import DEFAULT_BUCKETS
from watersmeet.query import JoinQuery

_MOST_BUCKETS = 4096


def choose_plan(query: JoinQuery, *, buckets: int | None = None) -> Plan:
    """The plan for a query.

    Args:
        query: What to compute.
        buckets: How many parts the key domain is split into; None takes the default. It bounds the
            parallelism and cannot change once a checkpoint exists.
    """
    count = DEFAULT_BUCKETS if buckets is None else buckets
    if type(count) is not int or not 1 <= count <= _MOST_BUCKETS:
        raise InvalidQuery(
            f"the number of buckets is not a whole number from 1 to {_MOST_BUCKETS}",
            f"it is {count!r}.",
            "a few per core of the cluster is a good choice.",
        )
    return Plan(query, merged_tree(query), count)
