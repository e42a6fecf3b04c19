"""Progressive joins in virtual time, on the workloads of Tao et al. 2005.

Would catch: results lost or found twice under any order of arrivals, overflows and silences, a disk that
nobody waits for, tasks where no silence is, a workload that is not the paper's, and a choice of rows or tasks
that makes RPJ no better than what it is compared with.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from watersmeet.cost.progressive import PageTimes
from watersmeet.errors import InvalidSimulation
from watersmeet.optimize.progressive.policies import PROGRESSIVE
from watersmeet.sim.progressive.arrivals import Pattern, Workload, of_the_paper
from watersmeet.sim.progressive.run import WAIT, Outcome, simulate

PATTERNS: tuple[Pattern, ...] = ("harmony", "reverse")
CASES = list(product(PATTERNS, (1.0, 5.0)))


def small(pattern: Pattern = "harmony", ratio: float = 1.0, *, reliable: bool = True) -> Workload:
    return Workload(2000, 100, 100, 20, pattern, ratio, reliable, 5, PageTimes(0.002, 0.0002))


@pytest.mark.parametrize("algorithm", PROGRESSIVE)
@pytest.mark.parametrize("reliable", [True, False])
@pytest.mark.parametrize(("pattern", "ratio"), CASES)
def test_all_results_once(algorithm: str, pattern: Pattern, ratio: float, reliable: bool) -> None:
    outcome = simulate(small(pattern, ratio, reliable=reliable), algorithm, seed=3)
    assert (
        outcome.results[-1] == outcome.total > outcome.before_cleanup == outcome.results_at(outcome.handled)
    )
    for figures in (outcome.times, outcome.results, outcome.disk):
        assert (np.diff(figures) >= 0).all()
    assert bool(outcome.tasks) is not reliable


def test_results_are_counted_by_hand() -> None:
    """The exact number, from the rows themselves."""
    arrivals = Workload(300, 20, 40, 20).draw(np.random.default_rng(1))
    first, second = (
        [key for key, side in zip(arrivals.keys, arrivals.sides, strict=True) if side == i] for i in (0, 1)
    )
    assert arrivals.results() == sum(one == other for one in first for other in second)


def test_the_seed_decides() -> None:
    runs = [simulate(small(reliable=False), "rpj", seed=seed) for seed in (5, 5, 6)]
    assert np.array_equal(runs[0].times, runs[1].times)
    assert np.array_equal(runs[0].results, runs[1].results)
    assert not np.array_equal(runs[0].sent, runs[2].sent)


def test_time_passes_only_with_rows_and_the_disk() -> None:
    """What the clock shows is waiting and disk, so without silences the end is known."""
    outcome = simulate(small(), "xjoin", seed=2)
    assert outcome.times[-1] >= outcome.sent[-1]
    assert outcome.times[-1] <= outcome.sent[-1] + outcome.disk[-1]
    # Nothing is flushed before memory is full, and all pairs are found at once until then.
    full = outcome.sent[99]
    assert outcome.disk_at(full) == 0 < outcome.disk_at(outcome.sent[125])
    free = simulate(Workload(4000, 4000, 200), "xjoin", seed=2, cleanup=False)
    assert free.before_cleanup == free.total
    assert free.disk[-1] == 0


def known_when_sent(outcome: Outcome, share: float) -> int:
    """How many results were known when this share of the rows had arrived."""
    sent = outcome.sent[max(1, round(share * len(outcome.sent))) - 1]
    return int(outcome.results_at(sent))


def test_rows_wait_for_a_slow_disk() -> None:
    """Tasks run to their end, and results of rows that come meanwhile are late."""
    slow = Workload(4000, 200, 200, reliable=False, page_rows=5, times=PageTimes(0.1, 0.01))
    quick = Workload(4000, 200, 200, reliable=False, page_rows=5, times=PageTimes(0.0, 0.0))
    late, at_once = (simulate(workload, "rpj", seed=4, cleanup=False) for workload in (slow, quick))
    assert late.times[-1] == late.handled > late.sent[-1]
    assert at_once.times[-1] == at_once.sent[-1]
    assert known_when_sent(late, 0.5) < known_when_sent(at_once, 0.5)
    assert sum(late.tasks.values()) < sum(at_once.tasks.values())


def test_tasks_only_in_silence() -> None:
    outcome = simulate(small(), "rpj", seed=1, cleanup=False)
    assert not outcome.tasks
    silences = np.diff(simulate(small(reliable=False), "hmj", seed=1).sent) > WAIT + 1e-9
    assert 0.02 < silences.mean() < 0.06


def test_marks_are_exact() -> None:
    """What was known when a share of the rows had arrived is what these rows have in common."""
    workload = Workload(4000, 4000, 200)
    outcome, rows = simulate(workload, "rpj", seed=7), workload.draw(np.random.default_rng(7))
    for share in (0.25, 0.5, 0.75, 1.0):
        some = slice(0, round(share * 4000))
        first, second = (np.bincount(rows.keys[some][rows.sides[some] == i], minlength=200) for i in (0, 1))
        assert known_when_sent(outcome, share) == (first * second).sum()


def test_the_workload_of_the_paper() -> None:
    """Sect. 6: sizes, shares of partitions, expected results, and when the last row comes."""
    harmony, reverse = Workload(), Workload(pattern="reverse")
    assert harmony.shares().sum() == pytest.approx(1)
    assert 2 * harmony.shares()[0] == pytest.approx(0.01 + 0.08 / 19 * np.arange(20))
    assert reverse.shares()[1] == pytest.approx(harmony.shares()[0][::-1])
    assert harmony.results() == pytest.approx(1.236e8, rel=1e-3)
    assert reverse.results() == pytest.approx(7.64e7, rel=1e-3)
    assert Workload(ratio=5).results() == pytest.approx(5 / 9 * harmony.results())
    assert Workload(partitions=7, keys=7).shares().sum() == pytest.approx(1)
    reliable, unreliable = (
        of_the_paper(ratio=5, reliable=reliable, smaller=10).draw(np.random.default_rng(1))
        for reliable in (True, False)
    )
    assert reliable.times[-1] == pytest.approx(200, abs=0.01)
    assert unreliable.times[-1] == pytest.approx(1400, rel=0.01)
    assert np.diff(unreliable.times).max() == pytest.approx(0.03)
    assert unreliable.sides.mean() == pytest.approx(1 / 6, rel=0.02)
    assert unreliable.results() == pytest.approx(of_the_paper(ratio=5, smaller=10).results(), rel=0.02)


@pytest.mark.parametrize("smaller", [1, 10, 40])
def test_smaller_workloads_keep_their_shape(smaller: int) -> None:
    workload = of_the_paper(smaller=smaller)
    assert workload.rows / workload.memory == 20
    assert workload.results() / workload.rows == pytest.approx(Workload().results() / 2e6, rel=0.05)


def test_nonsense_is_refused() -> None:
    for keywords in ({"rows": 0}, {"keys": 30}, {"ratio": 0.0}, {"memory": 0}):
        with pytest.raises(InvalidSimulation):
            Workload(**keywords)


def played(algorithm: str, pattern: Pattern, ratio: float, reliable: bool) -> list[int]:
    """Results when 25%, 50% and 75% of the rows have arrived; the others need not come.

    Unreliable networks have a tenth of the paper's rows: silences do not scale, and with fewer rows there are
    too few of them for tasks as short as RPJ's.
    """
    whole = of_the_paper(pattern, ratio, reliable=reliable, smaller=40 if reliable else 10)
    workload = replace(whole, rows=3 * whole.rows // 4)
    outcome = simulate(workload, algorithm, seed=1, cleanup=False)
    return [known_when_sent(outcome, share / 3) for share in (1, 2, 3)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "ratio", "reliable"),
    [
        *((*case, True) for case in CASES),
        ("harmony", 1.0, False),
        ("reverse", 5.0, False),
        # Many rows for the silences to be enough.
        pytest.param("harmony", 5.0, False, marks=pytest.mark.soak),
        pytest.param("reverse", 1.0, False, marks=pytest.mark.soak),
    ],
)
def test_rpj_is_ahead_while_rows_arrive(pattern: Pattern, ratio: float, reliable: bool) -> None:
    rpj, *others = (played(name, pattern, ratio, reliable) for name in ("rpj", "xjoin", "hmj"))
    for other in others:
        assert rpj[0] >= other[0]
        assert rpj[1] > other[1]
        assert rpj[2] > other[2]
