"""What the paper leaves open: how many runs are merged at a time, and how much is flushed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from watersmeet.plot.chart import Table
from watersmeet.sim.progressive.run import FAN_IN, FLUSHED
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.rpj.curves import MARKS
from watersmeet_lab.rpj.setting import CASES, LOOKS, Run, Runs

CASE = next(iter(CASES))
# Runs of a side merged at a time, and shares of memory flushed at a time.
FAN_INS, SHARES = (2, FAN_IN, 32), (0.05, FLUSHED, 0.2)
# The others have no share, and merge few runs.
OTHERS = ("XJoin", "HMJ")
HEAD = ("25%", "50%", "75%", "last row", "disk busy")

_SETTING = """\
Unreliable network, harmony, relations of the same speed: results in percent of all when so much of the time
has passed, and how much of it the disk works. RPJ is run with other numbers of runs merged at a time (f), and
other shares of memory flushed at a time; everywhere else on this page f is {fan_in}, and {flushed:.0%} are
flushed.

The paper has f = 2 in its examples, with 6 pages of memory. RPJ flushes many small partitions at a time, so
there are hundreds of runs; merged two by two, a partition is read and written nine times. Of the paper's 1000
pages the rows that fit leave 19, which is enough for f = {fan_in}."""


def named(fan_in: int, flushed: float) -> str:
    """What a row of the table is called."""
    return f"RPJ, f = {fan_in}, {flushed:.0%} flushed"


def variants() -> list[tuple[str, int, float]]:
    """RPJ with one figure changed."""
    pairs = [*((fan_in, FLUSHED) for fan_in in FAN_INS), *((FAN_IN, share) for share in SHARES)]
    return [(named(*pair), *pair) for pair in dict.fromkeys(pairs)]


def left_open(runs: Runs, tracker: Tracker) -> Experiment:
    """Run them."""
    wanted = [_wanted(draw) for draw in runs.draws]
    runs.make([run for draw in wanted for run in draw.values()], tracker)
    each = [{"results": {name: _row(runs, run) for name, run in draw.items()}} for draw in wanted]
    return judged(averaged(each))


def _wanted(draw: int) -> dict[str, Run]:
    usual = {name: Run(name, CASE, reliable=False, draw=draw) for name in ("RPJ", *OTHERS)}
    found = {name: replace(usual["RPJ"], fan_in=fan_in, flushed=share) for name, fan_in, share in variants()}
    return found | {name: usual[name] for name in OTHERS}


def _row(runs: Runs, run: Run) -> Sequence[float]:
    course = runs[run]
    busy = 100 * course.disk / course.seconds[LOOKS - 1]
    return [*(course.results[look] for look in (*MARKS, LOOKS - 1)), busy]


def judged(draws: Draws[Figures[str]]) -> Experiment:
    """What comes of it."""
    rows = tuple(
        (name, *(f"{figure:.1f}%" for figure in figures))
        for name, figures in draws.together["results"].items()
    )

    def late(f: Figures[str], name: str) -> float:
        """Results when three quarters of the time have passed."""
        return f["results"][name][2]

    few, usual, many = (named(fan_in, FLUSHED) for fan_in in FAN_INS)
    little = named(FAN_IN, SHARES[0])
    claims = (
        draws.judge(
            "With f = 2 RPJ is behind XJoin after 75% of the time.",
            lambda f: f"{late(f, few):.1f}% and {late(f, 'XJoin'):.1f}%",
            lambda f: late(f, few) < late(f, "XJoin"),
            origin="measured",
        ),
        draws.judge(
            "The more runs are merged at a time, the more results RPJ has then.",
            lambda f: ", ".join(f"{late(f, name):.1f}%" for name in (few, usual, many)),
            lambda f: late(f, few) < late(f, usual) < late(f, many),
            origin="measured",
        ),
        draws.judge(
            "The less is flushed at a time, the more the disk works.",
            lambda f: ", ".join(f"{f['results'][named(FAN_IN, share)][-1]:.0f}%" for share in SHARES),
            lambda f: (
                f["results"][little][-1]
                > f["results"][usual][-1]
                > f["results"][named(FAN_IN, SHARES[2])][-1]
            ),
            origin="measured",
        ),
    )
    setting = _SETTING.format(fan_in=FAN_IN, flushed=FLUSHED)
    table = Table("left_open", ("", *HEAD), rows)
    return Experiment("What the paper leaves open", setting, claims, tables=(table,))
