"""Fig. 11 and 12: RPJ, RPJ that only merges (RPJ-dd), and RPJ that only scans (RPJ-md)."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet_lab.papers.claim import fails
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.rpj.curves import (
    FIVE_TIMES,
    MARKS,
    OVERFLOWN,
    SAME_SPEED,
    Found,
    Measured,
    ahead,
    chart,
    last,
    listed,
    measured,
)
from watersmeet_lab.rpj.setting import CASES, LOOKS, Runs

RPJ, MERGES, SCANS = "RPJ", "RPJ-dd", "RPJ-md"
VARIANTS = (RPJ, MERGES, SCANS)
# What a "surge" is taken to mean: so many times what is highest of the others.
_SURGE = 1.5

_FIG11 = """\
The same rows as in Fig. 10, and two versions of RPJ: RPJ-md only scans for rows in memory (md-tasks), RPJ-dd
only merges what is on disk (dd-tasks). The clean-up is left out, as in the paper."""

_FIG12 = """\
The same runs: how long the disk has worked, for each result found so far."""

_GREEDY = """\
In (a) RPJ-dd is a little ahead for a while. RPJ takes the task with most results per second, mostly a short
scan. Where silences are rarer than the disk could use, as in this workload, a long merge would be worth more,
since it finds more in the one silence there is. At the paper's size RPJ is ahead all the time."""

_FEW_MERGES = """\
Where one relation is five times as fast, RPJ keeps rows of the slower one in memory, since they find more
partners there: in (d) nine of ten. They stay for long, and what they have in common with rows on disk only a
scan can find. Merges have nothing to do with them until they are flushed."""

_DEAR_MERGES = """\
It falls from its highest on, but not as far. Every merge reads and writes all of a partition with a move of
the arm for each page, as in the formula of Sect. 5.3; a scan reads most pages after one another, at a tenth
of the time. What disk the paper has is not said."""


def progress(runs: Runs, tracker: Tracker) -> Experiment:
    """Fig. 11: results over time."""
    return judged_progress(measured(runs, VARIANTS, tracker, reliable=False))


def cost(runs: Runs, tracker: Tracker) -> Experiment:
    """Fig. 12: disk time per result."""
    return judged_cost(measured(runs, VARIANTS, tracker, reliable=False))


def judged_progress(found: Measured) -> Experiment:
    """Hold the paper's claims about results against the figures."""

    def more_by_merges(f: Found, cases: Sequence[str]) -> bool:
        return all(last(f, "results", case, MERGES) > last(f, "results", case, SCANS) for case in cases)

    def at_marks(f: Found, case: str) -> str:
        curves = f["results", case]
        return ", ".join(
            f"{name} " + "/".join(f"{curves[name][mark]:.1f}" for mark in MARKS) for name in VARIANTS
        )

    def both(f: Found, cases: Sequence[str]) -> str:
        return "; ".join(
            f"{case[:3]} "
            + ", ".join(f"{name} {last(f, 'results', case, name):.1f}%" for name in (MERGES, SCANS))
            for case in cases
        )

    claims = (
        found.draws.judge(
            "RPJ has most results when the last row comes.",
            lambda f: listed(f, "results", VARIANTS, ".1f") + "%",
            lambda f: all(ahead(f, case, RPJ, (MERGES, SCANS), [LOOKS - 1]) for case in CASES),
        ),
        found.draws.judge(
            "And when 50% and 75% of the time have passed.",
            lambda f: "; ".join(f"{case[:3]} {at_marks(f, case)}" for case in CASES) + "%",
            lambda f: all(ahead(f, case, RPJ, (MERGES, SCANS), MARKS[1:]) for case in CASES),
            fails(_GREEDY),
        ),
        found.draws.judge(
            "RPJ-dd has more than RPJ-md with the last row: relations of the same speed.",
            lambda f: both(f, SAME_SPEED),
            lambda f: more_by_merges(f, SAME_SPEED),
        ),
        found.draws.judge(
            "RPJ-dd has more than RPJ-md with the last row: one relation five times as fast.",
            lambda f: both(f, FIVE_TIMES),
            lambda f: more_by_merges(f, FIVE_TIMES),
            fails(_FEW_MERGES),
        ),
    )
    caption, shown = "Results over time of RPJ's variants", slice(1, LOOKS, 2)
    plot = chart("fig11", caption, found, "results", "results (% of all)", looks=shown)
    return Experiment("Fig. 11: variants of RPJ, results", _FIG11, claims, (plot,))


def judged_cost(found: Measured) -> Experiment:
    """Hold the paper's claims about costs against the figures."""

    def highest(f: Found, case: str, name: str) -> float:
        return max(f["cost", case][name][:LOOKS])

    claims = (
        found.draws.judge(
            f"The cost of RPJ-dd surges: to more than {_SURGE} times the highest of the others.",
            lambda f: (
                "; ".join(
                    f"{case[:3]} " + ", ".join(f"{name} {highest(f, case, name):.0f}" for name in VARIANTS)
                    for case in CASES
                )
                + " µs at most"
            ),
            lambda f: all(
                highest(f, case, MERGES) > _SURGE * max(highest(f, case, name) for name in (RPJ, SCANS))
                for case in CASES
            ),
        ),
        found.draws.judge(
            "Then it falls, and below that of RPJ-md in the end.",
            lambda f: listed(f, "cost", (MERGES, SCANS), ".0f") + " µs with the last row",
            lambda f: all(
                last(f, "cost", case, MERGES) < min(highest(f, case, MERGES), last(f, "cost", case, SCANS))
                for case in CASES
            ),
            fails(_DEAR_MERGES),
        ),
        found.draws.judge(
            "RPJ has the lowest cost when the last row comes.",
            lambda f: listed(f, "cost", VARIANTS, ".0f") + " µs",
            lambda f: all(
                last(f, "cost", case, RPJ) < last(f, "cost", case, name)
                for case in CASES
                for name in (MERGES, SCANS)
            ),
        ),
    )
    label = "disk time per result (µs)"
    shown = slice(OVERFLOWN, LOOKS)
    plot = chart(
        "fig12", "Disk time per result of RPJ's variants", found, "cost", label, looks=shown, log=True
    )
    return Experiment("Fig. 12: variants of RPJ, cost per result", _FIG12, claims, (plot,))
