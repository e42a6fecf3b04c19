"""Fig. 9: when all streams have the same parameters, greedy plans are best (Sect. 5.3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watersmeet.optimize.papers.tran_lee.exhaustive import exhaustive
from watersmeet.optimize.papers.tran_lee.greedy import greedy
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet_lab.papers.claim import Claim
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.semijoin.setting import (
    ATTRIBUTES,
    GRAPHS,
    KEY,
    KEY_FRACTIONS,
    RATES,
    WINDOWS,
    four_way,
    stream,
)

# What is varied: the name in `stream`, the title and label of its panel, and the unit of the label.
_VARIED: Mapping[str, tuple[str, str, float]] = {
    "attributes": ("size of a row", "bytes", KEY),
    "key_fraction": ("key fraction", "f, one over the keys", 1),
    "rate": ("rate", "rows/s", 1),
    "window": ("window", "window (ms)", 1000),
}
_VALUES: Mapping[str, Sequence[float]] = {
    "attributes": ATTRIBUTES,
    "key_fraction": KEY_FRACTIONS,
    "rate": RATES,
    "window": WINDOWS,
}
_SHOWN = "fully connected"

_SETTING = """\
Four streams alike: rows of 500 bytes, f = 0.06, 100 rows/s, windows of 1.2 s, one of these varied at a
time, for all four join graphs. The plot has the fully connected one. The paper explains the result by
spanning trees; it is simpler: all orders cost the same, so any is best."""


def streams_alike(tracker: Tracker) -> Experiment:
    """Greedy and best plans while one parameter of all streams varies."""
    panels, gaps = [], []
    for name in tracker.each(tuple(_VARIED)):
        title, label, unit = _VARIED[name]
        costs: dict[str, list[float]] = {"greedy": [], "best": []}
        for value in _VALUES[name]:
            streams = tuple(stream(node, **{name: value}) for node in range(4))
            for graph in GRAPHS:
                query = four_way(streams, graph)
                found, best = greedy(query).work.total, exhaustive(query).work.total
                gaps.append(found / best - 1)
                if graph == _SHOWN:
                    costs["greedy"].append(found)
                    costs["best"].append(best)
        xs = tuple(value * unit for value in _VALUES[name])
        lines = tuple(Line(plan, xs, tuple(ys)) for plan, ys in costs.items())
        panels.append(Panel(title, label, "work per second of arrivals (s)", lines))
    claim = Claim(
        "Greedy and best plans take the same time, but for noise (less than 10%).",
        f"they differ by at most {max(map(abs, gaps)):.1%} in {len(gaps)} cases",
        max(map(abs, gaps)) <= 1e-9,
    )
    chart = Chart("fig9", "Greedy and best plans for streams with equal parameters", tuple(panels))
    return Experiment("Fig. 9: streams with equal parameters", _SETTING, (claim,), (chart,))
