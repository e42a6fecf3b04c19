"""Fig. 8(a) and (b): latency and memory of a ring while its length and the match probability vary."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.cost.ring import latency, optimal_nodes
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet.sim.ring import simulate_ring
from watersmeet_lab.papers.claim import Claim, fails, flat, grows, spread
from watersmeet_lab.papers.draws import Curves, Draws, Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.psp.setting import Size, seeds

# What "constant" and "close to the best" are taken to mean.
_CONSTANT = 0.05
_CLOSE = 0.25
# Where the paper's curve turns. Its windows are longer, so the place is said and not judged.
_TURNS = 14

_SETTING = """\
Three streams of 50 rows/s, windows of {window} s, and pairs that match with a probability for which a row has
{partners} partners in each window. A comparison takes {compare:.0f} µs, sending a tuple 5 µs, a hop 50 µs. As
many as two rows for each node may be on the ring (PSP-I). Windows are cut into slices of the same length;
what is measured begins when they are full and lasts {seconds} s, {draws} times.

The paper also expects that with a smaller match probability a longer ring is best, and refers to its cost
model. Its model says the opposite: less to compare is less to share out, so the best ring is shorter
({best} nodes here, from few partners to many). So this is not held against our figures."""

_TOO_SHORT = """\
Equation 5 takes every result to have gone round M times. It goes round M - 1 times at most, and since its
rows are found on any node, about half as often on average. So hops weigh too much, and the model wants rings
that are too short: see the crosses below the lines on long rings. On short rings it is too quick because rows
wait for one another, which it leaves out."""


def names(size: Size) -> list[str]:
    """What lines are called, by the partners of a row."""
    return [f"match probability {size.match_prob(partners):g}" for partners in size.partners]


def measured(size: Size, seed: int, tracker: Tracker) -> Draws[Figures[str]]:
    """Run all rings."""
    cases = [
        (draw, partners, nodes)
        for draw in seeds(seed, size.draws)
        for partners in size.partners
        for nodes in size.nodes
    ]
    each: dict[int, dict[str, dict[str, list[float]]]] = {}
    for draw, partners, nodes in tracker.each(cases):
        report = simulate_ring(size.scenario(partners, draw, seconds=size.seconds), nodes)
        figures = each.setdefault(draw, {"latency": {}, "memory": {}})
        name = names(size)[size.partners.index(partners)]
        figures["latency"].setdefault(name, []).append(1000 * report.latency)
        figures["memory"].setdefault(name, []).append(report.memory)
    return averaged(list(each.values()))


def ring_length(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """The figures and what is claimed of them."""
    return judged(size, measured(size, seed, tracker))


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the paper's claims against the figures."""
    best = [optimal_nodes(size.steps(partners), size.times()) for partners in size.partners]
    setting = _SETTING.format(
        window=f"{size.window:g}",
        compare=1e6 * size.times().compare,
        partners=_listed(size.partners),
        seconds=f"{size.seconds:g}",
        draws=size.draws,
        best=_listed(best),
    )
    panels = (
        Panel("(a) latency", "nodes", "mean latency (ms)", lines(draws, "latency", size.nodes), log_y=True),
        Panel("(b) memory", "nodes", "rows in memory", lines(draws, "memory", size.nodes)),
    )
    charts = (
        Chart("fig8ab", "Latency and memory of a ring while its length varies", panels),
        _model_chart(size, draws),
    )
    return Experiment(
        "Fig. 8(a), (b): length of the ring",
        setting,
        (*_paper_claims(size, draws), *_ours(size, draws)),
        charts,
    )


def _model_chart(size: Size, draws: Draws[Figures[str]]) -> Chart:
    """Equation 5 as lines, what was measured as crosses."""
    places = tuple(map(float, size.nodes))
    formula = tuple(
        Line(name, places, tuple(_formula(size, partners)))
        for name, partners in zip(names(size), size.partners, strict=True)
    )
    panel = Panel("latency by equation 5", "nodes", "mean latency (ms)", formula, log_y=True)
    crosses = [Line(name, places, tuple(ys)) for name, ys in draws.together["latency"].items()]
    return Chart("model_latency", "Latency by the cost model and in the simulator", (panel,)).with_measured(
        {panel.title: crosses}
    )


