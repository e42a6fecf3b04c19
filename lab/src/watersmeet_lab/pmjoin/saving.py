"""Fig. 8: what different plans for groups of values save (Sect. 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.plot.chart import Chart
from watersmeet_lab.papers.claim import Claim, Known, Origin, fails, partly
from watersmeet_lab.papers.draws import Curves, Draws, Figures, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.pmjoin.groups import CASES, WINDOWS, Case, Routing, Size
from watersmeet_lab.pmjoin.planners import panel

# What counts as a large gain, and as a difference that is none.
LARGE = 0.1
NOISE = 0.01

_SETTING = """\
Ten streams, each at its own node, 10 to 1000 tuples/s, {values} values; every group of values is planned by
Algorithm 1. Values are grouped by a hash, by ranges, or by k-means on the order of the streams by rate,
where values with the same order may be torn apart as in the paper. Long windows are those of the paper, 10
to 100 s. Short ones, 0.3 to 3 s, in a plot of their own, are ours. {draws} draws."""
_TWO_GROUPS = """\
The paper gives no figure; we took a tenth for large. Two groups do save something, how much depends on
the workload, and most of the gain comes with more of them."""
_TOO_FULL = """\
Windows of 10 to 100 s hold several tuples of every value, so that joins give more than they take, and the
best plan for every value is to send everything to the fastest stream. Where streams are distributed alike
that is the same stream for nearly all values. With windows of 0.3 to 3 s, ours, there is a gain."""
_NO_DIFFERENCE = """\
With these windows hardly any value has a plan of its own, so the partitioners differ by less than a
percent."""
_LIKE_HASH = """\
Where frequent values are strewn about, a range is as random as a hash. A hash leaves some groups empty,
so with as many groups as values ranges are ahead: they have one value in each."""
_CLUSTERS = """\
K-means starts from values picked at random, and as in the paper spreads values that rank streams alike
over several groups. Both can cost a few percent."""

Sent = Draws[Figures[Case]]


def figure_8(routing: Routing, size: Size) -> Experiment:
    """What is sent."""
    sent = routing.sent
    claims = (
        *_gains(sent, size, "long", fails(_TOO_FULL), fails(_TWO_GROUPS)),
        *_gains(sent, size, "short", None, None),
        _larger_if_different(sent),
        _finer_is_better(sent, [case for case in CASES if case.windows == "long"]),
        *_best_partitioners(sent, size),
    )
    charts = tuple(
        Chart(
            f"fig8_{windows}",
            f"What is sent with groups of values, {windows} windows" + (" (ours)" * (windows == "short")),
            tuple(
                panel(str(case), "groups", lines(sent, case, size.groups), log_x=True)
                for case in CASES
                if case.windows == windows
            ),
        )
        for windows in WINDOWS
    )
    setting = _SETTING.format(draws=size.draws, values=size.values)
    return Experiment("Fig. 8: groups of values", setting, claims, charts)


def saved(curves: Curves, at: int) -> float:
    """Which share of what is sent without groups the best partitioner saves."""
    return max(1 - line[at] / line[0] for line in curves.values())


def percents(shares: Sequence[float]) -> str:
    """Shares in words."""
    return " and ".join(f"{share:.1%}" for share in shares)


def _gains(
    sent: Sent, size: Size, windows: str, similar: Known | None, with_two: Known | None
) -> tuple[Claim, ...]:
    ours = windows == "short"
    note, origin = (" (short windows, ours)" if ours else ""), _origin(ours=ours)

    def gains(figures: Figures[Case], likeness: str, at: int) -> list[float]:
        return [
            saved(curves, at)
            for case, curves in figures.items()
            if (case.windows, case.likeness) == (windows, likeness)
        ]

    return (
        sent.judge(
            f"Similar distributions: a moderate gain{note}.",
            lambda figures: f"{percents(gains(figures, 'similar', -1))} saved with {size.groups[-1]} groups",
            lambda figures: min(gains(figures, "similar", -1)) >= NOISE,
            similar,
            origin,
        ),
        sent.judge(
            f"Different distributions: a large gain with two groups already{note}.",
            lambda figures: f"{percents(gains(figures, 'different', 1))} saved, contiguous and random",
            lambda figures: min(gains(figures, "different", 1)) >= LARGE,
            with_two,
            origin,
        ),
    )


def _larger_if_different(sent: Sent) -> Claim:
    def gains(figures: Figures[Case], likeness: str) -> list[float]:
        wanted = [case for case in figures if (case.windows, case.likeness) == ("long", likeness)]
        return [saved(figures[case], -1) for case in wanted]

    return sent.judge(
        "Different distributions: a larger gain than with similar ones.",
        lambda figures: " against ".join(percents(gains(figures, like)) for like in ("different", "similar")),
        lambda figures: min(gains(figures, "different")) > max(gains(figures, "similar")),
    )


def _origin(*, ours: bool) -> Origin:
    return "corrected" if ours else "paper"


def _finer_is_better(sent: Sent, cases: Sequence[Case]) -> Claim:
    def worse(figures: Figures[Case]) -> float:
        return max(
            line[at] / line[at - 1] - 1
            for case in cases
            for line in figures[case].values()
            for at in range(1, len(line))
        )

    return sent.judge(
        "The more groups, the better.",
        lambda figures: f"from one number of groups to the next at most {max(worse(figures), 0):.1%} more",
        lambda figures: worse(figures) <= NOISE,
    )


def _best_partitioners(sent: Sent, size: Size) -> tuple[Claim, ...]:
    """Which one is best where; ties within a percent count for all."""
    first = Case("long", "contiguous", "similar")
    others = [case for case in CASES if case.windows == "long" and case != first]
    random = Case("long", "random", "different")
    places = range(1, len(size.groups))

    def over_best(figures: Figures[Case], case: Case, name: str, at: int) -> float:
        return figures[case][name][at] / min(line[at] for line in figures[case].values())

    def apart(figures: Figures[Case]) -> float:
        return max(over_best(figures, first, name, at) for name in figures[first] for at in places)

    def by_rate(figures: Figures[Case]) -> list[float]:
        return [over_best(figures, case, "rate", at) for case in others for at in places]

    def best(figures: Figures[Case]) -> int:
        return sum(ratio <= 1 + NOISE for ratio in by_rate(figures))

    def behind(figures: Figures[Case]) -> int:
        return sum(figures[random]["range"][at] > figures[random]["hash"][at] for at in places)

    return (
        sent.judge(
            "Contiguous and similar: ranges are best, groups by rate only where there are two.",
            lambda figures: f"all partitioners are within {apart(figures) - 1:.1%} of the best",
            lambda figures: (
                apart(figures) > 1 + NOISE
                and all(over_best(figures, first, "range", at) <= 1 + NOISE for at in places[1:])
            ),
            fails(_NO_DIFFERENCE),
        ),
        sent.judge(
            "In the three other cases groups by rate are best throughout.",
            lambda figures: (
                f"best, give or take 1%, at {best(figures)} of {len(by_rate(figures))} places, elsewhere at "
                f"most {max(by_rate(figures)) - 1:.1%} behind"
            ),
            lambda figures: best(figures) == len(by_rate(figures)),
            partly(_CLUSTERS),
        ),
        sent.judge(
            "In the three other cases groups by rate are best at three of four places.",
            lambda figures: f"best, give or take 1%, at {best(figures)} of {len(by_rate(figures))} places",
            lambda figures: best(figures) >= 0.75 * len(by_rate(figures)),
            origin="corrected",
        ),
        sent.judge(
            "Random hot spots: ranges are worse than a hash.",
            lambda figures: (
                f"worse at {behind(figures)} of {len(places)} places with different distributions"
            ),
            lambda figures: behind(figures) == len(places),
            fails(_LIKE_HASH),
        ),
    )
