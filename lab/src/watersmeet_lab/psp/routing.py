"""Fig. 8(c) to (f): aligned routing while segments get longer, coordinated routing while copies get more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from watersmeet.plot.chart import Chart, Panel
from watersmeet.sim.ring import RingReport, simulate_aligned, simulate_coordinated
from watersmeet_lab.papers.claim import fails, flat, grows, never_falls, spread
from watersmeet_lab.papers.draws import Draws, Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.psp.setting import RATE, Size, seeds

# Segments of aligned routing in windows: the paper's 10 to 50 s for windows of 10 s.
SEGMENTS = (1, 2, 5)
COPIES = (2, 3, 4)
ALIGNED_NODES = (4, 8, 16)
# As in the paper, at least two for each copy.
COORDINATED_NODES = (8, 12, 19)
# A segment of coordinated routing in windows.
PIECE = 0.05
# What "constant" and "does not fall" are taken to mean.
_CONSTANT = 0.05

_ALIGNED = """\
The same three streams with {partners:g} partners in each window. The first is the master; its segments are as
long as one, two and five windows, and go to the nodes in turn. A machine of its own sends rows out, at no
cost. The run lasts {windows} windows (60 in the paper)."""
_COORDINATED = """\
The same streams. Segments are a twentieth of a window long, so a row waits half of that before anything
happens: {wait:g} ms of the latency. Segments are stored on the nodes that have worked least so far, and ways
found by the greedy set cover; one segment is under way at a time. That is our reading: the paper sketches the
method and leaves out how segments are placed."""
_STALE = """\
It grows as long as there are more segments than nodes; a node that was never given one holds nothing. And
what it grows by is of no use. A few segments are under way at a time, whatever the number of nodes: the nodes
of all others keep what they had when their last row came, since only rows that arrive make them let go of
any. Nodes that looked at the clock as well would hold no more than the copies that are sent."""

Run = Callable[[int, int, int], RingReport]


def _measured(
    names: Sequence[str],
    knobs: Sequence[int],
    places: Sequence[int],
    draws: Sequence[int],
    run: Run,
    tracker: Tracker,
) -> Draws[Figures[str]]:
    """Latency in milliseconds and rows in memory, a line for each knob."""
    each = []
    cases = [(draw, knob, nodes) for draw in draws for knob in knobs for nodes in places]
    reports = {case: run(*case) for case in tracker.each(cases)}
    for draw in draws:
        figures: dict[str, dict[str, list[float]]] = {"latency": {}, "memory": {}, "copies": {}}
        for name, knob in zip(names, knobs, strict=True):
            found = [reports[draw, knob, nodes] for nodes in places]
            figures["latency"][name] = [1000 * report.latency for report in found]
            figures["memory"][name] = [report.memory for report in found]
            figures["copies"][name] = [report.sent["row"] / report.arrived for report in found]
        each.append(figures)
    return averaged(each)


def aligned(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Fig. 8(c) and (d)."""

    def run(draw: int, windows: int, nodes: int) -> RingReport:
        scenario = size.scenario(size.middle, draw, seconds=(size.windows - 1) * size.window)
        return simulate_aligned(scenario, nodes, segment=windows * size.window)

    draws = _measured(_segment_names(), SEGMENTS, ALIGNED_NODES, seeds(seed, size.draws), run, tracker)
    return judged_aligned(size, draws)


def _segment_names() -> list[str]:
    return [f"T = {windows} window{'s' if windows > 1 else ''}" for windows in SEGMENTS]


