"""Fig. 2: comparisons while the number of windows grows."""

from __future__ import annotations

from itertools import pairwise

from watersmeet.cost.comparisons import multiway_cost, naive_cost
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet_lab.golab.rates import counting
from watersmeet_lab.golab.setting import Size, alike, listed, new_first, seeds
from watersmeet_lab.papers.claim import Claim, flat
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

WINDOWS = (2, 3, 4, 5, 6)
MULTIWAY, NAIVE = "multi-way", "naive"
# What "far" is taken to mean, and how near counts are to the formula.
_FAR, _NEAR = 10, 0.05

_SETTING = """\
Eager joins of two to six windows of 100 units, a row per unit and stream, 50 values. Both run the loops in
the order of the streams; the multi-way join moves new rows to the outermost loop, the naive one leaves them
where they are. Lines are the formula, crosses what was counted over {stretch} units of time, {draws} times.
The paper plots the formula and prints no figures."""


def scaling(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Count both."""
    draws = seeds(seed, size.draws)
    cases = [(draw, windows) for draw in draws for windows in WINDOWS]
    found = {case: _counted(size, *case) for case in tracker.each(cases)}
    names = (MULTIWAY, NAIVE)
    each = [
        {"counted": {name: [found[draw, windows][n] for windows in WINDOWS] for n, name in enumerate(names)}}
        for draw in draws
    ]
    return judged(size, averaged(each))


def _counted(size: Size, draw: int, windows: int) -> tuple[float, float]:
    counts, order = counting(alike(windows), size, draw), tuple(range(windows))
    return counts.comparisons(new_first(order)), counts.comparisons([order] * windows)


def formula() -> dict[str, list[float]]:
    """The cost model's figures."""
    orders = {windows: tuple(range(windows)) for windows in WINDOWS}
    return {
        MULTIWAY: [multiway_cost(alike(windows), order) for windows, order in orders.items()],
        NAIVE: [naive_cost(alike(windows), order) for windows, order in orders.items()],
    }


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the claims against the figures."""
    model, places = formula(), tuple(map(float, WINDOWS))
    panel = Panel(
        "eager joins",
        "windows",
        "comparisons per unit of time",
        tuple(Line(name, places, tuple(ys)) for name, ys in model.items()),
        log_y=True,
    )
    crosses = [Line(name, places, tuple(ys)) for name, ys in draws.together["counted"].items()]
    chart = Chart("fig2", "Comparisons of the naive and the multi-way join", (panel,))
    return Experiment(
        "Fig. 2: number of windows",
        _SETTING.format(stretch=size.stretch, draws=size.draws),
        _claims(model, draws),
        (chart.with_measured({panel.title: crosses}),),
    )


def _claims(model: dict[str, list[float]], draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    def ratios(curves: Figures[str]) -> list[float]:
        both = zip(curves["counted"][NAIVE], curves["counted"][MULTIWAY], strict=True)
        return [naive / multiway for naive, multiway in both]

    def off(curves: Figures[str]) -> list[float]:
        return [
            counted / said
            for name in (MULTIWAY, NAIVE)
            for counted, said in zip(curves["counted"][name], model[name], strict=True)
        ]

    gaps = [naive - multiway for naive, multiway in zip(model[NAIVE], model[MULTIWAY], strict=True)]
    return (
        Claim(
            "The multi-way join scales considerably better: with every window the naive one falls further "
            f"behind, and from three windows on it needs more than {_FAR} times the comparisons.",
            f"multi-way {listed(model[MULTIWAY])}, naive {listed(model[NAIVE])}",
            all(later > earlier for earlier, later in pairwise(gaps))
            and all(
                gap > (_FAR - 1) * least for gap, least in zip(gaps[1:], model[MULTIWAY][1:], strict=True)
            ),
        ),
        draws.judge(
            f"So it is when comparisons are counted: more than {_FAR} times from three windows on.",
            lambda f: f"{listed(ratios(f), '.1f')} times",
            lambda f: all(ratio > _FAR for ratio in ratios(f)[1:]),
            origin="measured",
        ),
        Claim(
            "The factor between the two hardly changes from four windows on (within 10%): what grows is the "
            "difference.",
            f"{listed([n / m for n, m in zip(model[NAIVE], model[MULTIWAY], strict=True)], '.1f')} times",
            flat([n / m for n, m in zip(model[NAIVE][2:], model[MULTIWAY][2:], strict=True)], within=0.1),
            origin="measured",
        ),
        Claim(
            f"Counts are what the formula says (within {_NEAR:.0%}, all draws together).",
            f"{listed(off(draws.together), '.0%')} of it",
            all(abs(share - 1) <= _NEAR for share in off(draws.together)),
            origin="measured",
        ),
    )