def _formula(size: Size, partners: float) -> list[float]:
    return [1000 * latency(size.steps(partners), size.times(), nodes) for nodes in size.nodes]


def _paper_claims(size: Size, draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    def u_shaped(curve: Sequence[float]) -> bool:
        return min(curve) < min(curve[0], curve[-1])

    def ends_and_lowest(curve: Sequence[float]) -> str:
        places = (0, _low(curve), len(curve) - 1)
        return ", ".join(f"{curve[place]:.2f} ms with {size.nodes[place]}" for place in places) + " nodes"

    many = names(size)[-1]
    return (
        draws.judge(
            f"Memory does not depend on the number of nodes (within {_CONSTANT:.0%}).",
            lambda f: f"it varies by at most {max(spread(ys) - 1 for ys in f['memory'].values()):.1%}",
            lambda f: all(flat(ys, within=_CONSTANT) for ys in f["memory"].values()),
        ),
        draws.judge(
            "Latency rises with the match probability, on rings of any length.",
            lambda f: ", ".join(
                f"{nodes} nodes: {_listed([round(y, 1) for y in at])} ms"
                for nodes, at in zip(size.nodes, _columns(f["latency"]), strict=True)
            ),
            lambda f: all(grows(at) for at in _columns(f["latency"])),
        ),
        draws.judge(
            "With the largest match probability latency falls with more nodes, and rises again when the "
            f"ring is too long: after {_TURNS} nodes in the paper, with a probability of 0.5 (the place is "
            "not judged).",
            lambda f: ends_and_lowest(f["latency"][many]),
            lambda f: u_shaped(f["latency"][many]),
        ),
    )


def _ours(size: Size, draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    """What the cost model is worth."""

    def excess(f: Figures[str]) -> list[float]:
        """How much worse than the best a ring is that is as long as the model wants it."""
        found = []
        for partners, curve in zip(size.partners, f["latency"].values(), strict=True):
            wanted = optimal_nodes(size.steps(partners), size.times())
            nearest = min(range(len(size.nodes)), key=lambda place: abs(size.nodes[place] - wanted))
            found.append(curve[nearest] / min(curve) - 1)
        return found

    def ratios(f: Figures[str]) -> list[list[float]]:
        return [
            [found / said for found, said in zip(curve, _formula(size, partners), strict=True)]
            for partners, curve in zip(size.partners, f["latency"].values(), strict=True)
        ]

    return (
        draws.judge(
            "Latency falls and rises again with every match probability.",
            lambda f: "best with " + _listed([size.nodes[_low(curve)] for curve in f["latency"].values()]),
            lambda f: all(0 < _low(curve) < len(size.nodes) - 1 for curve in f["latency"].values()),
            origin="measured",
        ),
        draws.judge(
            f"A ring as long as the cost model wants it is close to the best (within {_CLOSE:.0%}).",
            lambda f: f"of the lengths tried, the nearest is {_percent(excess(f))} slower than the best",
            lambda f: max(excess(f)) <= _CLOSE,
            fails(_TOO_SHORT),
            origin="measured",
        ),
        draws.judge(
            "On short rings the model is too quick, on long ones too slow.",
            lambda f: (
                "measured over model: "
                + "; ".join(
                    f"{_listed([round(row[place], 1) for row in ratios(f)])} with {size.nodes[place]} nodes"
                    for place in (0, -1)
                )
            ),
            lambda f: all(row[0] > 1 > row[-1] for row in ratios(f)),
            origin="measured",
        ),
    )


def _low(curve: Sequence[float]) -> int:
    return list(curve).index(min(curve))


def _columns(curves: Curves) -> list[tuple[float, ...]]:
    return list(zip(*curves.values(), strict=True))


def _percent(shares: Sequence[float]) -> str:
    return _listed([f"{share:.0%}" for share in shares])


def _listed(items: Sequence[object]) -> str:
    """Items as a sentence has them.

    >>> _listed([1.0, 2, "b"])
    '1, 2 and b'
    """
    words = [f"{item:g}" if isinstance(item, float | int) else str(item) for item in items]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
