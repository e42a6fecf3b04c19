"""From a query to the plan that runs it."""

from __future__ import annotations

from watersmeet.errors import InvalidQuery
from watersmeet.optimize.tree import merged_tree
from watersmeet.plan import Plan, Source
from watersmeet.plan.plan import DEFAULT_BUCKETS
from watersmeet.query import JoinQuery, RowWindow

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
    plan = Plan(query, merged_tree(query), count)
    for number, stream in enumerate(query.streams):
        if isinstance(stream.window, RowWindow) and stream.window.per_key:
            _refuse_uncountable(plan, number)
    return plan


def _refuse_uncountable(plan: Plan, stream: int) -> None:
    """Rows of a key can be counted where they meet by just that key, and nothing is joined to it later."""
    query, root = plan.query, plan.root
    used = {number for number, attribute in enumerate(query.attributes) if stream in attribute.streams}
    if not used or Source(stream) not in root.inputs or not used <= set(root.key):
        equalities = [query.attributes[number].label for number in sorted(used)]
        raise InvalidQuery(
            f'rows of stream "{query.names[stream]}" cannot be counted per key',
            f"it is joined on {' and on '.join(equalities)}, which is not one key."
            if equalities
            else "no equality gives it a key.",
            "count the rows of the whole stream, wm.rows(n), or join it on one key only.",
        )
