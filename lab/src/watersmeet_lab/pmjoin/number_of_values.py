"""Fig. 5: Algorithm 1 against a simpler plan and the best, by the number of values (Sect. 4.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watersmeet.cost.traffic import Feed, ValueTraffic
from watersmeet.plot.chart import Chart
from watersmeet.sim.distribution import generator
from watersmeet_lab.papers.claim import flat, never_grows, partly
from watersmeet_lab.papers.draws import Curves, Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.pmjoin.planners import (
    AGAINST_SIMPLE,
    HEURISTIC,
    OPTIMAL,
    SIMPLE,
    Size,
    close_to_optimal,
    mostly_close,
    panel,
    priced,
    ratio,
)
from watersmeet_lab.pmjoin.tabled import TabledTraffic
from watersmeet_lab.pmjoin.workload import Likeness, frequencies, spans

STREAMS = 10


class Case(NamedTuple):
    """Which streams have long windows, and how values are distributed."""

    order: str
    likeness: Likeness

    def __str__(self) -> str:
        return f"{self.order}, {self.likeness} distributions"


CASES: tuple[Case, ...] = tuple(
    Case(order, likeness) for likeness in ("similar", "different") for order in ("LASW", "HASW")
)

_SETTING = """\
Ten streams, each at its own node, with rates from 10 to 1000 tuples/s and windows from 10 to 100 s (the
paper gives no figures here; these are those of its Fig. 8): the slow ones with the short windows (LASW)
or the fast ones (HASW). Values of one attribute are distributed alike (Zipf, exponents 0.1 to 0.3) or
differently (any kind, frequent values elsewhere in each stream). {draws} draws."""
_IN_BETWEEN = """\
Where joins begin to pay off, at 1,000 and 10,000 values, the heuristic can be far from the optimum; how far
depends on the workload. It judges every step by itself."""


def figure_5(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Cost by the number of values."""
    draws = averaged(
        [
            {
                case: priced(
                    (ordered_streams(case, values, generator(seed, 5, draw)) for values in size.ranges),
                    AGAINST_SIMPLE,
                )
                for case in CASES
            }
            for draw in tracker.each(range(size.draws))
        ]
    )

    def largest(figures: Figures[Case]) -> list[float]:
        return [ratio(curves, HEURISTIC, SIMPLE)[-1] for curves in figures.values()]

    claims = (
        draws.judge(
            "Simple costs the same whatever the range.",
            lambda figures: "it is constant" if _constant(figures) else "it varies",
            _constant,
        ),
        draws.judge(
            "With few values Heuristic and Optimal are the same as Simple.",
            lambda figures: f"with {size.ranges[0]} values at most {_apart(figures):.1%} apart",
            lambda figures: _apart(figures) <= 1e-9,
        ),
        draws.judge(
            "With more values both get cheaper.",
            lambda figures: (
                f"with {size.ranges[-1]:,} values {min(largest(figures)):.1%} to "
                f"{max(largest(figures)):.1%} of Simple"
            ),
            lambda figures: all(map(_sinking, figures.values())),
        ),
        close_to_optimal(draws, CASES, partly(_IN_BETWEEN)),
        mostly_close(draws, CASES),
    )
    panels = tuple(
        panel(str(case), "values", lines(draws, case, size.ranges), log_x=True, log_y=True) for case in CASES
    )
    chart = Chart("fig5", "What three planners send, by the number of values", panels)
    setting = _SETTING.format(draws=size.draws)
    return Experiment("Fig. 5: Algorithm 1, number of values", setting, claims, (chart,))


def ordered_streams(case: Case, values: int, rng: np.random.Generator) -> TabledTraffic:
    """Ten streams whose windows grow (LASW) or shrink (HASW) with their rates."""
    rates, lengths = np.sort(rng.uniform(10, 1000, STREAMS)), np.sort(spans(STREAMS, rng))
    if case.order == "HASW":
        lengths = lengths[::-1]
    feeds = [Feed.timed(rates[node], lengths[node], node) for node in range(STREAMS)]
    traffic = ValueTraffic.spread(feeds, frequencies(STREAMS, values, case.likeness, rng))
    return TabledTraffic.of(traffic, lengths)


def _constant(figures: Figures[Case]) -> bool:
    return all(flat(curves[SIMPLE]) for curves in figures.values())


def _apart(figures: Figures[Case]) -> float:
    """How far the planners are apart with the fewest values."""
    return max(ratio(curves, SIMPLE, OPTIMAL)[0] for curves in figures.values()) - 1


def _sinking(curves: Curves) -> bool:
    both = (curves[HEURISTIC], curves[OPTIMAL])
    return all(never_grows(costs) and costs[-1] < costs[0] for costs in both)
