"""The cheapest next step, again and again (Tran & Lee 2010, Algorithm 10).

For m streams that takes in the order of m^3 estimates of a step. In print the algorithm of a step is that of
the stream looked at last, and streams already joined are looked at too; here a stream and its algorithm are
one choice, among the streams still to be joined.
"""

from __future__ import annotations

from watersmeet.optimize.papers.tran_lee.plan import SitesPlan, SitesQuery, Step


def greedy(query: SitesQuery) -> SitesPlan:
    """Per head, join the stream whose cheapest algorithm is cheapest of all, until none is left.

    >>> from watersmeet.cost.site import Link, SiteStream
    >>> from watersmeet.optimize.papers.tran_lee.plan import Network
    >>> rates = 200, 50, 100
    >>> streams = tuple(SiteStream(node, rate, 1.2, 16, 500, 5) for node, rate in enumerate(rates))
    >>> chain = frozenset({(0, 1), (1, 2)})
    >>> plan = greedy(SitesQuery(streams, chain, Network(Link(latency=0.025, bandwidth=128_000))))
    >>> for head, steps in enumerate(plan.sequences):
    ...     print(head, [(step.stream, step.algorithm.value) for step in steps])
    0 [(1, 'SM-S2'), (2, 'SM-S2')]
    1 [(2, 'SP-D'), (0, 'SM-S2')]
    2 [(1, 'SM-S2'), (0, 'SM-S2')]
    """
    return SitesPlan(tuple(greedy_sequence(query, head) for head in range(len(query.streams))))


def greedy_sequence(query: SitesQuery, head: int) -> tuple[Step, ...]:
    """The steps of one head; of equal ones the smallest stream and the first algorithm."""
    current, done = query.streams[head], frozenset({head})
    sequence: list[Step] = []
    while candidates := query.adjacent(done):
        choices = [step for stream in candidates for step in query.steps(current, done, stream)]
        best = min(choices, key=lambda step: step.work.total)
        sequence.append(best)
        current = query.after(current, done, best)
        done |= {best.stream}
    return tuple(sequence)
