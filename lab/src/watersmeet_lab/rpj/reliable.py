"""Fig. 8 and 9: rows come at a constant rate, so that nothing but what stays in memory makes a difference."""

from __future__ import annotations

from watersmeet_lab.papers.claim import fails, flat
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.rpj.curves import OVERFLOWN, Found, Measured, ahead, chart, last, listed, measured
from watersmeet_lab.rpj.setting import CASES, LOOKS, MORE_LOOKS, Runs

RPJ, OTHERS = "RPJ", ("HMJ", "XJoin")
COMPARED = (RPJ, *OTHERS)
# What "similar" and "stabilises" are taken to mean, and how much of what it comes to a "surge" is.
_SIMILAR, _STEADY, _SURGE = 0.2, 0.15, 0.25
# Looks at which they are compared: from 10% of the time on, when what was flushed first begins to tell.
_ARRIVING = range(LOOKS // 10 - 1, LOOKS)

_FIG8 = """\
Rows come every millisecond, {rows:,} of them into a memory of {memory:,} rows: the paper's sizes divided by
{smaller}. Results are in percent of all. When the last row has come, after {seconds:.0f} s, what is left is
found in the clean-up, which is shown in (a) only, as in the paper."""

_FIG9 = """\
The same runs: how long the disk has worked, for each result found so far. Processor time, which the paper
counts as well, is left out: how long a 2.4 GHz processor took for a row is not said, and it is the same for
all."""

_SHORT_RUNS = """\
RPJ has most results, but its disk works more for them. XJoin and HMJ flush the largest partitions, so they
write long runs. RPJ flushes rows with little hope of a partner, of which many partitions have some, so it
writes many short runs, and the arm of the disk moves for each, which takes as long as ten pages. The formulas
for tasks in Sect. 5.3 count like that; the paper has none for flushes."""


def progress(runs: Runs, tracker: Tracker) -> Experiment:
    """Fig. 8: results over time."""
    return judged_progress(runs, measured(runs, COMPARED, tracker, reliable=True))


def cost(runs: Runs, tracker: Tracker) -> Experiment:
    """Fig. 9: disk time per result."""
    return judged_cost(measured(runs, COMPARED, tracker, reliable=True))


def judged_progress(runs: Runs, found: Measured) -> Experiment:
    """Hold the paper's claims about results against the figures."""
    workload = runs.size.workload(next(iter(CASES)), reliable=True)

    def lead(f: Found, case: str) -> float:
        others = max(last(f, "results", case, other) for other in OTHERS)
        return last(f, "results", case, RPJ) / others

    claims = (
        found.draws.judge(
            "RPJ has more results than HMJ and XJoin, from 10% of the time until the last row.",
            lambda f: listed(f, "results", COMPARED, ".1f") + "% with the last row",
            lambda f: all(ahead(f, case, RPJ, OTHERS, _ARRIVING) for case in CASES),
        ),
        found.draws.judge(
            f"All take about as long in the clean-up (within {_SIMILAR:.0%}).",
            lambda f: listed(f, "clean-up", COMPARED, ".1f") + " s",
            lambda f: all(
                flat((last(f, "clean-up", case, name) for name in COMPARED), within=_SIMILAR)
                for case in CASES
            ),
        ),
        found.draws.judge(
            "Nothing but flushing makes a difference: there is no silence in which a task could run.",
            lambda f: f"{sum(last(f, 'tasks', case, name) for case in CASES for name in COMPARED):.0f} tasks",
            lambda f: all(last(f, "tasks", case, name) == 0 for case in CASES for name in COMPARED),
        ),
        found.draws.judge(
            "RPJ finds at least 1.4 times as many in memory as the next best, and most where speeds differ.",
            lambda f: ", ".join(f"{case[:3]} {lead(f, case):.2f} times" for case in CASES),
            lambda f: (
                min(lead(f, case) for case in CASES) >= 1.4
                and all(lead(f, slow) < lead(f, fast) for slow, fast in _SAME_PATTERN)
            ),
            origin="measured",
        ),
    )
    setting = _FIG8.format(
        rows=workload.rows,
        memory=workload.memory,
        smaller=runs.size.smaller,
        seconds=found.seconds[LOOKS - 1],
    )
    plot = chart(
        "fig8",
        "Results over time, reliable network; (a) with the clean-up",
        found,
        "results",
        "results (% of all)",
        looks=slice(1, LOOKS, 2),
        first=slice(1, LOOKS + MORE_LOOKS, 2),
    )
    return Experiment("Fig. 8: reliable network, results", setting, claims, (plot,))


# The same pattern at the same speed, and with one relation faster.
_SAME_PATTERN = tuple(zip(tuple(CASES)[:2], tuple(CASES)[2:], strict=True))


def judged_cost(found: Measured) -> Experiment:
    """Hold the paper's claims about costs against the figures."""

    def surges(f: Found, case: str, name: str) -> bool:
        curve = f["cost", case][name]
        return curve[0] == 0 and curve[OVERFLOWN] > _SURGE * curve[LOOKS - 1]

    def work(f: Found, case: str) -> float:
        return last(f, "disk", case, RPJ) / last(f, "disk", case, "XJoin")

    claims = (
        found.draws.judge(
            "A result costs RPJ least, from 10% of the time until the last row.",
            lambda f: listed(f, "cost", COMPARED, ".1f") + " µs with the last row",
            lambda f: all(
                f["cost", case][RPJ][look] < f["cost", case][other][look]
                for case in CASES
                for other in OTHERS
                for look in _ARRIVING
            ),
            fails(_SHORT_RUNS),
        ),
        found.draws.judge(
            "Costs surge when memory overflows for the first time: soon to a quarter of what they come to.",
            lambda f: (
                "; ".join(
                    f"{case[:3]} "
                    + ", ".join(f"{name} {f['cost', case][name][OVERFLOWN]:.1f}" for name in COMPARED)
                    for case in CASES
                )
                + " µs"
            ),
            lambda f: all(surges(f, case, name) for case in CASES for name in COMPARED),
        ),
        found.draws.judge(
            f"Then they stabilise: in the second half they change by less than {_STEADY:.0%}.",
            lambda f: (
                "by " + ", ".join(f"{_change(f, case):.0%} in {case[:3]}" for case in CASES) + " at most"
            ),
            lambda f: all(_change(f, case) < _STEADY for case in CASES),
        ),
        found.draws.judge(
            "RPJ's flushes keep the disk busy more than twice as long as XJoin's.",
            lambda f: ", ".join(f"{case[:3]} {work(f, case):.1f} times" for case in CASES),
            lambda f: all(work(f, case) > 2 for case in CASES),
            origin="measured",
        ),
    )
    label = "disk time per result (µs)"
    shown = slice(OVERFLOWN - 1, LOOKS)
    plot = chart("fig9", "Disk time per result, reliable network", found, "cost", label, looks=shown)
    return Experiment("Fig. 9: reliable network, cost per result", _FIG9, claims, (plot,))


def _change(found: Found, case: str) -> float:
    """By how much costs change in the second half."""
    curves = [found["cost", case][name][LOOKS // 2 - 1 : LOOKS] for name in COMPARED]
    return max(max(curve) / min(curve) - 1 for curve in curves)
