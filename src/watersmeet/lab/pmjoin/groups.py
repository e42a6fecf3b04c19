"""Fig. 8 and 9: what different plans for groups of values save, and what routing they need (Sect. 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.lab.papers.chart import Chart, Line, Panel
from watersmeet.lab.papers.claim import Claim
from watersmeet.lab.papers.page import Experiment
from watersmeet.lab.papers.tracker import Tracker
from watersmeet.lab.pmjoin.heuristic import Y_LABEL, panel
from watersmeet.lab.pmjoin.partitioned import PARTITIONERS, VALUES, Routed, mean_routed, workload
from watersmeet.lab.pmjoin.workload import LONG, SHORT, HotSpots, Likeness, generator

STREAMS = 10

# What counts as a large gain, as a difference that is none, and as little.
_LARGE = 0.1
_NOISE = 0.01
_LITTLE = 0.05


@dataclass(frozen=True, slots=True)
class Size:
    """How much is computed.

    Attributes:
        groups: Numbers of groups; the first is 1.
        draws: How many random workloads are averaged.
        values: How many values there are.
    """

    groups: tuple[int, ...] = (1, 2, 5, 10, 50, 200, 1000)
    draws: int = 1
    values: int = VALUES


FULL = Size(groups=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), draws=10)


class Case(NamedTuple):
    """Which streams."""

    windows: str
    hot_spots: HotSpots
    likeness: Likeness

    def __str__(self) -> str:
        return f"{self.hot_spots} hot spots, {self.likeness} distributions"


# What is routed, by case, partitioner and number of groups.
Found = Mapping[Case, Mapping[str, Sequence[Routed]]]

WINDOWS = {"long": LONG, "short": SHORT}
CASES: tuple[Case, ...] = tuple(
    Case(windows, hot_spots, likeness)
    for windows in ("long", "short")
    for hot_spots in ("contiguous", "random")
    for likeness in ("similar", "different")
)

_SETTING_8 = """\
Ten streams, each at its own node, 10 to 1000 tuples/s, 1000 values; every group of values is planned by
Algorithm 1. Values are grouped by a hash, by ranges, or by k-means on the order of the streams by rate,
where values with the same order may be torn apart as in the paper. Windows of 10 to 100 s as in the
paper, and, in a second plot that is ours, of 0.3 to 3 s. Mean of {draws} random workload(s)."""
_SETTING_9 = """\
The paper measured CPU time for routing and explains it by the number of tuples that are routed. That
number is counted here from the plans of Fig. 8: tuples that go to another node, each once for every time
it is sent (what Fig. 8 shows). Beside it, how many tuples a way has to be found for at all: those of
sources and intermediate results, sent or joined where they are. Windows of 0.3 to 3 s are ours. Groups by
rate are shown."""
_OF_OTHER_KIND = """\
With short windows plans differ from value to value even where distributions are alike."""
_TWO_GROUPS = """\
The paper gives no figure; we took a tenth for large. Two groups do save something, how much depends on
the workload, and most of the gain comes with five to ten."""
_INTERMEDIATE = """\
Plans that send less have more intermediate results, and each of these needs a way too. The count says
nothing about what one look-up takes."""
_TOO_FULL = """\
Windows of 10 to 100 s hold several tuples of every value, so that joins give more than they take, and the
best plan for every value is to send everything to the fastest stream. Where streams are distributed alike
that is the same stream for nearly all values. With windows of 0.3 to 3 s there is a gain."""
_NO_DIFFERENCE = """\
With these windows hardly any value has a plan of its own, so the partitioners differ by less than a
percent."""
_LIKE_HASH = """\
Where frequent values are strewn about, a range is as random as a hash. A hash leaves some groups empty,
so with as many groups as values ranges are ahead: they have one value in each."""
_CLUSTERS = """\
K-means starts from values picked at random, and as in the paper spreads values that rank streams alike
over several groups. Both can cost a few percent. Keeping such values together, which by_rate does unless
told otherwise, was best at two of three such places that we looked at."""


def routed_by_groups(size: Size, seed: int, tracker: Tracker) -> dict[Case, dict[str, list[Routed]]]:
    """All cases, partitioners and numbers of groups."""
    found: dict[Case, dict[str, list[Routed]]] = {}
    for case in tracker.each(CASES):
        draws = [
            workload(
                STREAMS,
                STREAMS,
                case.likeness,
                case.hot_spots,
                WINDOWS[case.windows],
                generator(seed, 8, draw),
                size.values,
            )
            for draw in range(size.draws)
        ]
        found[case] = {
            name: [mean_routed([draw.routed(name, groups) for draw in draws]) for groups in size.groups]
            for name in PARTITIONERS
        }
    return found


def figure_8(found: Found, size: Size) -> Experiment:
    """What is sent."""
    claims = []
    for windows in WINDOWS:
        ours = windows == "short"
        similar = [case for case in CASES if case.windows == windows and case.likeness == "similar"]
        different = [case for case in CASES if case.windows == windows and case.likeness == "different"]
        note = " (short windows)" if ours else ""
        gains = [saved(found[case], -1) for case in similar]
        more = [saved(found[case], -1) for case in different]
        at_two = [saved(found[case], 1) for case in different]
        claims += [
            Claim(
                f"Similar distributions: a moderate gain{note}.",
                f"{_percents(gains)} saved with {size.groups[-1]} groups",
                min(gains) >= _NOISE,
                "" if ours else _TOO_FULL,
                "corrected" if ours else "paper",
            ),
            Claim(
                f"Different distributions: a larger gain than with similar ones{note}.",
                f"{_percents(more)} against {_percents(gains)}",
                min(more) > max(gains),
                _OF_OTHER_KIND if ours else "",
                "corrected" if ours else "paper",
            ),
            Claim(
                f"Different distributions: a large gain with two groups already{note}.",
                f"{_percents(at_two)} saved, contiguous and random",
                min(at_two) >= _LARGE,
                _TWO_GROUPS,
                "corrected" if ours else "paper",
            ),
        ]
    long = [case for case in CASES if case.windows == "long"]
    claims.append(_finer_is_better(found, long))
    claims += _best_partitioners(found, size)
    charts = tuple(
        Chart(
            f"fig8_{windows}",
            f"What is sent with groups of values, {windows} windows",
            tuple(
                panel(str(case), "groups", size.groups, _sent(found[case]), log_x=True)
                for case in CASES
                if case.windows == windows
            ),
        )
        for windows in WINDOWS
    )
    setting = _SETTING_8.format(draws=size.draws)
    return Experiment("Fig. 8: groups of values", setting, tuple(claims), charts)


def figure_9(found: Found, size: Size) -> Experiment:
    """What is routed."""
    long = [case for case in CASES if case.windows == "long"]
    cells = [
        (lines[name][0].sent, routed.sent)
        for case in long
        for name, lines in ((name, found[case]) for name in PARTITIONERS)
        for routed in lines[name][1:]
    ]
    lower = sum(after < before for before, after in cells)
    different = [case for case in long if case.likeness == "different"]
    gains = [saved(found[case], -1) for case in different]
    by_rate = [
        (found[case]["rate"][at].sent, found[case]["hash"][at].sent)
        for case in different
        for at in range(1, len(size.groups))
    ]
    ahead = sum(rate <= hashed for rate, hashed in by_rate)
    claims = (
        Claim(
            "With groups fewer tuples are routed than without, most of the time.",
            f"fewer are sent in {lower} of {len(cells)} places",
            lower > len(cells) / 2,
            _TOO_FULL,
        ),
        Claim(
            "Much fewer with different distributions.",
            f"{_percents(gains)} fewer are sent with {size.groups[-1]} groups",
            min(gains) >= _LARGE,
        ),
        Claim(
            "Better partitioning saves more routing.",
            f"groups by rate send at most as much as groups by hash in {ahead} of {len(by_rate)} places with "
            "different distributions",
            ahead >= 0.9 * len(by_rate),
        ),
        *(_looked_up(found, windows) for windows in WINDOWS),
    )
    panels = []
    for case in CASES:
        lines = found[case]["rate"]
        series = {"sent": [each.sent for each in lines], "looked up": [each.looked_up for each in lines]}
        panels.append(
            Panel(
                f"{case.hot_spots}, {case.likeness}, {case.windows} windows",
                "groups",
                Y_LABEL.replace("sent", "routed"),
                tuple(Line(name, tuple(map(float, size.groups)), tuple(ys)) for name, ys in series.items()),
                log_x=True,
            )
        )
    chart = Chart("fig9", "Tuples routed with groups of values by rate", tuple(panels))
    return Experiment("Fig. 9: routing", _SETTING_9, claims, (chart,))


def _looked_up(found: Found, windows: str) -> Claim:
    changes = [
        routed.looked_up / lines[0].looked_up - 1
        for case in CASES
        if case.windows == windows
        for lines in found[case].values()
        for routed in lines
    ]
    return Claim(
        f"Counting every tuple a way has to be found for, groups hardly need more ({windows} windows).",
        f"{min(changes):+.1%} to {max(changes):+.1%}",
        max(changes) <= _LITTLE,
        _INTERMEDIATE,
        "corrected",
    )


def saved(lines: Mapping[str, Sequence[Routed]], at: int) -> float:
    """Which share of what is sent without groups the best partitioner saves."""
    return max(1 - line[at].sent / line[0].sent for line in lines.values())


def _finer_is_better(found: Found, cases: Sequence[Case]) -> Claim:
    steps = [
        (line[at - 1].sent, line[at].sent)
        for case in cases
        for line in found[case].values()
        for at in range(1, len(line))
    ]
    worse = max(after / before - 1 for before, after in steps)
    return Claim(
        "The more groups, the better.",
        f"from one number of groups to the next at most {max(worse, 0):.1%} more is sent",
        worse <= _NOISE,
    )


def _best_partitioners(found: Found, size: Size) -> list[Claim]:
    """Which one is best where; ties within a percent count for all."""

    def wins(case: Case, name: str, *, start: int = 1) -> int:
        return sum(
            found[case][name][at].sent <= (1 + _NOISE) * min(line[at].sent for line in found[case].values())
            for at in range(start, len(size.groups))
        )

    places = len(size.groups) - 1
    first = Case("long", "contiguous", "similar")
    apart = max(
        max(line[at].sent for line in found[first].values())
        / min(line[at].sent for line in found[first].values())
        for at in range(len(size.groups))
    )
    others = [case for case in CASES if case.windows == "long" and case != first]
    by_rate = [wins(case, "rate") for case in others]
    behind_best = max(
        found[case]["rate"][at].sent / min(line[at].sent for line in found[case].values())
        for case in others
        for at in range(1, len(size.groups))
    )
    random = Case("long", "random", "different")
    behind = sum(
        found[random]["range"][at].sent > found[random]["hash"][at].sent for at in range(1, places + 1)
    )
    return [
        Claim(
            "Contiguous and similar: ranges are best, groups by rate only where there are two.",
            f"all partitioners are within {apart - 1:.1%} of each other",
            apart > 1 + _NOISE and wins(first, "range", start=2) == places - 1,
            _NO_DIFFERENCE,
        ),
        Claim(
            "In the three other cases groups by rate are best throughout.",
            f"best, give or take 1%, at {sum(by_rate)} of {places * len(others)} places, elsewhere at most "
            f"{behind_best - 1:.1%} behind",
            sum(by_rate) == places * len(others),
            _CLUSTERS,
        ),
        Claim(
            "Random hot spots: ranges are worse than a hash.",
            f"worse at {behind} of {places} places with different distributions",
            behind == places,
            _LIKE_HASH,
        ),
    ]


def _sent(lines: Mapping[str, Sequence[Routed]]) -> dict[str, list[float]]:
    return {name: [routed.sent for routed in line] for name, line in lines.items()}


def _percents(shares: Sequence[float]) -> str:
    return " and ".join(f"{share:.1%}" for share in shares)
