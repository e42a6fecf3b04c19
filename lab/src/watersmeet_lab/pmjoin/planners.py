"""What planners of whole streams cost, and how that is shown: shared by Fig. 5 to 7 (Sect. 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from watersmeet.cost.traffic import Traffic
from watersmeet.optimize.papers.zhou.local import local
from watersmeet.optimize.papers.zhou.optimal import optimal
from watersmeet.optimize.papers.zhou.simple import simple
from watersmeet.optimize.sites.placement import Placement
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt
from watersmeet.plot.chart import Line, Panel
from watersmeet_lab.papers.claim import Claim, Known
from watersmeet_lab.papers.draws import Case, Curves, Draws, Figures

Planners = Mapping[str, Callable[[Traffic], Placement]]

SIMPLE, LOCAL, HEURISTIC, OPTIMAL = "Simple", "Local", "Heuristic", "Optimal"
AGAINST_SIMPLE: Planners = {SIMPLE: simple, HEURISTIC: stream_join_opt, OPTIMAL: optimal}
AGAINST_LOCAL: Planners = {LOCAL: local, HEURISTIC: stream_join_opt, OPTIMAL: optimal}
Y_LABEL = "tuples sent (1/s)"
VALUES = 1000

# What "very close to the optimum" is taken to mean.
CLOSE = 1.1
NOT_FAR = 1.25


@dataclass(frozen=True, slots=True)
class Size:
    """How much is computed in Fig. 5 to 7.

    Attributes:
        ranges: Numbers of values in Fig. 5.
        streams: Numbers of streams in Fig. 6 and 7.
        draws: How many random workloads there are in Fig. 5.
        more_draws: How many in Fig. 6 and 7, which are quicker.
    """

    ranges: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)
    streams: tuple[int, ...] = (2, 4, 6, 8, 10)
    draws: int = 10
    more_draws: int = 40


FULL = Size(streams=(2, 4, 6, 8, 10, 12, 14), draws=40)


def priced(workloads: Iterable[Traffic], planners: Planners) -> Curves:
    """What each planner sends, place by place."""
    costs = [[planner(traffic).cost for planner in planners.values()] for traffic in workloads]
    return {name: list(column) for name, column in zip(planners, zip(*costs, strict=True), strict=True)}


def behind(curves: Curves) -> list[float]:
    """How many times what the optimum sends the heuristic sends."""
    return ratio(curves, HEURISTIC, OPTIMAL)


def ratio(curves: Curves, one: str, other: str) -> list[float]:
    """One curve over another; where nothing is sent by either they are equal."""
    pairs = zip(curves[one], curves[other], strict=True)
    return [a / b if b else inf if a else 1.0 for a, b in pairs]


def close_to_optimal(draws: Draws[Figures[Case]], cases: Iterable[Case], known: Known | None = None) -> Claim:
    """Whether the heuristic is near the optimum everywhere."""
    chosen = tuple(cases)
    return draws.judge(
        "Heuristic is very close to Optimal everywhere.",
        lambda figures: (
            f"on average at most {farthest(figures, chosen) - 1:.0%} above it, {_worst(draws, chosen)}"
        ),
        lambda figures: farthest(figures, chosen) <= CLOSE,
        known,
    )


def not_far_from_optimal(draws: Draws[Figures[Case]], cases: Iterable[Case], note: str) -> Claim:
    """Whether the heuristic is at most a quarter above the optimum everywhere."""
    chosen = tuple(cases)
    return draws.judge(
        f"Heuristic is at most a quarter above Optimal ({note}).",
        lambda figures: (
            f"on average at most {farthest(figures, chosen) - 1:.0%} above it, {_worst(draws, chosen)}"
        ),
        lambda figures: farthest(figures, chosen) <= NOT_FAR,
        origin="corrected",
    )


def farthest(figures: Figures[Case], cases: Iterable[Case]) -> float:
    """How many times what the optimum sends the heuristic sends where it is worst."""
    return max(each for case in cases for each in behind(figures[case]))


def _worst(draws: Draws[Figures[Case]], cases: Sequence[Case]) -> str:
    worst = max(farthest(figures, cases) for figures in draws.each)
    return f"in a single workload at most {worst - 1:.0%}"


def mostly_close(draws: Draws[Figures[Case]], cases: Iterable[Case], note: str = "") -> Claim:
    """Whether the heuristic is near the optimum at most places."""
    chosen = tuple(cases)

    def close(figures: Figures[Case]) -> list[bool]:
        return [each <= CLOSE for case in chosen for each in behind(figures[case])]

    return draws.judge(
        f"Heuristic is very close to Optimal at three of four places{note}.",
        lambda figures: f"at {sum(close(figures))} of {len(close(figures))} places on average",
        lambda figures: sum(close(figures)) >= 0.75 * len(close(figures)),
        origin="corrected",
    )


def panel(
    title: str, x_label: str, lines: Sequence[Line], *, log_x: bool = False, log_y: bool = False
) -> Panel:
    """Tuples that are sent."""
    return Panel(title, x_label, Y_LABEL, tuple(lines), log_x=log_x, log_y=log_y)
