"""Sequences and trees of one-way joins that send least (Tran & Lee 2010, Sect. 4), by what is really sent.

What a sequence sends from some point on depends on its head, the streams joined and the site of the results,
however it got there. So of all ways to one such state only the cheapest is kept. Of the algorithms of a step
two matter: the cheapest that leaves its results at the heads, and the cheapest that leaves them at the
window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from watersmeet.cost.site_bytes import NOTHING, Exchange, Sent
from watersmeet.optimize.sites.key_groups import Streams
from watersmeet.optimize.sites.problem import SiteProblem
from watersmeet.optimize.sites.search import search
from watersmeet.plan.sites.algorithm import Algorithm

_RANK = {algorithm: rank for rank, algorithm in enumerate(Algorithm)}


@dataclass(frozen=True, slots=True)
class OneWay:
    """A one-way join: heads at a site look into a window at another.

    Attributes:
        done: The streams of the heads.
        heads: Which of them are the last rows of heads.
        joined: The streams of the window.
        algorithm: How.
        heads_at: Where the heads are.
        window_at: Where the window is.
        exchange: What the two sites send each other.
        home: Where results are brought, if that is elsewhere than they come out.
        gathered: What is sent for that.
    """

    done: Streams
    heads: Streams
    joined: Streams
    algorithm: Algorithm
    heads_at: str
    window_at: str
    exchange: Exchange
    home: str | None = None
    gathered: Sent = NOTHING

    @property
    def site(self) -> str:
        """Where results come out."""
        return self.heads_at if self.algorithm.at_source else self.window_at


@dataclass(frozen=True, slots=True)
class Reached:
    """Some streams joined: where the results are, what was paid for them and how they came about."""

    done: Streams
    site: str
    cost: float
    steps: tuple[OneWay, ...] = ()

    @property
    def state(self) -> tuple[Streams, str]:
        """All that later costs depend on."""
        return self.done, self.site

    @property
    def preference(self) -> tuple[float, tuple[int, ...]]:
        """The smaller the better; of equal ones the first streams and the first algorithms."""
        ranks = tuple(_RANK[step.algorithm] for step in self.steps)
        return self.cost, (*(min(step.joined) for step in self.steps), *ranks)


Grow = Callable[[Reached, int], Iterator[Reached]]


def sequence(problem: SiteProblem, head: int, *, search_steps: int) -> tuple[Reached | None, bool]:
    """The cheapest way of a stream's rows, and whether all ways were looked at; None if there is no way.

    Args:
        problem: What is joined.
        head: The stream.
        search_steps: How many joins may be priced before only the cheapest way so far is followed; with 0
            it is the greedy search of Tran & Lee 2010, Algorithm 10.
    """
    heads = frozenset({head})

    def grow(reached: Reached, stream: int) -> Iterator[Reached]:
        joined = frozenset({stream})
        exchanges = problem.exchanges(reached.done, heads, joined)
        for step in _cheapest(problem, reached.done, heads, joined, reached.site, exchanges):
            cost = reached.cost + problem.cost(step.exchange, step.heads_at, step.window_at)
            yield Reached(reached.done | joined, step.site, cost, (*reached.steps, step))

    return _search(problem, [Reached(heads, problem.sites[head], 0.0)], grow, search_steps)


def tree(problem: SiteProblem, *, search_steps: int) -> tuple[Reached | None, bool]:
    """The cheapest order for all streams, with intermediate results kept; two steps per join.

    Results that look into the window of a stream come first, then its rows that look into kept results. The
    last results stay where they come out.
    """
    count = len(problem.query.streams)

    def grow(reached: Reached, stream: int) -> Iterator[Reached]:
        joined = frozenset({stream})
        together, there = reached.done | joined, problem.sites[stream]
        over = problem.exchanges(reached.done, reached.done, joined, ends=True)
        back = problem.exchanges(joined, joined, reached.done, ends=True)
        homes = (reached.site, there) if len(together) < count else (None,)
        for home in dict.fromkeys(homes):
            steps = (
                _brought(
                    problem,
                    _cheapest(problem, reached.done, reached.done, joined, reached.site, over),
                    home,
                ),
                _brought(
                    problem,
                    _cheapest(problem, joined, joined, reached.done, there, back, reached.site),
                    home,
                ),
            )
            cost = reached.cost + sum(_cost(problem, step) for step in steps)
            yield Reached(together, home or there, cost, (*reached.steps, *steps))

    starts = [Reached(frozenset({s}), site, 0.0) for s, site in enumerate(problem.sites)]
    return _search(problem, starts, grow, search_steps)


def _search(
    problem: SiteProblem, starts: Iterable[Reached], grow: Grow, search_steps: int
) -> tuple[Reached | None, bool]:
    def possible(reached: Reached, stream: int) -> Iterator[Reached]:
        return (more for more in grow(reached, stream) if more.cost < math.inf)

    return search(starts, len(problem.sites) - 1, problem.adjacent, possible, search_steps=search_steps)


def _cheapest(
    problem: SiteProblem,
    done: Streams,
    heads: Streams,
    joined: Streams,
    heads_at: str,
    exchanges: dict[Algorithm, Exchange],
    window_at: str | None = None,
) -> list[OneWay]:
    """The cheapest step for either place of the results."""
    (stream, *_) = joined
    window = problem.sites[stream] if window_at is None else window_at
    if heads_at == window:
        # Nothing travels: the heads are where the window is.
        return [
            OneWay(
                done=done,
                heads=heads,
                joined=joined,
                algorithm=Algorithm.SP_D,
                heads_at=heads_at,
                window_at=window,
                exchange=Exchange(),
            )
        ]
    best: dict[str, OneWay] = {}
    for algorithm, sent in exchanges.items():
        step = OneWay(
            done=done,
            heads=heads,
            joined=joined,
            algorithm=algorithm,
            heads_at=heads_at,
            window_at=window,
            exchange=sent,
        )
        known = best.get(step.site)
        if known is None or problem.cost(sent, heads_at, window) < problem.cost(
            known.exchange, heads_at, window
        ):
            best[step.site] = step
    return list(best.values())


def _brought(problem: SiteProblem, steps: Iterable[OneWay], home: str | None) -> OneWay:
    """The cheapest of some steps together with bringing their results home."""
    found = []
    for step in steps:
        if home is None or home == step.site:
            found.append(step)
            continue
        sent = problem.shipped(step.done | step.joined, step.heads)
        found.append(replace(step, home=home, gathered=sent))
    return min(found, key=lambda step: _cost(problem, step))


def _cost(problem: SiteProblem, step: OneWay) -> float:
    cost = problem.cost(step.exchange, step.heads_at, step.window_at)
    return cost if step.home is None else cost + problem.moving(step.gathered, step.site, step.home)
