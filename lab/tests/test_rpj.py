"""The experiments of Tao et al. 2005.

Would catch: claims that hold whatever is measured, figures under the wrong name, runs that are made twice,
policies that are not the paper's, an experiment that cannot be run at another size.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from watersmeet.sim.progressive.arrivals import Workload
from watersmeet.sim.progressive.run import Outcome
from watersmeet_lab.papers.bench import Options, changed
from watersmeet_lab.papers.draws import averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Case, Tracker
from watersmeet_lab.rpj import flushing, left_open, reliable, setting, unreliable, variants
from watersmeet_lab.rpj.curves import MARKS, OVERFLOWN, Measured, Quantity, measured
from watersmeet_lab.rpj.paper import paper
from watersmeet_lab.rpj.setting import CASES, FULL, LOOKS, MORE_LOOKS, QUICK, Run, Runs, Size

SMALL = Size(1000, draws=2)
SECONDS = tuple(float(look) for look in range(1, LOOKS + MORE_LOOKS + 1))

Curve = Sequence[float]


class Counting(Tracker):
    """Counts what it is told of."""

    def __init__(self) -> None:
        self.cases = 0

    def each(self, cases: Sequence[Case]) -> Iterator[Case]:
        self.cases += len(cases)
        return super().each(cases)


def played(workload: Workload, algorithm: str, *, seed: int, flushed: float, fan_in: int) -> Outcome:
    """Results as they may come, in no time: the simulator has tests of its own."""
    sent = np.linspace(0, 5, 1000) + seed / 1e6
    times = np.concatenate((sent, [5.5]))
    pace = 0.05 * (1 + len(algorithm)) * (1 if workload.reliable else 1.5)
    results = np.concatenate((pace * 100 * np.arange(1000.0), [1e5 + fan_in]))
    busy = flushed * np.maximum(0, times - 0.25)
    return Outcome(sent, times, results, busy, float(sent[-1]), int(results[-2]), int(results[-1]), Counter())


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.setattr(setting, "simulate", played)
    return Runs(SMALL, 1)


def verdicts(experiment: Experiment) -> dict[str, bool]:
    return {claim.text: claim.holds for claim in experiment.claims}


def rising(factor: float) -> Curve:
    """Results that come at some pace."""
    return [factor * look for look in SECONDS]


def figures(curves: Mapping[Quantity, Mapping[str, Curve]]) -> Measured:
    """The same in all four cases."""
    found = {(quantity, case): by_name for quantity, by_name in curves.items() for case in CASES}
    return Measured(SECONDS, averaged([found, found]))


def compared(results: Sequence[float], cost: Sequence[Curve], before: Sequence[float]) -> Measured:
    """Figures of RPJ, HMJ and XJoin."""
    names = reliable.COMPARED
    return figures(
        {
            "results": dict(zip(names, map(rising, results), strict=True)),
            "known": dict(zip(names, map(rising, results), strict=True)),
            "cost": dict(zip(names, cost, strict=True)),
            "before clean-up": {name: [share] for name, share in zip(names, before, strict=True)},
            "disk": {"RPJ": [3.0], "HMJ": [1.0], "XJoin": [1.0]},
            "clean-up": {name: [5.0] for name in names},
            "tasks": {name: [0.0] for name in names},
        }
    )


def steady(height: float) -> Curve:
    """Costs that are nothing until memory overflows, and the same from then on."""
    return [0.0] * OVERFLOWN + [height] * (len(SECONDS) - OVERFLOWN)


def test_the_page_has_all_figures() -> None:
    titles = " ".join(step.title for step in paper(Options()).steps)
    assert all(name in titles for name in ("4.3", "Fig. 8", "Fig. 9", "Fig. 10", "Fig. 11", "Fig. 12"))
    assert len(paper(Options(full=True)).steps) == len(paper(Options()).steps)
    assert "10 times smaller" in paper(Options()).introduction
    assert "as large as the paper's" in paper(Options(full=True)).introduction


@pytest.mark.parametrize("size", [QUICK, FULL, SMALL])
def test_memory_overflows_when_it_should(size: Size) -> None:
    for case in CASES:
        workload = size.workload(case, reliable=True)
        assert workload.memory / workload.rows == 2 / LOOKS
        assert (case[4:11], workload.ratio) in {
            ("harmony", 1),
            ("reverse", 1),
            ("harmony", 5),
            ("reverse", 5),
        }


def test_policies_at_the_first_overflow() -> None:
    found = flushing.worths()
    harmony, reverse = ({name: round(found[name][p][0]) for name in found} for p in flushing.PATTERNS)
    assert harmony == {"all": 0, "smallest": 2983, "largest": 2642, "adaptive": 2642, "optimal": 2983}
    assert reverse == {"all": 0, "smallest": 1517, "largest": 1858, "adaptive": 1661, "optimal": 1858}
    experiment = flushing.flushing(Tracker())
    assert not changed(experiment.claims)
    assert experiment.tables[0].rows[-1][0] == "optimal"


def test_claims_about_policies_can_fail() -> None:
    worth = {"all": 9.0, "smallest": 5.0, "largest": 6.0, "adaptive": 8.0, "optimal": 4.0}
    found = {name: dict.fromkeys(flushing.PATTERNS, (eta, eta)) for name, eta in worth.items()}
    by_text = verdicts(flushing.judged(found, (7.0, 140.0)))
    adaptive = next(text for text in by_text if text.startswith("Adaptive"))
    assert [text for text, holds in by_text.items() if holds] == [adaptive]


def test_runs_are_made_once_and_draws_differ(runs: Runs) -> None:
    tracker = Counting()
    found = measured(runs, ("RPJ", "XJoin"), tracker, reliable=True)
    assert tracker.cases == 2 * 2 * len(CASES)
    measured(runs, ("XJoin",), tracker, reliable=True)
    assert tracker.cases == 2 * 2 * len(CASES)
    assert found.draws.each[0] != found.draws.each[1]
    case = next(iter(CASES))
    for quantity in ("results", "known", "cost"):
        assert len(found.draws.together[quantity, case]["RPJ"]) == LOOKS + MORE_LOOKS == len(found.seconds)
    assert found.draws.together["results", case]["RPJ"][-1] == 100
    assert found.seconds[LOOKS - 1] == pytest.approx(5, rel=0.01)


@pytest.mark.parametrize(("name", "reliable"), [("XJoin", True), ("RPJ", False)])
def test_a_small_run(name: str, reliable: bool) -> None:
    runs = Runs(SMALL, 1)
    run = Run(name, next(iter(CASES)), reliable, runs.draws[0])
    runs.make([run], Tracker())
    course = runs[run]
    assert course.seconds[LOOKS - 1] == pytest.approx(2 if reliable else 14, rel=0.05)
    assert course.results[-1] == 100
    assert course.known[OVERFLOWN - 2] == pytest.approx(100, rel=0.3), (
        "all that rows have until they overflow"
    )
    assert course.known[LOOKS - 1] == pytest.approx(course.results[LOOKS - 1])
    assert course.cost[0] == 0 < course.cost[OVERFLOWN]
    assert course.results[LOOKS - 1] <= course.before_cleanup < 100
    assert bool(course.tasks) is not reliable
    assert course.cleanup > 0 < course.disk


def test_runs_make_a_page(runs: Runs) -> None:
    tracker = Counting()
    experiments = [
        reliable.progress(runs, tracker),
        reliable.cost(runs, tracker),
        unreliable.progress(runs, tracker),
        variants.progress(runs, tracker),
        variants.cost(runs, tracker),
        left_open.left_open(runs, tracker),
    ]
    names = [[line.name for line in plot.panels[0].lines] for one in experiments for plot in one.charts]
    assert names == [list(reliable.COMPARED)] * 4 + [list(variants.VARIANTS)] * 2
    assert [len(plot.panels) for one in experiments for plot in one.charts] == [4] * 6
    ends = [panel.lines[0].xs[-1] for panel in experiments[0].charts[0].panels]
    assert ends[0] > ends[1] == ends[2] == ends[3]
    assert len(experiments[-1].tables[0].rows) == len(left_open.variants()) + 2


def test_claims_about_a_reliable_network_can_fail() -> None:
    as_claimed = compared((3, 1, 2), [steady(1), steady(3), steady(2)], (50, 20, 30))
    runs = Runs(QUICK, 1)
    by_text = verdicts(reliable.judged_progress(runs, as_claimed))
    assert [holds for text, holds in by_text.items() if "1.4 times" not in text] == [True] * 3
    assert all(verdicts(reliable.judged_cost(as_claimed)).values())
    growing = list(SECONDS)
    otherwise = compared((1, 1, 2), [growing, growing, growing], (50, 20, 30))
    for case in CASES:
        together = otherwise.draws.together
        together["clean-up", case]["RPJ"] = [9.0]  # type: ignore[index]
        together["tasks", case]["RPJ"] = [1.0]  # type: ignore[index]
        together["disk", case]["RPJ"] = [1.0]  # type: ignore[index]
    assert not any(verdicts(reliable.judged_progress(runs, otherwise)).values())
    assert not any(verdicts(reliable.judged_cost(otherwise)).values())


def test_claims_about_an_unreliable_network_can_fail() -> None:
    cost = [steady(1)] * 3
    slow = compared((1.1, 1, 1), cost, (10, 9, 9))
    as_claimed = unreliable.judged(compared((3, 1, 1), cost, (90, 21, 19)), slow)
    assert all(verdicts(as_claimed).values())
    otherwise = unreliable.judged(compared((1, 1, 1), cost, (40, 80, 90)), slow)
    assert not any(verdicts(otherwise).values())
    assert changed(as_claimed.claims)
    assert changed(otherwise.claims)


def test_claims_about_variants_can_fail() -> None:
    def found(results: Sequence[float], cost: Sequence[Curve]) -> Measured:
        names = variants.VARIANTS
        return figures(
            {
                "results": dict(zip(names, map(rising, results), strict=True)),
                "cost": dict(zip(names, cost, strict=True)),
            }
        )

    falling = [100.0 / look for look in SECONDS]
    as_claimed = found((3, 2, 1), [steady(2), falling, steady(4)])
    assert all(verdicts(variants.judged_progress(as_claimed)).values())
    assert all(verdicts(variants.judged_cost(as_claimed)).values())
    otherwise = found((1, 2, 3), [steady(4), steady(5), steady(4)])
    assert not any(verdicts(variants.judged_progress(otherwise)).values())
    assert not any(verdicts(variants.judged_cost(otherwise)).values())


def test_what_the_paper_leaves_open() -> None:
    names = [name for name, _, _ in left_open.variants()]
    assert len(names) == 5
    shares = dict(zip(names, (40, 52, 53, 51, 50), strict=True)) | {"XJoin": 51, "HMJ": 50}
    busy = dict(zip(names, (50, 40, 30, 60, 20), strict=True)) | {"XJoin": 5, "HMJ": 5}
    good = {"results": {name: [1.0, 2.0, float(shares[name]), 90.0, float(busy[name])] for name in shares}}
    assert all(verdicts(left_open.judged(averaged([good]))).values())
    bad = {"results": {name: [1.0, 2.0, 3.0, 4.0, 5.0] for name in shares}}
    assert not any(verdicts(left_open.judged(averaged([bad]))).values())


def test_marks_are_where_they_should_be() -> None:
    assert [SECONDS[mark] / LOOKS for mark in MARKS] == [0.25, 0.5, 0.75]
    assert replace(QUICK, smaller=1) == FULL
