"""The order in which the rows of every stream visit the windows of the others, where these lie in slices."""

from __future__ import annotations

from watersmeet.cost.orders import order_problem
from watersmeet.cost.sizes import Sizes
from watersmeet.optimize.keyless import replicated
from watersmeet.optimize.order.choose import choose_paths
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.tree import with_conditions
from watersmeet.plan import Source
from watersmeet.query import JoinQuery


def slice_orders(query: JoinQuery, planning: Planning) -> tuple[tuple[int, ...], ...]:
    """Per stream the other streams in the order its rows visit them.

    By cost if enough is known. Otherwise along the join graph: first to streams with an equality, then to
    those with a condition the kernel judges itself, then to those a function has to be asked about.
    """
    sizes = Sizes(query, planning.statistics)
    streams = range(len(query.streams))
    operator = with_conditions(query, replicated([Source(stream) for stream in streams]))
    if order_problem(operator, sizes) is not None:
        found = choose_paths(operator, sizes, planning).paths
        # Heads go first: here a window is never gone through to find new rows.
        return tuple(path.order for path in found)
    return tuple(_along_the_graph(query, head) for head in streams)


def _along_the_graph(query: JoinQuery, head: int) -> tuple[int, ...]:
    order = [head]
    while len(order) < len(query.streams):
        rest = [stream for stream in range(len(query.streams)) if stream not in order]
        order.append(min(rest, key=lambda stream: (_distance(query, order, stream), stream)))
    return tuple(order[1:])


def _distance(query: JoinQuery, bound: list[int], stream: int) -> int:
    """How a stream is linked to others: by equality 0, a condition 1, a function 2, not at all 3."""
    reached = {*bound, stream}
    if any(a.among([stream]) and a.among(bound) for a in query.attributes):
        return 0
    ready = [
        c for c in query.conditions if stream in c.streams and c.streams <= reached and len(c.streams) > 1
    ]
    if not ready:
        return 3
    return 1 if any(condition.function is None for condition in ready) else 2
