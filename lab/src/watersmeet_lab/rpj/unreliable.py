"""Fig. 10: rows come with gaps of up to 30 ms, and tasks run after 25 ms of silence."""

from __future__ import annotations

from watersmeet_lab.papers.claim import fails
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.rpj.curves import (
    FIVE_TIMES,
    MARKS,
    SAME_SPEED,
    Found,
    Measured,
    ahead,
    chart,
    last,
    listed,
    measured,
)
from watersmeet_lab.rpj.setting import CASES, LOOKS, MORE_LOOKS, Runs

RPJ, OTHERS = "RPJ", ("HMJ", "XJoin")
COMPARED = (RPJ, *OTHERS)
# What "most of the results" and "about 20%" are taken to mean.
_MOST, _ABOUT_20 = 50.0, (10.0, 30.0)

_SETTING = """\
Gaps between rows are 1 to 30 ms, by a Zipf distribution with which the last row comes when it does in the
paper. After 25 ms of silence a task begins, and runs to its end; rows that come meanwhile wait. (The next row
is at most 5 ms away then, so if tasks were left off when it comes hardly anything could be done. The paper
does not say.) RPJ flushes a tenth of memory at a time, and merges eight runs of a side at once: see the last
section. HMJ looks for rows after each partition it has merged, in the paper after all of them.

All curves rise with the square of the rows, so a second plot has results in percent of those that the rows
have that have arrived so far."""

_ALL_FIND = """\
With tasks that run to their end, silences are long enough for XJoin and HMJ as well, also at the paper's
size. XJoin scans for its largest partition, which is the next to be flushed: so what is flushed has just met
all that is on disk, and few pairs stay unseen. HMJ merges a partition whenever something new of it is on
disk, and lacks little more than what rows in memory have with those on disk. Both have nearly all that can be
known, so there is little to gain for RPJ. The paper's 20% are nearer to what XJoin and HMJ find in memory
alone, without any task (Fig. 8)."""

_BOTH_NEAR = """\
Both have found nearly all there is, though in different ways, and in (a) they are as good as equal."""


def progress(runs: Runs, tracker: Tracker) -> Experiment:
    """Results over time."""
    reliable = measured(runs, COMPARED, tracker, reliable=True)
    return judged(measured(runs, COMPARED, tracker, reliable=False), reliable)


def judged(found: Measured, reliable: Measured) -> Experiment:
    """Hold the paper's claims against the figures."""

    def lead(f: Found, case: str) -> float:
        return last(f, "results", case, RPJ) - max(last(f, "results", case, other) for other in OTHERS)

    def at_marks(f: Found) -> str:
        return "; ".join(
            f"{case[:3]} "
            + ", ".join(
                f"{name} " + "/".join(f"{f['results', case][name][mark]:.1f}" for mark in MARKS)
                for name in COMPARED
            )
            for case in CASES
        )

    def before(f: Found, name: str, case: str) -> float:
        return last(f, "before clean-up", case, name)

    claims = (
        found.draws.judge(
            "RPJ has more results than HMJ and XJoin when 25%, 50% and 75% of the time have passed.",
            lambda f: at_marks(f) + "%",
            lambda f: all(ahead(f, case, RPJ, OTHERS, MARKS) for case in CASES),
        ),
        found.draws.judge(
            "RPJ is further ahead than with a reliable network.",
            lambda f: (
                ", ".join(
                    f"{case[:3]} {lead(f, case):.1f} instead of {lead(reliable.draws.together, case):.1f}"
                    for case in CASES
                )
                + " points with the last row"
            ),
            lambda f: all(lead(f, case) > lead(reliable.draws.together, case) for case in CASES),
            fails(_ALL_FIND),
        ),
        found.draws.judge(
            "Before the clean-up RPJ has most of the results.",
            lambda f: listed(f, "before clean-up", (RPJ,), ".1f") + "%",
            lambda f: all(before(f, RPJ, case) > _MOST for case in CASES),
        ),
        found.draws.judge(
            "The others have about 20% then (10% to 30%).",
            lambda f: listed(f, "before clean-up", OTHERS, ".1f") + "%",
            lambda f: all(
                _ABOUT_20[0] <= before(f, name, case) <= _ABOUT_20[1] for name in OTHERS for case in CASES
            ),
            fails(_ALL_FIND),
        ),
        found.draws.judge(
            "HMJ has more than XJoin then: relations of the same speed.",
            lambda f: _two(f, SAME_SPEED),
            lambda f: all(before(f, "HMJ", case) > before(f, "XJoin", case) for case in SAME_SPEED),
            fails(_BOTH_NEAR),
        ),
        found.draws.judge(
            "HMJ has more than XJoin then: one relation five times as fast.",
            lambda f: _two(f, FIVE_TIMES),
            lambda f: all(before(f, "HMJ", case) > before(f, "XJoin", case) for case in FIVE_TIMES),
        ),
    )
    results = chart(
        "fig10",
        "Results over time, unreliable network",
        found,
        "results",
        "results (% of all)",
        looks=slice(1, LOOKS + MORE_LOOKS // 2, 2),
    )
    known = chart(
        "known",
        "Results known of those that rows have that have arrived, unreliable network",
        found,
        "known",
        "results (% of possible)",
        looks=slice(1, LOOKS, 2),
    )
    return Experiment("Fig. 10: unreliable network, results", _SETTING, claims, (results, known))


def _two(found: Found, cases: tuple[str, ...]) -> str:
    return "; ".join(
        f"{case[:3]} HMJ {last(found, 'before clean-up', case, 'HMJ'):.1f}%, "
        f"XJoin {last(found, 'before clean-up', case, 'XJoin'):.1f}%"
        for case in cases
    )