def judged_aligned(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the paper's claims against the figures."""
    short = _segment_names()[0]
    # Of three rows one is the master's, and two are copied.
    copies = [(1 + 2 * (windows + 2) / windows) / 3 for windows in SEGMENTS]

    def needed_nodes(f: Figures[str]) -> dict[str, list[float]]:
        """Memory on numbers of nodes that all have had a segment, where there are several such numbers."""
        found = {}
        for (name, ys), windows in zip(f["memory"].items(), SEGMENTS, strict=True):
            some = [y for y, nodes in zip(ys, ALIGNED_NODES, strict=True) if nodes * windows <= size.windows]
            if len(some) > 1:
                found[name] = some
        return found

    def alive(f: Figures[str]) -> float:
        """All copies of the rows of a window."""
        return f["copies"][short][-1] * 3 * RATE * size.window

    claims = (
        draws.judge(
            "(c) Latency does not fall with more nodes, however long segments are.",
            lambda f: f"it varies by at most {max(spread(ys) - 1 for ys in f['latency'].values()):.1%}",
            lambda f: all(ys[-1] >= (1 - _CONSTANT) * ys[0] for ys in f["latency"].values()),
        ),
        draws.judge(
            "(d) Memory grows steadily with the number of nodes.",
            lambda f: "; ".join(
                f"{name}: {', '.join(f'{y:.0f}' for y in ys)} rows" for name, ys in f["memory"].items()
            ),
            lambda f: all(grows(ys) for ys in f["memory"].values()),
            fails(_STALE),
        ),
        draws.judge(
            "(d) Memory grows with the number of nodes while there are more segments than nodes.",
            lambda f: "; ".join(
                f"{name}: {', '.join(f'{y:.0f}' for y in ys)} rows" for name, ys in needed_nodes(f).items()
            ),
            lambda f: all(grows(ys) for ys in needed_nodes(f).values()),
            origin="corrected",
        ),
        draws.judge(
            f"On {ALIGNED_NODES[-1]} nodes more than half of what is held with segments of one window has "
            "outlived it.",
            lambda f: f"{f['memory'][short][-1]:.0f} rows, of which at most {alive(f):.0f} are alive",
            lambda f: alive(f) < f["memory"][short][-1] / 2,
            origin="measured",
        ),
        draws.judge(
            "A row of a stream that is not the master is sent (T + 2 W) / T times.",
            lambda f: (
                ", ".join(
                    f"{ys[-1]:.2f} (by the formula {said:.2f})"
                    for ys, said in zip(f["copies"].values(), copies, strict=True)
                )
                + " of each row, the master's too"
            ),
            lambda f: all(
                abs(ys[-1] / said - 1) <= 2 * _CONSTANT
                for ys, said in zip(f["copies"].values(), copies, strict=True)
            ),
            origin="measured",
        ),
    )
    panels = (
        Panel("(c) latency", "nodes", "mean latency (ms)", lines(draws, "latency", ALIGNED_NODES)),
        Panel("(d) memory", "nodes", "rows in memory", lines(draws, "memory", ALIGNED_NODES)),
    )
    return Experiment(
        "Fig. 8(c), (d): aligned routing (ATR)",
        _ALIGNED.format(partners=size.middle, windows=size.windows),
        claims,
        (Chart("fig8cd", "Latency and memory of aligned routing", panels),),
    )


def coordinated(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Fig. 8(e) and (f)."""

    def run(draw: int, copies: int, nodes: int) -> RingReport:
        scenario = size.scenario(size.middle, draw, seconds=2 * size.seconds)
        return simulate_coordinated(scenario, nodes, copies=copies, segment=PIECE * size.window)

    names = [f"{copies} copies" for copies in COPIES]
    draws = _measured(names, COPIES, COORDINATED_NODES, seeds(seed, size.draws), run, tracker)
    return judged_coordinated(size, draws)


def judged_coordinated(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the paper's claims against the figures."""

    def by_copies(f: Figures[str], what: str) -> list[tuple[float, ...]]:
        return list(zip(*f[what].values(), strict=True))

    claims = (
        draws.judge(
            "(e) Latency falls with more nodes.",
            lambda f: "; ".join(
                f"{name}: {ys[0]:.0f} to {ys[-1]:.0f} ms" for name, ys in f["latency"].items()
            ),
            lambda f: all(ys[-1] < ys[0] for ys in f["latency"].values()),
        ),
        draws.judge(
            "(e) Latency rises with more copies, on any number of nodes.",
            lambda f: "; ".join(
                f"{nodes} nodes: {', '.join(f'{y:.0f}' for y in ys)} ms"
                for nodes, ys in zip(COORDINATED_NODES, by_copies(f, "latency"), strict=True)
            ),
            lambda f: all(never_falls(ys) for ys in by_copies(f, "latency")),
        ),
        draws.judge(
            f"(f) Memory does not depend on the number of nodes (within {_CONSTANT:.0%}).",
            lambda f: f"it varies by at most {max(spread(ys) - 1 for ys in f['memory'].values()):.1%}",
            lambda f: all(flat(ys, within=_CONSTANT) for ys in f["memory"].values()),
        ),
        draws.judge(
            "(f) Memory grows with the copies.",
            lambda f: ", ".join(f"{ys[-1]:.0f}" for ys in f["memory"].values()) + " rows",
            lambda f: all(grows(ys) for ys in by_copies(f, "memory")),
        ),
        draws.judge(
            "Each copy is a whole window more, and the segment that ends last.",
            lambda f: ", ".join(f"{ratio:.2f}" for ratio in _per_copy(size, f)) + " of that",
            lambda f: all(abs(ratio - 1) <= 2 * _CONSTANT for ratio in _per_copy(size, f)),
            origin="measured",
        ),
    )
    panels = (
        Panel("(e) latency", "nodes", "mean latency (ms)", lines(draws, "latency", COORDINATED_NODES)),
        Panel("(f) memory", "nodes", "rows in memory", lines(draws, "memory", COORDINATED_NODES)),
    )
    return Experiment(
        "Fig. 8(e), (f): coordinated routing (CTR)",
        _COORDINATED.format(wait=1000 * PIECE * size.window / 2),
        claims,
        (Chart("fig8ef", "Latency and memory of coordinated routing", panels),),
    )


def _per_copy(size: Size, f: Figures[str]) -> list[float]:
    alive = 3 * RATE * size.window * (1 + PIECE)
    return [ys[-1] / (copies * alive) for copies, ys in zip(COPIES, f["memory"].values(), strict=True)]
