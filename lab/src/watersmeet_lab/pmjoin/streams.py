"""Fig. 10: groups of values with more and more streams (Sect. 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.plot.chart import Chart
from watersmeet.sim.distribution import generator
from watersmeet_lab.papers.claim import Claim, Known, fails, grows, never_falls, partly
from watersmeet_lab.papers.draws import Curves, Draws, Figures, averaged, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.pmjoin.groups import WINDOWS
from watersmeet_lab.pmjoin.partitioned import PARTITIONERS, VALUES, workload
from watersmeet_lab.pmjoin.planners import panel
from watersmeet_lab.pmjoin.workload import HotSpots

NONE = "none"
_NOISE = 0.01


@dataclass(frozen=True, slots=True)
class Size:
    """How much is computed.

    Attributes:
        streams: Numbers of streams.
        groups: Numbers of groups, beside none.
        draws: How many random workloads there are.
        values: How many values there are.
    """

    streams: tuple[int, ...] = (4, 6, 8)
    groups: tuple[int, ...] = (500, 1000)
    draws: int = 5
    values: int = VALUES


FULL = Size(streams=(2, 4, 6, 8, 10, 12), draws=20)


class Case(NamedTuple):
    """Which streams."""

    windows: str
    hot_spots: HotSpots

    def __str__(self) -> str:
        ours = " (ours)" if self.windows == "short" else ""
        return f"{self.hot_spots} hot spots, {self.windows} windows{ours}"


CASES: tuple[Case, ...] = tuple(
    Case(windows, hot_spots) for windows in WINDOWS for hot_spots in ("contiguous", "random")
)
_LONG, _SHORT = ([case for case in CASES if case.windows == windows] for windows in WINDOWS)

_SETTING = """\
As many streams as the axis says, each at its own node, distributed differently; 10 to 1000 tuples/s,
{values} values, with long windows (10 to 100 s, the paper's) and short ones (0.3 to 3 s, ours). {draws}
draws, in each of which streams are added one by one."""
_TOO_FULL = """\
Windows of 10 to 100 s hold several tuples of every value. Each further stream then makes results faster,
not rarer, and has to be sent itself. The paper's reason, that more streams make the join more selective,
needs windows that hold less than one tuple of a value: with those of 0.3 to 3 s, ours, most costs do fall."""
_OWN_RATE = """\
On average they do. In a single workload the streams that are added may be fast and have long windows, and
then even these short ones hold several tuples of the frequent values."""
_CLUSTERS = """\
On average they are. K-means starts from values picked at random, and as in the paper spreads values that
rank streams alike over several groups, which in single workloads costs some percent."""
_LIKE_HASH = """\
Where frequent values are strewn about, a range is as random as a hash, and a hash leaves some groups
empty: ranges are never behind."""


def figure_10(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """What is sent by the number of streams."""
    each: list[dict[Case, dict[str, list[float]]]] = [{case: {} for case in CASES} for _ in range(size.draws)]
    work = [(draw, case, count) for draw in range(size.draws) for case in CASES for count in size.streams]
    for draw, case, count in tracker.each(work):
        for name, sent in sent_by_scheme(case, count, size, seed, draw).items():
            each[draw][case].setdefault(name, []).append(sent)
    draws = averaged(each)
    claims = (
        _gain(draws),
        draws.judge(
            "Without groups the cost rises with the number of streams.",
            lambda figures: _from_to([figures[case][NONE] for case in _LONG]),
            lambda figures: all(grows(figures[case][NONE]) for case in _LONG),
        ),
        _falling(draws, _LONG, fails(_TOO_FULL)),
        _falling(draws, _SHORT, partly(_OWN_RATE)),
        _rate_is_best(draws, size),
        _ranges_against_hash(draws, _LONG[0], size, better="range", known=None),
        _ranges_against_hash(draws, _LONG[1], size, better="hash", known=fails(_LIKE_HASH)),
    )
    panels = tuple(panel(str(case), "streams", lines(draws, case, size.streams)) for case in CASES)
    chart = Chart("fig10", "What is sent with groups of values, by the number of streams", panels)
    setting = _SETTING.format(draws=size.draws, values=size.values)
    return Experiment("Fig. 10: groups of values, number of streams", setting, claims, (chart,))


def sent_by_scheme(case: Case, count: int, size: Size, seed: int, draw: int) -> dict[str, float]:
    """Every partitioner with every number of groups, for the first streams of a draw."""
    load = workload(
        count,
        max(size.streams),
        "different",
        case.hot_spots,
        WINDOWS[case.windows],
        generator(seed, 10, draw),
        size.values,
    )
    schemes = {NONE: ("range", 1)} | {
        scheme(name, groups): (name, groups) for name in PARTITIONERS for groups in size.groups
    }
    return {title: load.routed(name, groups).sent for title, (name, groups) in schemes.items()}


def scheme(partitioner: str, groups: int) -> str:
    """The name of a line."""
    return f"{partitioner}, {groups}"


def _gain(draws: Draws[Figures[Case]]) -> Claim:
    def gain(curves: Curves) -> list[float]:
        best = [min(costs) for costs in zip(*curves.values(), strict=True)]
        return [none - least for none, least in zip(curves[NONE], best, strict=True)]

    def gains(figures: Figures[Case]) -> list[list[float]]:
        return [gain(figures[case]) for case in _LONG]

    return draws.judge(
        "The gain over no groups grows with the number of streams.",
        lambda figures: _from_to(gains(figures)),
        lambda figures: all(never_falls(gain) and gain[-1] > gain[0] for gain in gains(figures)),
    )


def _falling(draws: Draws[Figures[Case]], cases: Sequence[Case], known: Known | None) -> Claim:
    ours = cases == _SHORT

    def sinking(figures: Figures[Case]) -> list[bool]:
        curves = [line for case in cases for name, line in figures[case].items() if name != NONE]
        return [line[-1] < line[0] for line in curves]

    return draws.judge(
        f"With groups most costs fall with the number of streams{' (short windows, ours)' if ours else ''}.",
        lambda figures: f"{sum(sinking(figures))} of {len(sinking(figures))} end below where they began",
        lambda figures: sum(sinking(figures)) > len(sinking(figures)) / 2,
        known,
        "corrected" if ours else "paper",
    )


def _rate_is_best(draws: Draws[Figures[Case]], size: Size) -> Claim:
    def best(figures: Figures[Case]) -> list[bool]:
        return [
            figures[case][scheme("rate", groups)][at]
            <= (1 + _NOISE) * min(figures[case][scheme(name, groups)][at] for name in PARTITIONERS)
            for case in _LONG
            for groups in size.groups
            for at in range(len(size.streams))
        ]

    return draws.judge(
        "Groups by rate are best for any number of streams.",
        lambda figures: f"best, give or take 1%, at {sum(best(figures))} of {len(best(figures))} places",
        lambda figures: all(best(figures)),
        partly(_CLUSTERS),
    )


def _ranges_against_hash(
    draws: Draws[Figures[Case]], case: Case, size: Size, *, better: str, known: Known | None
) -> Claim:
    def won(figures: Figures[Case]) -> list[bool]:
        other = "hash" if better == "range" else "range"
        return [
            figures[case][scheme(better, groups)][at] < figures[case][scheme(other, groups)][at]
            for groups in size.groups
            for at in range(len(size.streams))
        ]

    order = "ranges do better than hashing" if better == "range" else "hashing does better than ranges"
    return draws.judge(
        f"{case.hot_spots.capitalize()} hot spots: {order}.",
        lambda figures: f"at {sum(won(figures))} of {len(won(figures))} places",
        lambda figures: all(won(figures)),
        known,
    )


def _from_to(curves: Sequence[Sequence[float]]) -> str:
    return ", ".join(f"{line[0]:.0f} to {line[-1]:.0f} tuples/s" for line in curves)
