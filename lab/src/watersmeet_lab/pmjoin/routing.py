"""Fig. 9: what routing the plans for groups of values need (Sect. 4.2)."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.plot.chart import Chart, Panel
from watersmeet_lab.papers.claim import Claim, Known, partly
from watersmeet_lab.papers.draws import Figures, lines
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.pmjoin.groups import CASES, Case, Routing, Size
from watersmeet_lab.pmjoin.saving import LARGE, percents, saved

# What counts as hardly more, and as nearly everywhere.
_LITTLE = 0.05
_NEARLY_ALL = 0.9

_SETTING = """\
The paper measured CPU time for routing and explains it by the number of tuples that are routed. That
number is counted here from the plans of Fig. 8: tuples that go to another node, each once for every time
it is sent (what Fig. 8 shows). Beside it, how many tuples a way has to be found for at all: those of
sources and intermediate results, sent or joined where they are. Short windows, 0.3 to 3 s, are ours. Groups
by rate are shown. {draws} draws."""
_INTERMEDIATE = """\
Plans that send less have more intermediate results, and each of these needs a way too. The count says
nothing about what one look-up takes."""

_LONG = [case for case in CASES if case.windows == "long"]
_DIFFERENT = [case for case in _LONG if case.likeness == "different"]


def figure_9(routing: Routing, size: Size) -> Experiment:
    """What is routed."""

    def fewer(figures: Figures[Case]) -> list[bool]:
        return [after < line[0] for case in _LONG for line in figures[case].values() for after in line[1:]]

    def gains(figures: Figures[Case]) -> list[float]:
        return [saved(figures[case], -1) for case in _DIFFERENT]

    def ahead(figures: Figures[Case]) -> list[bool]:
        return [
            rate <= hashed
            for case in _DIFFERENT
            for rate, hashed in zip(figures[case]["rate"][1:], figures[case]["hash"][1:], strict=True)
        ]

    claims = (
        routing.sent.judge(
            "With groups fewer tuples are routed than without, most of the time.",
            lambda figures: f"fewer are sent in {sum(fewer(figures))} of {len(fewer(figures))} places",
            lambda figures: sum(fewer(figures)) > len(fewer(figures)) / 2,
        ),
        routing.sent.judge(
            "Much fewer with different distributions.",
            lambda figures: f"{percents(gains(figures))} fewer are sent with {size.groups[-1]} groups",
            lambda figures: min(gains(figures)) >= LARGE,
        ),
        routing.sent.judge(
            "Better partitioning saves more routing.",
            lambda figures: (
                f"groups by rate send at most as much as groups by hash in {sum(ahead(figures))} of "
                f"{len(ahead(figures))} places with different distributions"
            ),
            lambda figures: sum(ahead(figures)) >= _NEARLY_ALL * len(ahead(figures)),
        ),
        _looked_up(routing, "long", None),
        _looked_up(routing, "short", partly(_INTERMEDIATE)),
    )
    chart = Chart(
        "fig9",
        "Tuples routed with groups of values by rate",
        tuple(_panel(routing, case, size) for case in CASES),
    )
    setting = _SETTING.format(draws=size.draws)
    return Experiment("Fig. 9: routing", setting, claims, (chart,))


def _looked_up(routing: Routing, windows: str, known: Known | None) -> Claim:
    def changes(figures: Figures[Case]) -> list[float]:
        return [
            after / line[0] - 1
            for case, curves in figures.items()
            if case.windows == windows
            for line in curves.values()
            for after in line
        ]

    note = "short windows, ours" if windows == "short" else "long windows"
    return routing.looked_up.judge(
        f"Counting every tuple a way has to be found for, groups hardly need more ({note}).",
        lambda figures: f"{min(changes(figures)):+.1%} to {max(changes(figures)):+.1%}",
        lambda figures: max(changes(figures)) <= _LITTLE,
        known,
        "corrected",
    )


def _panel(routing: Routing, case: Case, size: Size) -> Panel:
    both = [
        replace(line, name=name)
        for name, draws in (("sent", routing.sent), ("looked up", routing.looked_up))
        for line in lines(draws, case, size.groups)
        if line.name == "rate"
    ]
    ours = " (ours)" if case.windows == "short" else ""
    title = f"{case.hot_spots}, {case.likeness}, {case.windows} windows{ours}"
    return Panel(title, "groups", "tuples routed (1/s)", tuple(both), log_x=True)
