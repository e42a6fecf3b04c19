"""Charts as SVG, the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.plot.chart import Chart, Line, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Can be told apart by most people who see few colours (Okabe and Ito), and on paper by their marks.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = ("o", "s", "^", "v", "D", "P", "X")
# The keys have types of their own, which differ from version to version.
_STYLE: Any = {
    # Identifiers inside the file are hashes; without a salt they would differ from run to run.
    "svg.hashsalt": "watersmeet",
    # Text stays text: smaller files, and they can be searched.
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_PANEL_WIDTH, _PANEL_HEIGHT, _LEGEND_HEIGHT = 4.8, 3.0, 0.3
_LEGEND_COLUMNS = 3
# Bars of neighbouring lines, in points; and up to so many places each has a label.
_BAR_DISTANCE = 3.0
_FEW_PLACES = 6


def draw(chart: Chart, *, form: str = "svg") -> bytes:
    """A chart as a picture.

    Args:
        chart: What is drawn.
        form: A format Matplotlib knows; "svg" is the one whose bytes do not change.
    """
    # Slow to load. Without pyplot there is no figure that outlives this call.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    columns = min(chart.columns, len(chart.panels))
    rows = ceil(len(chart.panels) / columns)
    entries = len(chart.names) + _has_measured(chart)
    legend_rows = ceil(entries / (_LEGEND_COLUMNS * columns))
    height = rows * _PANEL_HEIGHT + legend_rows * _LEGEND_HEIGHT
    with rc_context(_STYLE):
        figure = Figure(figsize=(columns * _PANEL_WIDTH, height), layout="constrained")
        frames = figure.subplots(rows, columns, squeeze=False).ravel()
        handles: dict[str, Line2D] = {}
        for frame, panel in zip(frames, chart.panels, strict=False):
            handles |= _draw_panel(frame, panel, chart.names)
        for frame in frames[len(chart.panels) :]:
            frame.set_axis_off()
        ordered = sorted(handles.items(), key=lambda item: (item[0] == _MEASURED, _rank(chart, item[0])))
        figure.legend(
            [handle for _, handle in ordered],
            [name for name, _ in ordered],
            loc="outside lower center",
            ncols=ceil(entries / legend_rows),
            frameon=False,
        )
        picture = BytesIO()
        metadata = {"Date": None, "Creator": None} if form == "svg" else None
        figure.savefig(picture, format=form, metadata=metadata, dpi=110)
    return picture.getvalue()


def save(chart: Chart, folder: Path) -> None:
    """A chart and its figures, as two files of its name."""
    (folder / f"{chart.name}.csv").write_text(chart.csv(), encoding="utf-8")
    (folder / f"{chart.name}.svg").write_bytes(draw(chart))


_MEASURED = "measured"


def _has_measured(chart: Chart) -> bool:
    return any(line.source == "measured" for panel in chart.panels for line in panel.lines)


def _rank(chart: Chart, name: str) -> int:
    return chart.names.index(name) if name in chart.names else len(chart.names)


def _draw_panel(frame: Axes, panel: Panel, names: Sequence[str]) -> dict[str, Line2D]:
    """Draw the lines; returns one of each name, for the legend."""
    drawn: dict[str, Line2D] = {}
    for line in panel.lines:
        style = names.index(line.name) % len(_COLOURS)
        colour = _COLOURS[style]
        if line.source == "measured":
            (handle,) = frame.plot(line.xs, line.ys, "x", color=colour, markersize=7, markeredgewidth=1.5)
            drawn.setdefault(_MEASURED, handle)
        else:
            # Lines may lie on one another: the earlier ones are wider, so they show below the later.
            width = 3.4 - 1.8 * names.index(line.name) / max(1, len(names) - 1)
            (handle,) = frame.plot(
                line.xs, line.ys, color=colour, marker=_MARKS[style], markersize=2 + width, linewidth=width
            )
            drawn.setdefault(line.name, handle)
            if line.low:
                _draw_range(frame, line, colour, names.index(line.name) - (len(names) - 1) / 2)
    frame.set_title(panel.title)
    frame.set_xlabel(panel.x_label)
    frame.set_ylabel(panel.y_label)
    places = sorted({x for line in panel.lines for x in line.xs})
    if panel.log_x:
        _label_every_place(frame, places)
    elif len(places) <= _FEW_PLACES:
        frame.set_xticks(places)
    heights = [y for line in panel.lines for y in (*line.ys, *line.low, *line.high)]
    if panel.log_y:
        frame.set_yscale("log")
        frame.set_ylim(min(y for y in heights if y > 0) / 1.5, 1.5 * max(heights))
        _label_powers(frame)
    else:
        # From zero, so that a small difference does not look like a large one.
        frame.set_ylim(0, 1.08 * max(heights) or 1)
        if any(line.source == "run" for line in panel.lines):
            frame.yaxis.set_major_formatter("{x:,.0f}")
    return drawn


def _draw_range(frame: Axes, line: Line, colour: str, place: float) -> None:
    """The range of the draws as thin bars, those of different lines side by side."""
    from matplotlib.transforms import ScaledTranslation

    figure = frame.get_figure()
    assert figure is not None
    aside = ScaledTranslation(_BAR_DISTANCE * place / 72, 0, figure.dpi_scale_trans)
    frame.vlines(
        line.xs,
        line.low,
        line.high,
        colors=colour,
        linewidth=1.1,
        alpha=0.75,
        transform=frame.transData + aside,
    )


def _label_powers(frame: Axes) -> None:
    """A logarithmic axis with plain numbers; between powers of ten only where there are few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = frame.get_ylim()
    between = (1.0,) if high / low > 300 else (1.0, 2.0, 5.0)
    frame.yaxis.set_major_locator(LogLocator(subs=between))
    frame.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    frame.yaxis.set_minor_formatter(NullFormatter())


def _label_every_place(frame: Axes, places: Sequence[float]) -> None:
    """A logarithmic axis with the places that were tried, as far as their labels do not collide."""
    from matplotlib.ticker import NullFormatter

    frame.set_xscale("log")
    shown: list[float] = []
    for place in places:
        if not shown or place / shown[-1] >= (places[-1] / places[0]) ** 0.09:
            shown.append(place)
    frame.set_xticks(shown, [_short(place) for place in shown])
    frame.xaxis.set_minor_formatter(NullFormatter())
    frame.minorticks_off()


def _short(value: float) -> str:
    """A number in few characters.

    >>> [_short(value) for value in (0.05, 20, 1000, 100_000, 1e6)]
    ['0.05', '20', '1000', '100k', '1M']
    """
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:g}"
