"""Fig. 11: joins on different attributes, where only some operators can be split by value (Sect. 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from watersmeet.cost.attribute_traffic import AttributeTraffic, SharedAttribute
from watersmeet.cost.traffic import Feed
from watersmeet.lab.papers.chart import Chart
from watersmeet.lab.papers.claim import Claim, grows
from watersmeet.lab.papers.page import Experiment
from watersmeet.lab.papers.tracker import Tracker
from watersmeet.lab.pmjoin.heuristic import panel
from watersmeet.lab.pmjoin.workload import drawn, generator, spans
from watersmeet.optimize.partition.by_rate import by_rate
from watersmeet.optimize.partition.find_partition import Candidate, find_partition
from watersmeet.optimize.partition.groups import Groups
from watersmeet.optimize.partition.mixed import mixed
from watersmeet.optimize.partition.select import select, select_alternative, select_random
from watersmeet.optimize.placement.stream_join_opt import stream_join_opt

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
        queries: How many random queries are averaged.
    """

    ranges: tuple[int, ...] = (1000, 10_000, 30_000, 100_000)
    queries: int = 12


FULL = Size(queries=200)

NONE, HEURISTIC, RANDOM, ALTERNATIVE = "no partitioning", "Heuristic", "Random", "Alternative"

_SETTING = """\
Twenty streams at ten nodes, placed at random, 100 to 1000 tuples/s, windows of 10 to 100 s. A query joins
all of them on 3 to 7 attributes: streams are dealt to the attributes at random, and each attribute after
the first also has one stream of those before it. Values are distributed differently in each stream and
attribute. The plan is that of Algorithm 1; the PMJoins in it have at most ten groups of values, by the
rates of 1000 buckets of a histogram. Mean of {queries} random queries for each number of values, with the
same streams. Heuristic takes the PMJoins with the fastest inputs, Random any, Alternative those that
Heuristic gave up. A result of a PMJoin is sent from wherever it comes about to the node of the join
above."""
_NO_CANDIDATES = """\
With few values the windows hold many tuples of each, joins give more than they take, and the plan is one
large join on all attributes, in which there is nothing to split."""

_LEVELS_OFF = """\
It grows as long as more values mean more operators on one attribute, which can be split. From 30,000
values on nearly all nineteen of a plan can be, and the share that is saved no longer follows the number
of values."""


def figure_11(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """What is sent by the number of values."""
    found: dict[str, list[float]] = {NONE: [], HEURISTIC: [], RANDOM: [], ALTERNATIVE: []}
    for values in size.ranges:
        costs = [
            sent(query(values, seed, number), seed=number) for number in tracker.each(range(size.queries))
        ]
        for name, line in found.items():
            line.append(mean(cost[name] for cost in costs))
    gains = [1 - ours / none for ours, none in zip(found[HEURISTIC], found[NONE], strict=True)]
    others = (HEURISTIC, RANDOM, ALTERNATIVE)
    last = {name: line[-1] for name, line in found.items()}
    claims = (
        Claim(
            "The plan without partitioning is worst for every number of values.",
            ", ".join(f"{gain:.0%}" for gain in gains) + " saved by Heuristic",
            all(
                found[name][at] <= found[NONE][at] * (1 + 1e-9)
                for name in others
                for at in range(len(size.ranges))
            )
            and min(gains) > 0,
            _NO_CANDIDATES,
        ),
        Claim(
            f"The plan without partitioning is worst from {size.ranges[1]:,} values on.",
            ", ".join(f"{gain:.0%}" for gain in gains[1:]) + " saved by Heuristic",
            all(found[name][at] < found[NONE][at] for name in others for at in range(1, len(size.ranges))),
            origin="corrected",
        ),
        Claim(
            "The more values, the larger the benefit.",
            ", ".join(f"{gain:.0%}" for gain in gains) + " saved",
            grows(gains),
            _LEVELS_OFF,
        ),
        Claim(
            "With many values the benefit is larger than with few.",
            f"{gains[0]:.0%} with {size.ranges[0]:,}, {gains[-1]:.0%} with {size.ranges[-1]:,}",
            gains[-1] > gains[0] + _NOTABLE,
            origin="corrected",
        ),
        Claim(
            "Heuristic is better than Random and Alternative.",
            ", ".join(f"{name} {cost:.1f}" for name, cost in last.items())
            + f" tuples/s with {size.ranges[-1]:,} values",
            all(
                found[HEURISTIC][at] <= found[name][at] * (1 + 1e-9)
                for name in (RANDOM, ALTERNATIVE)
                for at in range(len(size.ranges))
            )
            and last[HEURISTIC] < min(last[RANDOM], last[ALTERNATIVE]),
        ),
    )
    lines = panel("20 streams, 3 to 7 attributes", "values", size.ranges, found, log_x=True, log_y=True)
    chart = Chart("fig11", "What is sent when some operators are split by value", (lines,))
    setting = _SETTING.format(queries=size.queries)
    return Experiment("Fig. 11: joins on different attributes", setting, claims, (chart,))


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
        rows = {at: np.roll(drawn(values, rng), int(rng.random() * values)) for at in members}
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
