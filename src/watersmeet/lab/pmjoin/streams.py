"""Fig. 10: groups of values with more and more streams (Sect. 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.lab.papers.chart import Chart
from watersmeet.lab.papers.claim import Claim, grows, never_falls
from watersmeet.lab.papers.page import Experiment
from watersmeet.lab.papers.tracker import Tracker
from watersmeet.lab.pmjoin.groups import WINDOWS
from watersmeet.lab.pmjoin.heuristic import panel
from watersmeet.lab.pmjoin.partitioned import PARTITIONERS, VALUES, mean_routed, workload
from watersmeet.lab.pmjoin.workload import HotSpots, generator

NONE = "none"
_NOISE = 0.01


@dataclass(frozen=True, slots=True)
class Size:
    """How much is computed.

    Attributes:
        streams: Numbers of streams.
        groups: Numbers of groups, beside none.
        draws: How many random workloads are averaged.
        values: How many values there are.
    """

    streams: tuple[int, ...] = (4, 7, 10)
    groups: tuple[int, ...] = (500, 1000)
    draws: int = 1
    values: int = VALUES


FULL = Size(streams=(2, 4, 6, 8, 10, 12), draws=5)


class Case(NamedTuple):
    """Which streams."""

    windows: str
    hot_spots: HotSpots

    def __str__(self) -> str:
        return f"{self.hot_spots} hot spots, {self.windows} windows"


CASES: tuple[Case, ...] = tuple(
    Case(windows, hot_spots) for windows in WINDOWS for hot_spots in ("contiguous", "random")
)
# What is sent, by scheme (a partitioner and a number of groups, or none) and number of streams.
Sent = Mapping[str, Sequence[float]]

_SETTING = """\
As many streams as the axis says, each at its own node, distributed differently; 10 to 1000 tuples/s, 1000
values, with long windows (10 to 100 s, the paper's) and short ones (0.3 to 3 s, ours). Streams are added
one by one. Mean of {draws} random workload(s)."""
_TOO_FULL = """\
Windows of 10 to 100 s hold several tuples of every value. Each further stream then makes results faster,
not rarer, and has to be sent itself. The paper's reason, that more streams make the join more selective,
needs windows that hold less than one tuple of a value: with those of 0.3 to 3 s most costs do fall."""
_LIKE_HASH = """\
Where frequent values are strewn about, a range is as random as a hash, and a hash leaves some groups
empty: ranges are never behind."""


def figure_10(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """What is sent by the number of streams."""
    found: dict[Case, dict[str, list[float]]] = {case: {} for case in CASES}
    for case, count in tracker.each([(case, count) for case in CASES for count in size.streams]):
        for scheme, sent in sent_by_scheme(case, count, size, seed).items():
            found[case].setdefault(scheme, []).append(sent)
    long, short = ([case for case in CASES if case.windows == windows] for windows in WINDOWS)
    claims = [
        _gain(found, long),
        Claim(
            "Without groups the cost rises with the number of streams.",
            ", ".join(f"{found[case][NONE][0]:.0f} to {found[case][NONE][-1]:.0f} tuples/s" for case in long),
            all(grows(found[case][NONE]) for case in long),
        ),
        _falling(found, long, "paper"),
        _falling(found, short, "corrected"),
        _rate_is_best(found, long, size),
        _ranges_against_hash(found, long[0], size, better="range"),
        _ranges_against_hash(found, long[1], size, better="hash"),
    ]
    panels = tuple(panel(str(case), "streams", size.streams, found[case]) for case in CASES)
    chart = Chart("fig10", "What is sent with groups of values, by the number of streams", panels)
    setting = _SETTING.format(draws=size.draws)
    return Experiment("Fig. 10: groups of values, number of streams", setting, tuple(claims), (chart,))


def sent_by_scheme(case: Case, count: int, size: Size, seed: int) -> dict[str, float]:
    """Every partitioner with every number of groups."""
    draws = [
        workload(
            count,
            max(size.streams),
            "different",
            case.hot_spots,
            WINDOWS[case.windows],
            generator(seed, 10, draw),
            size.values,
        )
        for draw in range(size.draws)
    ]
    schemes = {NONE: ("range", 1)} | {
        scheme(name, groups): (name, groups) for name in PARTITIONERS for groups in size.groups
    }
    return {
        title: mean_routed([draw.routed(name, groups) for draw in draws]).sent
        for title, (name, groups) in schemes.items()
    }


def scheme(partitioner: str, groups: int) -> str:
    """The name of a line."""
    return f"{partitioner}, {groups}"


def _gain(found: Mapping[Case, Sent], cases: Sequence[Case]) -> Claim:
    gains = []
    for case in cases:
        best = [min(costs) for costs in zip(*found[case].values(), strict=True)]
        gains.append([none - least for none, least in zip(found[case][NONE], best, strict=True)])
    return Claim(
        "The gain over no groups grows with the number of streams.",
        ", ".join(f"{gain[0]:.0f} to {gain[-1]:.0f} tuples/s" for gain in gains),
        all(never_falls(gain) and gain[-1] > gain[0] for gain in gains),
    )


def _falling(found: Mapping[Case, Sent], cases: Sequence[Case], origin: str) -> Claim:
    lines = [line for case in cases for name, line in found[case].items() if name != NONE]
    sinking = sum(line[-1] < line[0] for line in lines)
    corrected = origin == "corrected"
    return Claim(
        "With groups most costs fall with the number of streams"
        + (" (short windows)." if corrected else "."),
        f"{sinking} of {len(lines)} end below where they began",
        sinking > len(lines) / 2,
        "" if corrected else _TOO_FULL,
        "corrected" if corrected else "paper",
    )


def _rate_is_best(found: Mapping[Case, Sent], cases: Sequence[Case], size: Size) -> Claim:
    places = [
        (
            found[case][scheme("rate", groups)][at],
            min(found[case][scheme(n, groups)][at] for n in PARTITIONERS),
        )
        for case in cases
        for groups in size.groups
        for at in range(len(size.streams))
    ]
    best = sum(rate <= (1 + _NOISE) * least for rate, least in places)
    return Claim(
        "Groups by rate are best for any number of streams.",
        f"best, give or take 1%, at {best} of {len(places)} places",
        best == len(places),
    )


def _ranges_against_hash(found: Mapping[Case, Sent], case: Case, size: Size, *, better: str) -> Claim:
    pairs = [
        (found[case][scheme("range", groups)][at], found[case][scheme("hash", groups)][at])
        for groups in size.groups
        for at in range(len(size.streams))
    ]
    order = "ranges do better than hashing" if better == "range" else "hashing does better than ranges"
    won = sum((ours < theirs) if better == "range" else (theirs < ours) for ours, theirs in pairs)
    return Claim(
        f"{case.hot_spots.capitalize()} hot spots: {order}.",
        f"at {won} of {len(pairs)} places",
        won == len(pairs),
        _LIKE_HASH if better == "hash" else "",
    )
