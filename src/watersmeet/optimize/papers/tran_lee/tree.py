"""One order for all streams, intermediate results kept (Tran & Lee 2010, Sect. 4.2).

Each join of the tree is a stream against the results of the streams below it, as two one-way joins. Their
algorithms are chosen on their own, so results may come out at two nodes; the next join needs them in one
window. The paper leaves this open. Here one of the two nodes is their home, and results that come out at
the other are shipped. Results of the last join stay where they are, as in the other plans.

    home of a+b = node of a        a -- SP-S --> results at a
                                   b -- SP-S --> results at b -- shipped to a

Kept results expire with their first member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from watersmeet.cost.semijoin import FORMULAS, OneWayJoin, output
from watersmeet.cost.site import SiteStream, Work
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.papers.tran_lee.exhaustive import DEFAULT_SEARCH_STEPS, RANK, Reached, cheapest
from watersmeet.optimize.papers.tran_lee.plan import SitesQuery, Step, TreePlan, TwoWay


def tree(query: SitesQuery, *, search_steps: int = DEFAULT_SEARCH_STEPS) -> TreePlan:
    """The cheapest left-deep tree.

    Args:
        query: What is joined.
        search_steps: How many joins may be priced. When they are used up the search goes on from the cheapest
            state only, and the plan says so.

    >>> from watersmeet.cost.site import Link
    >>> from watersmeet.optimize.papers.tran_lee.plan import Network
    >>> rates = 200, 50, 100
    >>> streams = tuple(SiteStream(node, rate, 1.2, 16, 500, 5) for node, rate in enumerate(rates))
    >>> chain = frozenset({(0, 1), (1, 2)})
    >>> plan = tree(SitesQuery(streams, chain, Network(Link(latency=0.025, bandwidth=128_000))))
    >>> plan.first, [(join.stream, join.node) for join in plan.joins]
    (0, [(1, 0), (2, None)])
    """
    if search_steps < 0:
        raise InvalidQuery("the number of search steps must be 0 or more", f"it is {search_steps}.")
    starts: list[Reached[TwoWay]] = [
        Reached(frozenset({number}), stream, ties=(number,)) for number, stream in enumerate(query.streams)
    ]
    found, complete = cheapest(query, starts, _joined, search_steps=search_steps)
    skipped = "" if complete else f"{search_steps} search steps ended before every order was searched"
    return TreePlan(found.ties[0], found.moves, skipped)


def both_ways(left: SiteStream, right: SiteStream, node: int) -> SiteStream:
    """The results of a two-way join, kept at a node.

    >>> a = SiteStream(node=0, rate=10, window=2, distinct=5, full=100, partial=5)
    >>> b = SiteStream(node=1, rate=20, window=2, distinct=5, full=100, partial=5)
    >>> a.held * b.held / 5, both_ways(a, b, node=0).held
    (160.0, 160.0)
    """
    results = output(left, right, node)
    return replace(results, rate=results.rate + output(right, left, node).rate)


def _joined(query: SitesQuery, reached: Reached[TwoWay], stream: int) -> Iterator[Reached[TwoWay]]:
    """One more two-way join: the cheapest for either home of the results."""
    left = query.towards(reached.current, reached.done, stream)
    right = query.streams[stream]
    done = reached.done | {stream}
    # Nothing is joined with the last results, so they need no home.
    homes = (left.node, right.node) if len(done) < len(query.streams) else (None,)
    for home in dict.fromkeys(homes):
        results, brought = _one_way(query, left, right, stream, home)
        arrivals, brought_too = _one_way(query, right, left, stream, home)
        join = TwoWay(results, arrivals, home, brought + brought_too)
        yield Reached(
            done,
            both_ways(left, right, left.node if home is None else home),
            reached.cost + join.work.total,
            (*reached.ties, stream, RANK[results.algorithm], RANK[arrivals.algorithm]),
            (*reached.moves, join),
        )


def _one_way(
    query: SitesQuery, first: SiteStream, second: SiteStream, stream: int, home: int | None
) -> tuple[Step, Work]:
    """The cheapest algorithm together with bringing its results home."""
    join = OneWayJoin(first, second, query.network.between(first.node, second.node), query.setting)
    choices = []
    for algorithm in query.algorithms:
        node = first.node if algorithm.at_source else second.node
        brought = Work()
        if home is not None:
            results = output(first, second, node)
            size = results.rate * query.setting.tick * results.full
            brought = Work(query.setting.shipping(query.network.between(node, home), size))
        choices.append((Step(stream, algorithm, node, FORMULAS[algorithm](join)), brought))
    return min(choices, key=lambda choice: (choice[0].work + choice[1]).total)
