"""Series of figures as plain data: what is plotted is what is written as CSV.

A line comes from a cost formula. Where something was also measured, its line has the same name and says so;
it is drawn over the formula's in the same colour. What happened in one run, moment by moment, is a line too.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Literal

Source = Literal["formula", "measured", "run"]


@dataclass(frozen=True, slots=True)
class Line:
    """One series.

    Attributes:
        name: What it shows; lines of one name share a colour in all panels of a chart.
        xs: Where.
        ys: What.
        source: Where the figures come from.
        low: The least figure of several draws, whose mean the line shows; empty for one.
        high: The largest.
    """

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    source: Source = "formula"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Every place has a figure."""
        assert len(self.xs) == len(self.ys), f"{self.name}: {len(self.xs)} places, {len(self.ys)} figures"
        assert len(self.low) == len(self.high), f"{self.name}: a range has two ends"

    @property
    def rows(self) -> Iterator[tuple[str, ...]]:
        """Where, what, and the range, ready to print."""
        low, high = self.low or (None,) * len(self.xs), self.high or (None,) * len(self.xs)
        for numbers in zip(self.xs, self.ys, low, high, strict=True):
            yield tuple("" if number is None else figure(number) for number in numbers)


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines in one frame.

    Attributes:
        title: What it shows; no other panel of its chart has the same.
        x_label: What is varied, with its unit.
        y_label: What is shown, with its unit.
        lines: The series.
        log_x: Whether steps to the right multiply.
        log_y: Whether steps up multiply; for figures that span powers of ten.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels that belong together: one plot and one file of data.

    Attributes:
        name: The name of its files.
        caption: What is seen, in a sentence.
        panels: The frames.
        columns: How many frames stand side by side.
    """

    name: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 2

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all lines, in the order they first occur."""
        return tuple(dict.fromkeys(line.name for panel in self.panels for line in panel.lines))

    def with_measured(self, measured: Mapping[str, Sequence[Line]]) -> Chart:
        """The same chart with measured lines beside the formulas'.

        Args:
            measured: Lines by the title of their panel.

        >>> panel = Panel("a", "rate (rows/s)", "time (s)", (Line("SP-S", (1, 2), (3, 4)),))
        >>> chart = Chart("one", "", (panel,)).with_measured({"a": [Line("SP-S", (1,), (3.1,))]})
        >>> [line.source for line in chart.panels[0].lines]
        ['formula', 'measured']
        """
        panels = []
        for panel in self.panels:
            more = tuple(replace(line, source="measured") for line in measured.get(panel.title, ()))
            panels.append(replace(panel, lines=panel.lines + more))
        return replace(self, panels=tuple(panels))

    def csv(self) -> str:
        """One row for each figure."""
        return csv_text(("panel", "series", "source", "x", "y", "low", "high"), self._rows())

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for panel in self.panels:
            for line in panel.lines:
                for row in line.rows:
                    yield panel.title, line.name, line.source, *row


@dataclass(frozen=True, slots=True)
class Table:
    """Figures in rows; its cells are ready to print.

    Attributes:
        name: The name of its file.
        head: The columns.
        rows: The cells.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def csv(self) -> str:
        """The same cells."""
        return csv_text(self.head, self.rows)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as the text of a CSV file, the same on every system."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def figure(value: float) -> str:
    """A number with six digits: further ones may differ from machine to machine.

    >>> figure(0.1 + 0.2), figure(1_000_000)
    ('0.3', '1e+06')
    """
    return f"{value:.6g}"
