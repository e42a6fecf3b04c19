"""The experiments of Tran & Lee 2010.

Would catch: claims that hold whatever the formulas say, a sweep that varies the wrong stream, ratios that
are not of the plans they should be of, measurements that count what they should not, and a log whose
quarters are not what is in it.
"""

import gzip
import math
from dataclasses import replace
from pathlib import Path

import pytest

from watersmeet.cost.semijoin import FORMULAS, OneWayJoin
from watersmeet.cost.site import Work
from watersmeet.plan.sites.algorithm import PUBLISHED, Algorithm
from watersmeet_lab.papers.bench import Options, changed
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.semijoin import one_way_claims
from watersmeet_lab.semijoin.alike import streams_alike
from watersmeet_lab.semijoin.log import EXTRACT, Request, UnreadableLog, measured, web_log
from watersmeet_lab.semijoin.one_way import DEFAULT_JOIN, FILTERING, Sweep, advantage, crossing, sweeps
from watersmeet_lab.semijoin.one_way_claims import one_way_joins
from watersmeet_lab.semijoin.paper import paper
from watersmeet_lab.semijoin.plans import (
    binned,
    exponential_fit,
    figure_8,
    pooled,
    ratios_of_plans,
    summary,
    table_3,
)
from watersmeet_lab.semijoin.real import PRINTED, priced, real_streams
from watersmeet_lab.semijoin.simulated import Simulated

ROOT = Path(__file__).parents[2]
A = Algorithm


def refuted(experiment: Experiment) -> set[str]:
    return {claim.text for claim in experiment.claims if not claim.holds}


def test_fig_7_default_setting() -> None:
    """Every sweep passes through the default, whose figures are known."""
    found = sweeps()
    default = {"a": 1250, "b": 300, "c": 0.1, "d": 3000, "e": 25, "f": 1024, "g": 100}
    expected = {
        A.SP_S: 3.4503,
        A.SP_D: 3.4503,
        A.SM_S1: 4.0448,
        A.SM_S2: 3.1839,
        A.SM_D1: 3.4563,
        A.SM_D2: 4.0511,
    }
    for letter, value in default.items():
        at = found[letter].values.index(value)
        for algorithm, total in expected.items():
            assert found[letter].totals(algorithm)[at] == pytest.approx(total, abs=1e-4)
    assert len(found) == 8


class AsTheFormulas:
    """In the place of the simulator, which takes half a minute for all of Fig. 7."""

    def work(self, join: OneWayJoin, algorithm: Algorithm) -> Work:
        return FORMULAS[algorithm](join)


def fig_7() -> Experiment:
    return one_way_joins(AsTheFormulas(), Tracker())


def published(experiment: Experiment) -> Experiment:
    return replace(experiment, claims=tuple(c for c in experiment.claims if c.origin != "measured"))


def test_fig_7_claims() -> None:
    """What does not hold is what is known not to hold, and every corrected claim holds."""
    experiment = published(fig_7())
    assert refuted(experiment) == {
        "(c) SM-S2 grows until f2 = f1 = 0.1 and is nearly constant from there on.",
        "(d) All algorithms grow with the window.",
        "(f) Semijoins lose their advantage over simple joins as bandwidth grows.",
        "(all but c) SP-S and SM-S2 take very nearly the same time.",
        "(all) The one-step SM-S1 is more efficient than SM-S2.",
        "(all) The two-step SM-D2 is more efficient than SM-D1.",
    }
    assert not changed(experiment.claims)
    assert all(claim.holds for claim in experiment.claims if claim.origin == "corrected")


