"""Equation 4: results per second of a ring that is never idle, by the model and in the simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from watersmeet.cost.ring import Times, output_limit, output_rate, results
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet.sim.ring import simulate_ring
from watersmeet_lab.papers.claim import grows
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.psp.setting import Size, seeds

NODES = (1, 2, 4, 8, 12)
# So dear that rows come faster than any of the rings can take them.
_COMPARING, _SENDING = 0.04, 5e-4
_LINE = "results per second"
# How far the model may be off, where nothing is sent and where a lot is.
_ALONE, _FAR = 0.2, 0.4

_SETTING = """\
Three streams with {partners:g} partners in each window, comparisons of {compare:.1f} ms and 0.5 ms for each
tuple sent: rows come faster than a ring of {most} nodes can take them, so there are always some waiting to
enter. Counted are the rows that come when windows are full, over the time in which their results come out,
and for each as many results as the model says: how many there are differs from draw to draw. The model's
limit for very long rings is {limit:.0f} results per second.

The model leaves out that rows are sent once more as they age, and that nodes wait for one another when slices
have few rows and differ; the more rows may be on the ring, here two for each node, the less they wait."""


def throughput(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Run rings that have more to do than they can."""
    cases = [(draw, nodes) for draw in seeds(seed, size.draws) for nodes in NODES]
    each: dict[int, dict[str, dict[str, list[float]]]] = {}
    for draw, nodes in tracker.each(cases):
        figures = each.setdefault(draw, {"rate": {_LINE: []}})
        figures["rate"][_LINE].append(_output(size, draw, nodes))
    return judged(size, averaged(list(each.values())))


def _dear(size: Size) -> Times:
    return size.times(_COMPARING, send=_SENDING)


def _output(size: Size, draw: int, nodes: int) -> float:
    """Results per second, as if every row had as many results as the model says: draws differ in that."""
    scenario = replace(
        size.scenario(size.middle, draw, seconds=1.5 * size.seconds, times=_dear(size)), warmup=0.0
    )
    report = simulate_ring(scenario, nodes)
    full = report.last_rows > size.window
    there = np.sort((report.last_rows + report.latencies)[full])
    rows = sum(arrival.time > 1e6 * size.window for arrival in scenario.arrivals())
    per_second = rows / float(there[-1] - there[0])
    return per_second * results(size.steps(size.middle))


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the model against the figures."""
    steps = size.steps(size.middle)
    places = tuple(map(float, NODES))
    said = [output_rate(steps, _dear(size), nodes) for nodes in NODES]

    def ratios(f: Figures[str]) -> list[float]:
        return [found / model for found, model in zip(f["rate"][_LINE], said, strict=True)]

    claims = (
        draws.judge(
            "A longer ring has more results per second.",
            lambda f: (
                ", ".join(f"{y:.0f}" for y in f["rate"][_LINE]) + f" with {', '.join(map(str, NODES))} nodes"
            ),
            lambda f: grows(f["rate"][_LINE]),
        ),
        draws.judge(
            f"One node has as many as the model says (within {_ALONE:.0%}).",
            lambda f: f"{ratios(f)[0]:.0%} of it",
            lambda f: abs(ratios(f)[0] - 1) <= _ALONE,
            origin="measured",
        ),
        draws.judge(
            "The longer the ring, the more it lacks of what the model says.",
            lambda f: ", ".join(f"{ratio:.0%}" for ratio in ratios(f)),
            lambda f: ratios(f)[-1] < ratios(f)[1] and ratios(f)[-1] > 1 - _FAR,
            origin="measured",
        ),
    )
    panel = Panel(
        "output rate by equation 4", "nodes", "results per second", (Line(_LINE, places, tuple(said)),)
    )
    chart = Chart("model_output", "Results per second by the cost model and in the simulator", (panel,))
    crosses = {panel.title: [Line(_LINE, places, tuple(draws.together["rate"][_LINE]))]}
    return Experiment(
        "Equation 4: results per second",
        _SETTING.format(
            partners=size.middle,
            compare=1e3 * _dear(size).compare,
            most=NODES[-1],
            limit=output_limit(steps, _dear(size)),
        ),
        claims,
        (chart.with_measured(crosses),),
    )
