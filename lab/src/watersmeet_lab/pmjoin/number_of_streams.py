"""Fig. 6: Algorithm 1 against a simpler plan and the best, by the number of streams (Sect. 4.1)."""

from __future__ import annotations

import numpy as np

from watersmeet.cost.traffic import Feed, ValueTraffic
from watersmeet.plot.chart import Chart
from watersmeet.sim.distribution import generator
from watersmeet_lab.papers.claim import Claim, Known, fails, never_falls
from watersmeet_lab.papers.draws import Curves, Draws, Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.pmjoin.planners import (
    AGAINST_SIMPLE,
    HEURISTIC,
    SIMPLE,
    VALUES,
    Size,
    close_to_optimal,
    not_far_from_optimal,
    panel,
    priced,
)
from watersmeet_lab.pmjoin.tabled import TabledTraffic
from watersmeet_lab.pmjoin.workload import LONG, SHORT, Windows, frequencies, spans

RATE = 100.0
THEIRS, OURS = "windows of 10 to 100 s", "windows of 0.3 to 3 s, ours"
CASES: dict[str, Windows] = {THEIRS: LONG, OURS: SHORT}

# A smaller gain is none.
_NOTABLE = 0.05

_SETTING = """\
As many streams as the axis says, each at its own node, 100 tuples/s, windows of 10 to 100 s, 1000 values,
distributed differently. The second panel is ours: windows of 0.3 to 3 s. {draws} draws, in each of which
streams are added one by one."""
_TOO_FULL = """\
Windows of 10 to 100 s at 100 tuples/s hold 1000 to 10,000 tuples, so one to ten of every value, and each
further join multiplies the rate: hardly anything is better than to send everything, and the optimum does.
With shorter windows, ours, the claim holds."""


def figure_6(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Cost by the number of streams."""

    def curves(windows: Windows, draw: int) -> Curves:
        most = max(size.streams)
        return priced(
            (equal_streams(count, most, windows, generator(seed, 6, draw)) for count in size.streams),
            AGAINST_SIMPLE,
        )

    draws = averaged(
        [
            {title: curves(windows, draw) for title, windows in CASES.items()}
            for draw in tracker.each(range(size.more_draws))
        ]
    )
    linear = [RATE * (count - 1) for count in size.streams]
    claims = (
        draws.judge(
            "Simple grows in proportion to the number of streams.",
            lambda figures: (
                f"{figures[THEIRS][SIMPLE][0]:.0f} to {figures[THEIRS][SIMPLE][-1]:.0f} tuples/s: "
                "all streams but one"
            ),
            lambda figures: all(np.allclose(curves[SIMPLE], linear) for curves in figures.values()),
        ),
        _gain(draws, THEIRS, fails(_TOO_FULL)),
        _gain(draws, OURS, None),
        close_to_optimal(draws, [THEIRS]),
        not_far_from_optimal(draws, [OURS], OURS),
    )
    panels = tuple(panel(title, "streams", lines(draws, title, size.streams)) for title in CASES)
    chart = Chart("fig6", "What three planners send, by the number of streams", panels)
    setting = _SETTING.format(draws=size.more_draws)
    return Experiment("Fig. 6: Algorithm 1, number of streams", setting, claims, (chart,))


def _gain(draws: Draws[Figures[str]], title: str, known: Known | None) -> Claim:
    def saved(figures: Figures[str]) -> list[float]:
        return [a - b for a, b in zip(figures[title][SIMPLE], figures[title][HEURISTIC], strict=True)]

    def last(figures: Figures[str]) -> float:
        return figures[title][SIMPLE][-1]

    return draws.judge(
        f"The gain over Simple grows with the number of streams ({title}).",
        lambda figures: (
            f"{saved(figures)[0]:.0f} to {saved(figures)[-1]:.0f} of {last(figures):.0f} tuples/s"
        ),
        lambda figures: never_falls(saved(figures)) and saved(figures)[-1] >= _NOTABLE * last(figures),
        known,
        "corrected" if title == OURS else "paper",
    )


def equal_streams(count: int, most: int, windows: Windows, rng: np.random.Generator) -> TabledTraffic:
    """The first of some streams of 100 tuples/s, each at its own node."""
    lengths = spans(most, rng, windows)
    feeds = [Feed.timed(RATE, span, node) for node, span in enumerate(lengths[:count])]
    traffic = ValueTraffic.spread(feeds, frequencies(most, VALUES, "different", rng)[:count])
    return TabledTraffic.of(traffic, lengths[:count])
