"""Fig. 8(g) and (h): rates double in the middle of a run, on a ring that adapts and on one that does not."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import numpy as np

from watersmeet.plot.chart import Chart, Panel
from watersmeet.sim.ring import Adaptation, RingReport, simulate_ring
from watersmeet_lab.papers.draws import Draws, Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.psp.setting import Size, seeds

# With dear comparisons and slow hops the best ring is short at first, and too short later.
_COMPARING, _HOP = 0.004, 200e-6
NODES, MOST = 4, 20
# In windows: when rates double, how long the run goes on, and how much a point of the plot sums up.
DOUBLING, LASTING, BIN = 2.0, 2.5, 0.5
# From when on, after rates have doubled, latencies are compared: the paper compares what it comes to.
_SETTLED = 1.25
# What "much more stable" is taken to mean.
_MUCH = 0.25

FIXED, ADAPTIVE = "does not adapt", "nodes join at once"
# Times between looks are in windows here.
METHODS: dict[str, Adaptation | None] = {
    FIXED: None,
    "smoothing only": Adaptation(0.25, MOST, smoothing=True, moving="never"),
    "nodes join gradually": Adaptation(0.5, MOST, moving="gradually", steps=4),
    ADAPTIVE: Adaptation(0.5, MOST, moving="at once"),
}

_SETTING = """\
Three streams with {partners:g} partner in each window, on {nodes} nodes, as many as the cost model finds best
with comparisons of {compare:.0f} µs and hops of 200 µs. After {doubling:g} s all rates double: windows hold
twice the rows, twice as many arrive, and each has twice the partners in each window, so there is six times
the work, 1.8 times what {nodes} nodes can do. The ring that adapts has {most} nodes to choose from. It looks
at rates every half a window and takes the length that the cost model finds best among those that leave nodes
idle 30% of the time. What the paper's ring did is not said; it has smoothing, nodes that join at once, and
nodes that join gradually, in its Sect. 6, so all three are here."""


def adapting(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Latency over time."""
    draws = seeds(seed, size.draws)
    cases = [(draw, name) for draw in draws for name in METHODS]
    reports = {case: _run(size, *case) for case in tracker.each(cases)}
    each = [
        {
            "latency": {name: _over_time(size, reports[draw, name]) for name in METHODS},
            "nodes": {name: [float(reports[draw, name].nodes[-1][1])] for name in METHODS},
            "pauses": {name: [1000 * reports[draw, name].pauses] for name in METHODS},
        }
        for draw in draws
    ]
    return judged(size, averaged(each))


def _run(size: Size, draw: int, name: str) -> RingReport:
    scenario = size.scenario(
        size.partners[0],
        draw,
        seconds=(DOUBLING - 1 + LASTING) * size.window,
        times=size.times(_COMPARING, hop=_HOP),
        doubling=DOUBLING * size.window,
    )
    method = METHODS[name]
    adaptation = method and replace(method, every=method.every * size.window)
    return simulate_ring(scenario, NODES, adaptation=adaptation)


def _over_time(size: Size, report: RingReport) -> list[float]:
    """Mean latency in milliseconds of results whose last row came in each stretch of time."""
    stretch = np.floor(report.last_rows / (BIN * size.window) + 1e-9).astype(int)
    return [1000 * float(report.latencies[stretch == number].mean()) for number in _stretches()]


def _stretches() -> range:
    return range(round(1 / BIN), round((DOUBLING + LASTING) / BIN))


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the paper's claim against the figures."""
    places = [(number + 0.5) * BIN * size.window for number in _stretches()]

    def settled(f: Figures[str], name: str) -> float:
        begin = (DOUBLING + _SETTLED) * size.window
        return mean(y for x, y in zip(places, f["latency"][name], strict=True) if x > begin)

    def before(f: Figures[str], name: str) -> float:
        return mean(y for x, y in zip(places, f["latency"][name], strict=True) if x < DOUBLING * size.window)

    claims = (
        draws.judge(
            "With adaptation latency is much more stable: when rates have doubled it grows by less than a "
            "quarter of what it grows by without.",
            lambda f: ", ".join(
                f"{name}: from {before(f, name):.0f} to {settled(f, name):.0f} ms"
                for name in (FIXED, ADAPTIVE)
            ),
            lambda f: (
                settled(f, ADAPTIVE) - before(f, ADAPTIVE) < _MUCH * (settled(f, FIXED) - before(f, FIXED))
            ),
        ),
        draws.judge(
            "The ring that does not adapt gets later and later.",
            lambda f: f"{f['latency'][FIXED][-1]:.0f} ms in the end",
            lambda f: f["latency"][FIXED][-1] > 10 * before(f, FIXED),
            origin="measured",
        ),
        draws.judge(
            "Smoothing alone helps, and not enough: the nodes are too few.",
            lambda f: f"{settled(f, 'smoothing only'):.0f} ms instead of {settled(f, FIXED):.0f}",
            lambda f: 10 * before(f, FIXED) < settled(f, "smoothing only") < settled(f, FIXED),
            origin="measured",
        ),
        draws.judge(
            "Nodes that join gradually help later than nodes that join at once.",
            lambda f: f"{settled(f, 'nodes join gradually'):.0f} ms, at once {settled(f, ADAPTIVE):.0f} ms",
            lambda f: settled(f, ADAPTIVE) < settled(f, "nodes join gradually") < settled(f, FIXED),
            origin="measured",
        ),
        draws.judge(
            "The pause in which rows move is short: less than a tenth of a window.",
            lambda f: (
                f"{f['pauses'][ADAPTIVE][0]:.0f} ms, from {NODES} to {f['nodes'][ADAPTIVE][0]:.0f} nodes"
            ),
            lambda f: 0 < f["pauses"][ADAPTIVE][0] < 100 * size.window,
            origin="measured",
        ),
    )
    panel = Panel(
        f"(g), (h) latency, rates double at {DOUBLING * size.window:g} s",
        "arrival of the last row (s)",
        "mean latency (ms)",
        lines(draws, "latency", places),
        log_y=True,
    )
    return Experiment(
        "Fig. 8(g), (h): rates that change",
        _SETTING.format(
            partners=size.partners[0],
            compare=1e6 * size.times(_COMPARING).compare,
            nodes=NODES,
            doubling=DOUBLING * size.window,
            most=MOST,
        ),
        claims,
        (Chart("fig8gh", "Latency while rates double, with and without adaptation", (panel,)),),
    )
