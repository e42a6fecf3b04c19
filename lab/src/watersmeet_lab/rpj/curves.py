"""Curves of several runs side by side, and what is read off them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet_lab.papers.draws import Draws, Figures, averaged, lines
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.rpj.setting import CASES, LOOKS, Run, Runs

Quantity = Literal["results", "known", "cost", "before clean-up", "disk", "clean-up", "tasks"]
# Of each quantity in each case, by algorithm: at every look, or one figure for the whole run.
Found = Figures[tuple[Quantity, str]]

# The looks at which a quarter, a half and three quarters of the rows have arrived.
MARKS = tuple(share * LOOKS // 4 - 1 for share in (1, 2, 3))
# The first look after memory has overflowed.
OVERFLOWN = LOOKS // 20
SAME_SPEED, FIVE_TIMES = tuple(CASES)[:2], tuple(CASES)[2:]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found, and at how many seconds it was looked at."""

    seconds: tuple[float, ...]
    draws: Draws[Found]


def measured(runs: Runs, names: Sequence[str], tracker: Tracker, *, reliable: bool) -> Measured:
    """Run all four cases."""
    wanted = [[Run(name, case, reliable, draw) for case in CASES for name in names] for draw in runs.draws]
    runs.make([run for draw in wanted for run in draw], tracker)
    each = [_figures(runs, draw) for draw in wanted]
    return Measured(tuple(runs[wanted[0][0]].seconds), averaged(each))


def _figures(runs: Runs, wanted: Sequence[Run]) -> dict[tuple[Quantity, str], dict[str, Sequence[float]]]:
    found: dict[tuple[Quantity, str], dict[str, Sequence[float]]] = {}
    for run in wanted:
        course = runs[run]
        figures: Mapping[Quantity, Sequence[float]] = {
            "results": course.results,
            "known": course.known,
            "cost": course.cost,
            "before clean-up": [course.before_cleanup],
            "disk": [course.disk],
            "clean-up": [course.cleanup],
            "tasks": [float(course.tasks)],
        }
        for quantity, values in figures.items():
            found.setdefault((quantity, run.case), {})[run.name] = values
    return found


def chart(
    name: str,
    caption: str,
    found: Measured,
    quantity: Quantity,
    label: str,
    *,
    looks: slice,
    first: slice | None = None,
    log: bool = False,
) -> Chart:
    """A frame for each case.

    Args:
        name: The name of its files.
        caption: What is seen.
        found: Where the curves are.
        quantity: Which of them are shown.
        label: What they are, with the unit.
        looks: At which looks they are shown.
        first: The same for the first case, if it shows more.
        log: Whether steps up multiply.
    """
    panels = []
    for place, case in enumerate(CASES):
        some = first if first and place == 0 else looks
        curves = tuple(
            Line(line.name, line.xs[some], line.ys[some], low=line.low[some], high=line.high[some])
            for line in lines(found.draws, (quantity, case), found.seconds)
        )
        panels.append(Panel(case, "time (s)", label, curves, log_y=log))
    return Chart(name, caption, tuple(panels))


def last(found: Found, quantity: Quantity, case: str, name: str) -> float:
    """A figure when the last row has arrived, or the only one."""
    figures = found[quantity, case][name]
    return figures[0] if len(figures) == 1 else figures[LOOKS - 1]


def ahead(found: Found, case: str, name: str, others: Sequence[str], looks: Sequence[int]) -> bool:
    """Whether one has more results than all others at some looks."""
    curves = found["results", case]
    return all(curves[name][look] > curves[other][look] for look in looks for other in others)


def listed(found: Found, quantity: Quantity, names: Sequence[str], form: str) -> str:
    """Figures in the end of all cases, in words."""
    return "; ".join(
        f"{case[:3]} " + ", ".join(f"{name} {last(found, quantity, case, name):{form}}" for name in names)
        for case in CASES
    )
