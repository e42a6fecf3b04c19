"""Fig. 7: Algorithm 1 against joining all streams of a node first (Sect. 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from watersmeet.cost.traffic import Feed, ValueTraffic
from watersmeet.plot.chart import Chart
from watersmeet.sim.distribution import generator
from watersmeet_lab.papers.claim import never_falls, partly
from watersmeet_lab.papers.draws import Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.pmjoin.planners import (
    AGAINST_LOCAL,
    HEURISTIC,
    LOCAL,
    VALUES,
    Size,
    panel,
    priced,
    ratio,
)
from watersmeet_lab.pmjoin.tabled import TabledTraffic
from watersmeet_lab.pmjoin.workload import frequencies, spans

NODES = 5
_CASE = "five nodes"

_SETTING = """\
As many streams as the axis says at five nodes, placed at random, 100 to 500 tuples/s, windows of 10 to
100 s, 1000 values, distributed differently. Local first joins all streams of a node. {draws} draws, in each
of which streams are added one by one."""
_ASTRAY = """\
Few streams seldom share a node, so there is little for Local to do wrong. What is left are workloads in which
the greedy steps of the heuristic lead astray, Local's being the better start by chance."""
_BY_CHANCE = """\
On average it is. In a single workload a further stream may be a rare one, or be alone at its node, and
then the ratio falls for once."""


def figure_7(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Cost when streams share nodes."""
    counts = [count for count in size.streams if count > 2]
    crowded = [at for at, count in enumerate(counts) if count >= 2 * NODES]
    most = max(counts)
    draws = averaged(
        [
            {
                _CASE: priced(
                    (placed_streams(count, most, generator(seed, 7, draw)) for count in counts), AGAINST_LOCAL
                )
            }
            for draw in tracker.each(range(size.more_draws))
        ]
    )

    def ahead(figures: Figures[str]) -> list[float]:
        return ratio(figures[_CASE], LOCAL, HEURISTIC)

    claims = (
        draws.judge(
            "Heuristic is better than joining all streams of a node first.",
            lambda figures: f"Local costs {_times(counts, ahead(figures))} times as much",
            lambda figures: min(ahead(figures)) >= 1 and ahead(figures)[-1] > 1,
            partly(_ASTRAY),
        ),
        draws.judge(
            "Heuristic is better than Local when there are two streams to a node or more.",
            lambda figures: f"Local costs {_times(counts, ahead(figures), crowded)} times as much",
            lambda figures: all(ahead(figures)[at] > 1 for at in crowded),
            origin="corrected",
        ),
        draws.judge(
            "The more streams share a node, the larger is the difference.",
            lambda figures: (
                "the ratio " + ("never falls" if never_falls(ahead(figures)) else "does not always grow")
            ),
            lambda figures: never_falls(ahead(figures)),
            partly(_BY_CHANCE),
        ),
        draws.judge(
            "With the most streams the difference is larger than with the fewest.",
            lambda figures: _times(counts, ahead(figures), (0, len(counts) - 1)),
            lambda figures: ahead(figures)[-1] > ahead(figures)[0],
            origin="corrected",
        ),
    )
    chart = Chart(
        "fig7",
        "What three planners send when streams share nodes",
        (panel(_CASE, "streams", lines(draws, _CASE, counts), log_y=True),),
    )
    setting = _SETTING.format(draws=size.more_draws)
    return Experiment("Fig. 7: Algorithm 1, several streams at a node", setting, claims, (chart,))


def placed_streams(count: int, most: int, rng: np.random.Generator) -> TabledTraffic:
    """The first of some streams at five nodes."""
    nodes, rates = rng.integers(NODES, size=most), rng.uniform(100, 500, most)
    lengths = spans(most, rng)
    feeds = [Feed.timed(rates[at], lengths[at], int(nodes[at])) for at in range(count)]
    traffic = ValueTraffic.spread(feeds, frequencies(most, VALUES, "different", rng)[:count])
    return TabledTraffic.of(traffic, lengths[:count])


def _times(counts: Sequence[int], ratios: Sequence[float], places: Sequence[int] | None = None) -> str:
    shown = range(len(counts)) if places is None else places
    return ", ".join(f"{ratios[at]:,.{2 if ratios[at] < 10 else 0}f} ({counts[at]} streams)" for at in shown)
