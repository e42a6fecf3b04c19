"""The cheapest plan of all (Tran & Lee 2010, Sect. 5.1), without looking at every order.

The paper tries all orders and all algorithms, m! 6^m plans. What a sequence costs from some point on depends
on the streams joined, the node of the results and their rate, however it got there; their size and keys
follow from the streams. So of all ways to one such state only the cheapest is kept.

Of the six algorithms of a step two matter: the cheapest that leaves its results at the source, and the
cheapest that leaves them at the destination. The cheapest of all would not do: a dear step may bring the
results to a node where the next ones are free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from watersmeet.cost.semijoin import FORMULAS
from watersmeet.cost.site import SiteStream
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.papers.tran_lee.greedy import greedy_sequence
from watersmeet.optimize.papers.tran_lee.plan import SitesPlan, SitesQuery, Step
from watersmeet.optimize.sites.search import search

# About three seconds, which is enough for all orders of eight streams.
DEFAULT_SEARCH_STEPS = 20_000

RANK = {algorithm: rank for rank, algorithm in enumerate(FORMULAS)}

Move = TypeVar("Move")
State = tuple[frozenset[int], int, str]


@dataclass(frozen=True, slots=True)
class Reached(Generic[Move]):
    """Some streams joined: the results so far, what they cost and how they came about.

    Attributes:
        done: The streams joined.
        current: Their results.
        cost: Seconds of work per second of arrivals.
        ties: Decides between equal costs: streams and algorithms in the order taken.
        moves: How it came about.
    """

    done: frozenset[int]
    current: SiteStream
    cost: float = 0.0
    ties: tuple[int, ...] = ()
    moves: tuple[Move, ...] = ()

    @property
    def preference(self) -> tuple[float, tuple[int, ...]]:
        """The smaller the better."""
        return self.cost, self.ties

    @property
    def state(self) -> State:
        """All that later costs depend on; the order of multiplication may change a rate's last digits."""
        return self.done, self.current.node, f"{self.current.rate:.12g}"


# The ways to join one more stream with what was reached.
Join = Callable[[SitesQuery, Reached[Move], int], Iterable[Reached[Move]]]


def exhaustive(query: SitesQuery, *, search_steps: int = DEFAULT_SEARCH_STEPS) -> SitesPlan:
    """The cheapest sequence of every head.

    Args:
        query: What is joined.
        search_steps: How many steps may be priced, in equal parts for the heads. When a part is used up the
            search goes on from the cheapest state only, and the plan says so. No sequence is ever dearer than
            the greedy one.

    >>> from watersmeet.cost.site import Link, SiteStream
    >>> from watersmeet.optimize.papers.tran_lee.plan import Network
    >>> streams = tuple(SiteStream(node, 100, 1.2, 16, 500, 5) for node in range(3))
    >>> chain = frozenset({(0, 1), (1, 2)})
    >>> query = SitesQuery(streams, chain, Network(Link(latency=0.025, bandwidth=128_000)))
    >>> exhaustive(query, search_steps=3).skipped
    '3 search steps ended before every order of heads 0, 1, 2 was searched'
    """
    if search_steps < 0:
        raise InvalidQuery("the number of search steps must be 0 or more", f"it is {search_steps}.")
    share = search_steps // len(query.streams)
    sequences, cut = [], []
    for head, stream in enumerate(query.streams):
        start: Reached[Step] = Reached(frozenset({head}), stream)
        found, complete = cheapest(query, [start], _joined, search_steps=share)
        sequence = found.moves
        if not complete:
            cut.append(head)
            sequence = min(sequence, greedy_sequence(query, head), key=_total)
        sequences.append(sequence)
    return SitesPlan(tuple(sequences), _skipped(search_steps, cut))


def cheapest(
    query: SitesQuery, starts: Iterable[Reached[Move]], join: Join[Move], *, search_steps: int
) -> tuple[Reached[Move], bool]:
    """The cheapest way to join all streams, and whether all ways were looked at."""
    grow = partial(join, query)
    found, complete = search(starts, len(query.streams) - 1, query.adjacent, grow, search_steps=search_steps)
    assert found is not None, "the join graph is connected"
    return found, complete


def _joined(query: SitesQuery, reached: Reached[Step], stream: int) -> Iterator[Reached[Step]]:
    """One more one-way join: the cheapest for either place of the results."""
    best: dict[int, Step] = {}
    for step in query.steps(reached.current, reached.done, stream):
        if step.node not in best or step.work.total < best[step.node].work.total:
            best[step.node] = step
    for step in best.values():
        yield Reached(
            reached.done | {stream},
            query.after(reached.current, reached.done, step),
            reached.cost + step.work.total,
            (*reached.ties, stream, RANK[step.algorithm]),
            (*reached.moves, step),
        )


def _total(sequence: Iterable[Step]) -> float:
    return sum(step.work.total for step in sequence)


def _skipped(search_steps: int, heads: Sequence[int]) -> str:
    if not heads:
        return ""
    names = f"head{'s' if len(heads) > 1 else ''} {', '.join(map(str, heads))}"
    return f"{search_steps} search steps ended before every order of {names} was searched"
