"""The plot of a run: how many results were found when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from watersmeet.errors import WatersmeetError
from watersmeet.extras import require_package
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet.plot.draw import draw

FORMS = ("svg", "png", "pdf")


class InvalidPlot(WatersmeetError, ValueError):
    """The plot has no place to go."""


def refuse_bad_plot(path: Path) -> None:
    """Before a long run, make sure that its plot can be drawn and saved."""
    form = path.suffix.removeprefix(".")
    if form not in FORMS:
        raise InvalidPlot(
            f'"{path}" cannot be a plot',
            f'its name ends in "{path.suffix}".',
            f"end it in .{', .'.join(FORMS)}.",
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidPlot(
            f'"{path}" cannot be a plot', "there is no such folder.", "name a file in a folder."
        )
    require_package("matplotlib")


def save_plot(path: Path, title: str, points: Sequence[tuple[float, int]]) -> None:
    """Results so far, over seconds after the start."""
    seconds, results = zip((0.0, 0), *points, strict=True)
    line = Line("results", seconds, tuple(map(float, results)), source="run")
    panel = Panel(title, "seconds after the start", "results so far", (line,))
    path.write_bytes(draw(Chart("results", title, (panel,), columns=1), form=path.suffix.removeprefix(".")))
