"""Fig. 11: joins on different attributes, where only some operators can be split by value (Sect. 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from watersmeet.cost.attribute_traffic import AttributeTraffic, SharedAttribute
from watersmeet.cost.traffic import Feed
from watersmeet.optimize.papers.zhou.select_baselines import select_alternative, select_random
from watersmeet.optimize.sites.partition.by_rate import by_rate
from watersmeet.optimize.sites.partition.find_partition import Candidate, find_partition
from watersmeet.optimize.sites.partition.groups import Groups
from watersmeet.optimize.sites.partition.select import select
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt
from watersmeet.plot.chart import Chart
from watersmeet.sim.distribution import generator
from watersmeet_lab.papers.claim import fails, grows, partly
from watersmeet_lab.papers.draws import Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.pmjoin.mixed import mixed
from watersmeet_lab.pmjoin.planners import panel
from watersmeet_lab.pmjoin.workload import drawn, spans

STREAMS = 20
NODES = 10
ATTRIBUTES = (3, 7)
# The paper does not say how many. Two inputs can be ordered by rate in two ways, three in six.
GROUPS = 10
BUCKETS = 1000
# A smaller difference of shares is none.
_NOTABLE = 0.05


@dataclass(frozen=True, slots=True)
class Size:
    """How much is computed.

    Attributes:
        ranges: Numbers of values of each attribute.
        queries: How many random queries are averaged in a draw.
        draws: How many sets of streams there are, each with queries of its own.
    """

    ranges: tuple[int, ...] = (1000, 10_000, 30_000, 100_000)
    queries: int = 8
    draws: int = 5


FULL = Size(queries=200, draws=10)

NONE, HEURISTIC, RANDOM, ALTERNATIVE = "no partitioning", "Heuristic", "Random", "Alternative"
_OTHERS = (HEURISTIC, RANDOM, ALTERNATIVE)
_CASE = "20 streams, 3 to 7 attributes"

_SETTING = """\
Twenty streams at ten nodes, placed at random, 100 to 1000 tuples/s, windows of 10 to 100 s. A query joins
all of them on 3 to 7 attributes: streams are dealt to the attributes at random, and each attribute after
the first also has one stream of those before it. Values are distributed differently in each stream and
attribute. The plan is that of Algorithm 1; the PMJoins in it have at most ten groups of values, by the
rates of 1000 buckets of a histogram. {draws} draws of streams, each with the mean of {queries} random queries
over them, the same for each number of values. Heuristic takes the PMJoins with the fastest inputs, Random
any, Alternative those that Heuristic gave up. A result of a PMJoin is sent from wherever it comes about to
the node of the join above."""
_NO_CANDIDATES = """\
With few values the windows hold many tuples of each, joins give more than they take, and the plan is one
large join on all attributes, in which there is nothing to split."""
_LITTLE_TO_CHOOSE = """\
With few values hardly anything can be split, so the three are within some percent of each other, and which
is ahead is chance."""
_BY_CHANCE = """\
It is on average. In a draw of {queries} queries Random may by chance pick PMJoins that save more; the paper
averages 200 queries."""


def figure_11(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """What is sent by the number of values."""
    draws = averaged([_figures(size, 1000 * seed + draw, tracker) for draw in range(size.draws)])
    first, last = f"{size.ranges[0]:,}", f"{size.ranges[-1]:,}"
    claims = (
        draws.judge(
            "The plan without partitioning is worst for every number of values.",
            lambda figures: f"{_percents(saved(figures))} saved by Heuristic",
            lambda figures: never_above(figures, _OTHERS, NONE) and min(saved(figures)) > 0,
            fails(_NO_CANDIDATES),
        ),
        draws.judge(
            f"The plan without partitioning is worst from {size.ranges[1]:,} values on.",
            lambda figures: f"{_percents(saved(figures)[1:])} saved by Heuristic",
            lambda figures: never_above(figures, _OTHERS, NONE, start=1) and min(saved(figures)[1:]) > 0,
            origin="corrected",
        ),
        draws.judge(
            "The more values, the larger the benefit.",
            lambda figures: f"{_percents(saved(figures))} saved",
            lambda figures: grows(saved(figures)),
        ),
        draws.judge(
            "With many values the benefit is larger than with few.",
            lambda figures: f"{saved(figures)[0]:.0%} with {first}, {saved(figures)[-1]:.0%} with {last}",
            lambda figures: saved(figures)[-1] > saved(figures)[0] + _NOTABLE,
            origin="corrected",
        ),
        draws.judge(
            "Heuristic is better than Random and Alternative.",
            lambda figures: (
                ", ".join(f"{name} {line[-1]:.1f}" for name, line in figures[_CASE].items())
                + f" tuples/s with {last} values"
            ),
            lambda figures: (
                all(never_above(figures, (HEURISTIC,), name) for name in (RANDOM, ALTERNATIVE))
                and ahead(figures)
            ),
            partly(_LITTLE_TO_CHOOSE),
        ),
        draws.judge(
            f"Heuristic is better than Random and Alternative with {last} values.",
            lambda figures: (
                ", ".join(f"{name} {figures[_CASE][name][-1]:.1f}" for name in _OTHERS) + " tuples/s"
            ),
            ahead,
            partly(_BY_CHANCE.format(queries=size.queries)),
            origin="corrected",
        ),
    )
    chart = Chart(
        "fig11",
        "What is sent when some operators are split by value",
        (panel(_CASE, "values", lines(draws, _CASE, size.ranges), log_x=True, log_y=True),),
    )
    setting = _SETTING.format(queries=size.queries, draws=size.draws)
    return Experiment("Fig. 11: joins on different attributes", setting, claims, (chart,))


def _figures(size: Size, seed: int, tracker: Tracker) -> Figures[str]:
    found: dict[str, list[float]] = {NONE: [], HEURISTIC: [], RANDOM: [], ALTERNATIVE: []}
    for values in size.ranges:
        costs = [
            sent(query(values, seed, number), seed=number) for number in tracker.each(range(size.queries))
        ]
        for name, line in found.items():
            line.append(mean(cost[name] for cost in costs))
    return {_CASE: found}


def saved(figures: Figures[str]) -> list[float]:
    """Which share Heuristic saves."""
    return [1 - a / b for a, b in zip(figures[_CASE][HEURISTIC], figures[_CASE][NONE], strict=True)]


def ahead(figures: Figures[str]) -> bool:
    """Whether Heuristic is best with the most values."""
    last = {name: line[-1] for name, line in figures[_CASE].items()}
    return last[HEURISTIC] < min(last[RANDOM], last[ALTERNATIVE])


def never_above(figures: Figures[str], names: Sequence[str], other: str, *, start: int = 0) -> bool:
    """Whether some curves are nowhere above another."""
    above = figures[_CASE][other][start:]
    return all(
        mine <= theirs * (1 + 1e-9)
        for name in names
        for mine, theirs in zip(figures[_CASE][name][start:], above, strict=True)
    )


def _percents(shares: Sequence[float]) -> str:
    return ", ".join(f"{share:.0%}" for share in shares)


def query(values: int, seed: int, number: int, streams: int = STREAMS) -> AttributeTraffic:
    """A random query over the streams that belong to a seed."""
    rng = generator(seed, 11)
    nodes, rates, lengths = (
        rng.integers(NODES, size=streams),
        rng.uniform(100, 1000, streams),
        spans(streams, rng),
    )
    feeds = tuple(Feed.timed(rates[at], lengths[at], int(nodes[at])) for at in range(streams))
    # The same query for any number of values.
    rng = generator(seed, 11, number)
    attributes = {}
    for name, members in enumerate(shared_by(streams, rng)):
        # Moved by the same share of the range, however many values it has.
        rows = {at: np.roll(drawn(values, rng).in_order(), int(rng.random() * values)) for at in members}
        attributes[f"attribute {name}"] = SharedAttribute(rows)
    return AttributeTraffic(feeds, attributes)


def shared_by(streams: int, rng: np.random.Generator) -> list[list[int]]:
    """Which streams have each attribute: every stream has one, and each attribute leads to one before it."""
    count = int(rng.integers(ATTRIBUTES[0], ATTRIBUTES[1] + 1))
    dealt = [int(stream) for stream in rng.permutation(streams)]
    # Of two streams or more is the first, of one or more every other, which gets another one in addition.
    cuts = sorted(int(cut) for cut in rng.choice(np.arange(2, streams), count - 1, replace=False))
    parts = [dealt[start:end] for start, end in zip([0, *cuts], [*cuts, streams], strict=True)]
    return [parts[0]] + [
        [*part, dealt[int(rng.integers(start))]] for start, part in zip(cuts, parts[1:], strict=True)
    ]


def grouped_by_rate(candidate: Candidate, traffic: AttributeTraffic) -> Groups:
    """Groups of values, of which a histogram knows the rates bucket by bucket (Sect. 3.3)."""
    rates = traffic.value_rates(candidate.attribute, [part.streams for part in candidate.inputs])
    buckets = np.array_split(np.arange(rates.shape[1]), min(BUCKETS, rates.shape[1]))
    held = np.add.reduceat(rates, [bucket[0] for bucket in buckets], axis=1)
    return tuple(
        tuple(int(value) for bucket in group for value in buckets[bucket]) for group in by_rate(held, GROUPS)
    )


def sent(traffic: AttributeTraffic, *, seed: int) -> dict[str, float]:
    """What each selection of PMJoins sends."""
    plan = stream_join_opt(traffic)
    candidates = find_partition(plan.tree, traffic.edges)
    groups: dict[Candidate, Groups] = {}

    def cost(chosen: Sequence[Candidate]) -> float:
        for candidate in chosen:
            if candidate not in groups:
                groups[candidate] = grouped_by_rate(candidate, traffic)
        return mixed(plan.tree, {candidate: groups[candidate] for candidate in chosen}, traffic).cost

    selections: Mapping[str, Callable[[], Sequence[Candidate]]] = {
        NONE: tuple,
        HEURISTIC: lambda: select(candidates, traffic),
        RANDOM: lambda: select_random(candidates, seed=seed),
        ALTERNATIVE: lambda: select_alternative(candidates, traffic),
    }
    return {name: cost(selection()) for name, selection in selections.items()}