def test_fig_7_claims_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the costs of source and destination exchanged hardly anything is left of (a) and (b)."""
    exchanged = dict(zip((A.SP_S, A.SM_S1, A.SM_S2), (A.SP_D, A.SM_D2, A.SM_D1), strict=True))
    exchanged |= {there: here for here, there in exchanged.items()}

    def other() -> dict[str, Sweep]:
        return {
            name: replace(sweep, work={each: sweep.work[exchanged[each]] for each in exchanged})
            for name, sweep in sweeps().items()
        }

    monkeypatch.setattr(one_way_claims, "sweeps", other)
    experiment = fig_7()
    broken = refuted(experiment)
    for letter in "ab":
        assert sum(text.startswith(f"({letter})") for text in broken) == 2
    assert "(c) SM-D1 and SM-D2 get cheaper with f2." in broken
    assert len(changed(experiment.claims)) > 5


def test_fig_7_claims_about_measurements_can_fail() -> None:
    """Measured exactly what the formulas say, nothing is less than the formulas say."""
    experiment = fig_7()
    measured = [claim for claim in experiment.claims if claim.origin == "measured"]
    assert [claim.holds for claim in measured] == [True, False, False, True, False, True]
    crosses = [line for line in experiment.charts[0].panels[0].lines if line.source == "measured"]
    assert [line.name for line in crosses] == [each.value for each in PUBLISHED]
    assert crosses[0].xs == (250, 1250, 2250)


SMALL = OneWayJoin(
    replace(DEFAULT_JOIN.first, rate=100, window=0.5),
    replace(DEFAULT_JOIN.second, rate=100, window=0.5),
    DEFAULT_JOIN.link,
    DEFAULT_JOIN.setting,
)


@pytest.mark.parametrize("algorithm", [A.SP_S, A.SP_D, A.SM_D2], ids=lambda each: each.value)
def test_simple_joins_send_what_their_formulas_say(algorithm: Algorithm) -> None:
    found, formula = Simulated().work(SMALL, algorithm), FORMULAS[algorithm](SMALL)
    assert found.transmission == pytest.approx(formula.transmission, rel=0.02)
    # Rows are kept until the tick is over, and ten rows seldom have all ten keys.
    assert 0.8 < found.processing / formula.processing < 1.4


def test_bandwidth_changes_the_price_only() -> None:
    simulated = Simulated()
    slow = simulated.work(SMALL, A.SP_D)
    fast = simulated.work(replace(SMALL, link=replace(SMALL.link, bandwidth=math.inf)), A.SP_D)
    assert fast.transmission == pytest.approx(10 * SMALL.link.latency)
    assert fast.processing == slow.processing
    assert slow.transmission > 2 * fast.transmission


def test_semijoins_send_only_what_meets() -> None:
    """Of fifty keys ten are asked for."""
    few = replace(SMALL, second=replace(SMALL.second, distinct=FILTERING.second.distinct))
    simulated = Simulated()
    assert simulated.work(few, A.SM_S2).transmission < 0.5 * simulated.work(few, A.SP_S).transmission


def test_crossings_and_advantages() -> None:
    def work(*totals: float) -> tuple[Work, ...]:
        return tuple(Work(total) for total in totals)

    steady = dict.fromkeys((A.SM_S1, A.SM_D1, A.SM_D2), work(9, 9, 9))
    sweep = Sweep(
        "",
        "",
        "",
        (0, 10, 20),
        (),
        {A.SP_S: work(1, 2, 4), A.SP_D: work(3, 3, 3), A.SM_S2: work(1, 1, 1)} | steady,
    )
    assert crossing(sweep, A.SP_S, A.SP_D) == pytest.approx(15)
    assert crossing(sweep, A.SP_D, A.SP_S) is None
    assert advantage(sweep) == (0, 1, 2)


def test_table_3_and_fig_8() -> None:
    draws = ratios_of_plans(3, 2, 1, Tracker())
    assert len(draws.each) == 2
    assert {len(values) for ratios in draws.each for values in ratios.values()} == {3}
    ratios = draws.together
    assert {len(values) for values in ratios.values()} == {6}
    assert draws == ratios_of_plans(3, 2, 1, Tracker())
    assert draws != ratios_of_plans(3, 2, 2, Tracker())
    assert min(map(min, ratios.values())) >= 1 - 1e-12
    experiment = table_3(draws)
    found = summary(ratios["cycle"])
    row = next(row for row in experiment.tables[0].rows if row[0] == "cycle")
    assert row[1] == f"{found.mean:.2f} (1.08)"
    assert sum(figure_8(draws).charts[0].panels[0].lines[0].ys) == 24


def test_table_3_claims_can_fail() -> None:
    means = {"star": 1.3, "chain": 1.2, "cycle": 1.1, "fully connected": 0.9}
    worse = table_3(pooled([{graph: [mean, mean] for graph, mean in means.items()}] * 2))
    assert not any(claim.holds for claim in worse.claims[:3])
    as_printed = {"star": 1.02, "chain": 1.06, "cycle": 1.08, "fully connected": 1.14}
    better = table_3(pooled([{graph: [1.0, 2 * mean - 1.0] for graph, mean in as_printed.items()}]))
    assert refuted(better) == {"Half of the greedy plans cost at most 4% more than the best."}


def test_fig_8_claims_can_fail() -> None:
    decaying = [1.0] * 80 + [1.1] * 40 + [1.2] * 20 + [1.3] * 10 + [1.4] * 5
    assert not refuted(figure_8(pooled([{"star": decaying}])))
    uneven = [1.0] * 5 + [1.1] * 50 + [1.2] * 5 + [1.3] * 50 + [1.4] * 5
    assert len(refuted(figure_8(pooled([{"star": uneven}])))) == 2
    assert binned([1.04, 1.06]) == {1.0: 1, 1.1: 1}
    assert exponential_fit([9, 3]) == 0


def test_fig_9() -> None:
    experiment = streams_alike(Tracker())
    assert not refuted(experiment)
    for panel in experiment.charts[0].panels:
        greedy, best = panel.lines
        assert greedy.ys == pytest.approx(best.ys)
        assert len(set(best.ys)) == len(best.ys)


def test_fig_10_on_the_extract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    log = web_log(None)
    assert log.requests == 6186
    assert sum(stream.rate for stream in log.streams) / 4 == pytest.approx((2370 + 3670 + 3500 + 4200) / 4)
    assert 4 * log.span == pytest.approx(9 * 3600 + 59 * 60 + 54)
    experiment = real_streams(log, Tracker())
    assert [claim.holds for claim in experiment.claims if "25%" in claim.text] == [True, True]
    assert "19,987 times as fast" in " ".join(experiment.setting.split())


def test_fig_10_costs_grow_with_the_window() -> None:
    costs = [priced(PRINTED, window) for window in (0.4, 2.0)]
    assert costs[0][1] < costs[1][1]
    assert all(greedy >= best for greedy, best in costs)


def test_quarters_of_a_log() -> None:
    """Second 0 to 40: four quarters of ten seconds; the second has two hosts and three requests."""
    times = [("a", 0), ("b", 11), ("b", 12), ("cc", 19), ("a", 25), ("a", 40)]
    log = measured("it", [Request(host, time, 10 + time) for host, time in times])
    busy = log.streams[1]
    assert (log.span, busy.distinct, busy.full, busy.partial) == (10, 2, 24, pytest.approx(4 / 3))
    assert busy.rate == pytest.approx(3 * log.streams[0].rate)
    assert log.streams[0].rate == pytest.approx(log.speedup / 10)


def test_logs_as_files(tmp_path: Path) -> None:
    text = "host\tlogname\ttime\turl\n" + "".join(f'h{n % 3}\t-\t{n}\t/"{n}"\n' for n in range(40))
    plain, packed = tmp_path / "log.tsv", tmp_path / "log.tsv.gz"
    plain.write_text(text, encoding="latin-1")
    packed.write_bytes(gzip.compress(text.encode("latin-1")))
    assert web_log(plain).streams == web_log(packed).streams
    assert web_log(plain).name == "log.tsv"
    assert {stream.distinct for stream in web_log(plain).streams} == {3}


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("host\turl\na\t/\n", "cannot be read"),
        ("host\ttime\na\tsoon\n", "cannot be read"),
        ("host\ttime\na\t1\n", "too few requests"),
        ("host\ttime\n" + "a\t1\n" * 9, "spans no time"),
        ("host\ttime\n" + "a\t1\n" * 9 + "a\t100\n", "has a gap"),
    ],
)
def test_logs_that_are_none(tmp_path: Path, text: str, fact: str) -> None:
    path = tmp_path / "log.tsv"
    path.write_text(text)
    with pytest.raises(UnreadableLog, match=fact):
        web_log(path)


def test_a_log_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableLog, match=str(EXTRACT)) as caught:
        web_log(None)
    assert "the project's folder" in caught.value.hint


def test_the_paper_lists_its_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    steps = paper(Options(seed=3), queries=2, draws=2).steps
    # The first one is simulated.
    titles = [step.run(Tracker()).title.partition(":")[0] for step in steps[1:]]
    assert [step.title.partition(",")[0] for step in steps] == ["Fig. 7", *titles]
    assert titles == ["Table 3", "Fig. 8", "Fig. 9", "Fig. 10"]
