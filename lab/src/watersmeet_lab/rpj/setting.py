"""What is run: the paper's four cases over two networks, each once for all figures that show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from watersmeet.sim.progressive.arrivals import Pattern, Workload, of_the_paper
from watersmeet.sim.progressive.run import FAN_IN, FLUSHED, Outcome, simulate
from watersmeet_lab.papers.tracker import Tracker

# Panels of all figures: how rows are spread, and how many of the first relation come for one of the second.
CASES: Mapping[str, tuple[Pattern, float]] = {
    "(a) harmony, same speed": ("harmony", 1),
    "(b) reverse, same speed": ("reverse", 1),
    "(c) harmony, one five times as fast": ("harmony", 5),
    "(d) reverse, one five times as fast": ("reverse", 5),
}
ALGORITHMS: Mapping[str, str] = {
    "RPJ": "rpj",
    "HMJ": "hmj",
    "XJoin": "xjoin",
    "RPJ-dd": "rpj-dd",
    "RPJ-md": "rpj-md",
}
# A run is looked at so often while rows arrive, and at the same pace for a while after that. Memory overflows
# for the first time at the second look.
LOOKS, MORE_LOOKS = 40, 6


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run.

    Attributes:
        smaller: By which factor workloads are smaller than the paper's.
        draws: How many independent draws there are.
    """

    smaller: int
    draws: int = 1

    def workload(self, case: str, *, reliable: bool) -> Workload:
        """What arrives."""
        pattern, ratio = CASES[case]
        return of_the_paper(pattern, ratio, reliable=reliable, smaller=self.smaller)


# Two to three minutes. A smaller workload has too few silences: see `sim.progressive.arrivals`.
QUICK = Size(10)
# The paper's size, in an hour.
FULL = Size(1)


@dataclass(frozen=True, slots=True)
class Run:
    """What is run: a way to join in a case over a network, and what the paper leaves open."""

    name: str
    case: str
    reliable: bool
    draw: int
    flushed: float = FLUSHED
    fan_in: int = FAN_IN


@dataclass(frozen=True, slots=True)
class Course:
    """How a run went.

    Attributes:
        seconds: When it was looked at.
        results: Results that were known then, in percent of all.
        known: The same in percent of those that rows have that had arrived by then.
        cost: How long the disk had worked for each, in microseconds.
        before_cleanup: Results that were known when all rows had been handled, in percent of all.
        disk: How many seconds the disk had worked until then.
        cleanup: How many seconds it took to find the others.
        tasks: How many tasks were run in silence.
    """

    seconds: list[float]
    results: list[float]
    known: list[float]
    cost: list[float]
    before_cleanup: float
    disk: float
    cleanup: float
    tasks: int


@dataclass(slots=True)
class Runs:
    """Runs that were made, so that none is made twice."""

    size: Size
    seed: int
    _made: dict[Run, Course] = field(default_factory=dict)

    @property
    def draws(self) -> list[int]:
        """The seed of each draw."""
        return [1000 * self.seed + draw for draw in range(self.size.draws)]

    def make(self, wanted: Iterable[Run], tracker: Tracker) -> None:
        """Make those that are missing."""
        for run in tracker.each([run for run in wanted if run not in self._made]):
            workload = self.size.workload(run.case, reliable=run.reliable)
            self._made[run] = course(
                simulate(
                    workload, ALGORITHMS[run.name], seed=run.draw, flushed=run.flushed, fan_in=run.fan_in
                )
            )

    def __getitem__(self, run: Run) -> Course:
        """How a run went that was made."""
        return self._made[run]


def course(outcome: Outcome) -> Course:
    """A run as figures show it."""
    seconds = float(outcome.sent[-1]) * np.arange(1, LOOKS + MORE_LOOKS + 1) / LOOKS
    found, disk = outcome.results_at(seconds), outcome.disk_at(seconds)
    # Of half the rows a quarter of the pairs.
    possible = outcome.total * (np.searchsorted(outcome.sent, seconds, side="right") / len(outcome.sent)) ** 2
    return Course(
        seconds=seconds.tolist(),
        results=(100 * found / outcome.total).tolist(),
        known=(100 * found / possible).tolist(),
        cost=(1e6 * disk / np.maximum(found, 1)).tolist(),
        before_cleanup=100 * outcome.before_cleanup / outcome.total,
        disk=float(outcome.disk_at(outcome.handled)),
        cleanup=float(outcome.times[-1]) - outcome.handled,
        tasks=sum(outcome.tasks.values()),
    )
