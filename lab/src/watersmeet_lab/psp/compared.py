"""Fig. 7: what the three ways to share a join out cost, in figures instead of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from watersmeet.plot.chart import Table
from watersmeet.sim.ring import RingReport, simulate_aligned, simulate_coordinated, simulate_ring
from watersmeet_lab.papers.claim import Claim, Origin
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.psp.routing import PIECE
from watersmeet_lab.psp.setting import RATE, Size, seeds

NODES = 12
METHODS = ("ATR", "CTR", "PSP")
# What is shown: the words of the paper for ATR, CTR and PSP, and how figures are printed.
ROWS: Mapping[str, tuple[tuple[str, str, str], str]] = {
    "ways looked up": (("low", "high", "low"), ".2f"),
    "entries of tables": (("no", "yes", "no"), ".2f"),
    "rows seen twice": (("no", "yes", "no"), ".2f"),
    "rows moved together": (("large", "small", "small"), ".0f"),
    "busiest node over mean": (("", "", ""), ".1f"),
    "copies of a row": (("high", "high", "low"), ".2f"),
    "tuples sent": (("low", "middle", "high"), ".1f"),
    "messages": (("", "", ""), ".1f"),
}

_SETTING = """\
Three streams with {partners:g} partners in each window, on {nodes} nodes: aligned routing with segments of
two windows, coordinated routing with two copies, and the ring. Figures are per arriving row, but for the
fourth to sixth row. Nodes asked for a way count as ways looked up; entries are those of the tables that say
which segment is where; rows seen twice are those that coordinated routing keeps two nodes from looking at.
What moves together when load is balanced is a segment, or a row; that follows from the method. How evenly
nodes are busy is measured over {seconds:g} windows. Copies are rows in memory over rows alive. The words of
the paper's table stand in brackets. Its row on the cost of adaptation says "unknown" for two of three, and is
left out."""


def _runs(size: Size, seed: int) -> dict[str, RingReport]:
    # As short as that: over many segments everybody has had a turn.
    scenario = size.scenario(size.middle, seed, seconds=3 * size.window)
    return {
        "ATR": simulate_aligned(scenario, NODES, segment=2 * size.window),
        "CTR": simulate_coordinated(scenario, NODES, copies=2, segment=PIECE * size.window),
        "PSP": simulate_ring(scenario, NODES),
    }


def _figures(size: Size, reports: Mapping[str, RingReport]) -> dict[str, dict[str, Sequence[float]]]:
    alive = len(METHODS) * RATE * size.window
    together = {"ATR": 2 * RATE * size.window, "CTR": PIECE * RATE * size.window, "PSP": 1.0}
    found: dict[str, dict[str, Sequence[float]]] = {name: {} for name in ROWS}
    for method, report in reports.items():
        figures = {
            "ways looked up": report.sent["route"] / report.arrived,
            "entries of tables": report.entries / report.arrived,
            "rows seen twice": report.doubled / report.arrived,
            "rows moved together": max(1.0, together[method]),
            "busiest node over mean": report.imbalance,
            "copies of a row": report.memory / alive,
            "tuples sent": report.tuples_per_row,
            "messages": report.messages_per_row,
        }
        for name, figure in figures.items():
            found[name][method] = [figure]
    return found


def compared(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Run all three on the same rows."""
    draws = seeds(seed, size.draws)
    each = [_figures(size, _runs(size, draw)) for draw in tracker.each(draws)]
    return judged(size, averaged(each))


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the words of Fig. 7 against the figures."""
    rows = []
    for name, (words, form) in ROWS.items():
        cells = [
            f"{draws.together[name][method][0]:{form}}" + (f" ({word})" if word else "")
            for method, word in zip(METHODS, words, strict=True)
        ]
        rows.append((name, *cells))
    table = Table("fig7", ("", *METHODS), tuple(rows))
    setting = _SETTING.format(partners=size.middle, nodes=NODES, seconds=3)
    return Experiment("Fig. 7: three ways compared", setting, _claims(draws), tables=(table,))


# What the paper says of a row of the table, given the figures of ATR, CTR and PSP; whether it is the paper.
_CLAIMS: tuple[tuple[str, str, Callable[[float, float, float], bool], Origin], ...] = (
    ("Finding ways is dear for CTR only.", "ways looked up", lambda a, c, p: c > 0.5 > max(a, p), "paper"),
    (
        "CTR needs tables of what is where, the others do not (less than one entry for twenty rows).",
        "entries of tables",
        lambda a, c, p: c > 1 and max(a, p) < 0.05,
        "paper",
    ),
    (
        "CTR has to keep results from coming twice.",
        "rows seen twice",
        lambda a, c, p: c > 0 == a == p,
        "paper",
    ),
    (
        "Load moves in large pieces with ATR, in small ones with CTR and PSP.",
        "rows moved together",
        lambda a, c, p: a > 10 * max(c, p),
        "paper",
    ),
    (
        "For a while one node of ATR has most of the work; CTR and PSP share it.",
        "busiest node over mean",
        lambda a, c, p: a > 2 * max(c, p),
        "measured",
    ),
    (
        "ATR and CTR hold copies of rows, PSP does not.",
        "copies of a row",
        lambda a, c, p: min(a, c) > 1.2 > p,
        "paper",
    ),
    ("PSP sends most, then CTR, and ATR least.", "tuples sent", lambda a, c, p: a < c < p, "paper"),
)


def _claims(draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    return tuple(
        draws.judge(text, partial(_said, name), partial(_holds, name, holds), origin=origin)
        for text, name, holds, origin in _CLAIMS
    )


def _three(name: str, figures: Figures[str]) -> tuple[float, float, float]:
    aligned, coordinated, ring = (figures[name][method][0] for method in METHODS)
    return aligned, coordinated, ring


def _said(name: str, figures: Figures[str]) -> str:
    form = ROWS[name][1]
    three = zip(METHODS, _three(name, figures), strict=True)
    return ", ".join(f"{method} {figure:{form}}" for method, figure in three)


def _holds(name: str, holds: Callable[[float, float, float], bool], figures: Figures[str]) -> bool:
    return holds(*_three(name, figures))
