"""The experiments of Wang & Rundensteiner 2009.

Would catch: claims that hold whatever is measured, figures under the wrong name, draws that are the same, an
experiment that cannot be run at another size.
"""

from dataclasses import replace

import pytest

from watersmeet_lab.papers.bench import Options, changed
from watersmeet_lab.papers.draws import averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.psp import adapting, compared, ring_length, routing, throughput
from watersmeet_lab.psp.paper import paper
from watersmeet_lab.psp.setting import FULL, QUICK, RATE, Size, seeds

SMALL = Size(0.3, (0.5, 1.0, 2.0), (2, 5), seconds=0.3, windows=5, draws=2)


def refuted(experiment: Experiment) -> set[str]:
    return {claim.text for claim in experiment.claims if not claim.holds}


def test_the_page_has_all_figures() -> None:
    titles = " ".join(step.title for step in paper(Options()).steps)
    assert all(name in titles for name in ("Equation 4", "Fig. 7", "(a)", "(c)", "(e)", "(g)"))
    assert len(paper(Options(full=True)).steps) == len(paper(Options()).steps)


@pytest.mark.parametrize("size", [QUICK, FULL, SMALL])
def test_a_row_has_the_partners_it_should(size: Size) -> None:
    for partners in size.partners:
        assert all(step.partners == pytest.approx(partners) for step in size.steps(partners))
    assert size.times().compare * RATE * size.window == pytest.approx(0.002)
    assert size.scenario(1.0, 1, seconds=1.0).begin == size.window


def test_draws_differ() -> None:
    assert len({*seeds(1, 5), *seeds(2, 5)}) == 10


def test_a_ring_is_measured() -> None:
    found = ring_length.measured(SMALL, 1, Tracker())
    assert len(found.each) == 2
    assert found.each[0] != found.each[1]
    for figures in found.each:
        assert {len(ys) for curves in figures.values() for ys in curves.values()} == {len(SMALL.nodes)}
    experiment = ring_length.judged(SMALL, found)
    assert [line.name for line in experiment.charts[0].panels[0].lines] == ring_length.names(SMALL)
    assert {line.source for line in experiment.charts[1].panels[0].lines} == {"formula", "measured"}


def test_claims_about_the_ring_can_fail() -> None:
    size = replace(SMALL, nodes=(2, 8, 19))
    names = ring_length.names(size)

    def judged(latency: list[list[float]], memory: list[float]) -> Experiment:
        figures = {
            "latency": dict(zip(names, latency, strict=True)),
            "memory": dict.fromkeys(names, memory),
        }
        return ring_length.judged(size, averaged([figures, figures]))

    as_claimed = judged([[3, 1, 1.2], [4, 1.5, 2], [9, 2, 2.2]], [50, 50, 51])
    assert all(claim.holds for claim in as_claimed.claims if claim.origin == "paper")
    otherwise = judged([[3, 2, 1], [3, 2, 1], [3, 2, 1]], [50, 100, 200])
    assert not any(claim.holds for claim in otherwise.claims if claim.origin == "paper")
    assert changed(otherwise.claims)


def test_the_other_methods_are_measured() -> None:
    experiment = routing.aligned(SMALL, 1, Tracker())
    names = [line.name for line in experiment.charts[0].panels[1].lines]
    assert names == ["T = 1 window", "T = 2 windows", "T = 5 windows"]
    experiment = routing.coordinated(SMALL, 1, Tracker())
    memory = experiment.charts[0].panels[1].lines
    assert memory[1].ys[0] == pytest.approx(1.5 * memory[0].ys[0], rel=0.02)


def test_claims_about_the_other_methods_can_fail() -> None:
    names = ["T = 1 window", "T = 2 windows", "T = 5 windows"]
    falling, flat = [3.0, 2.0, 1.0], [5.0] * 3
    figures = {"latency": dict.fromkeys(names, falling), "memory": dict.fromkeys(names, flat)}
    figures["copies"] = dict.fromkeys(names, flat)
    assert len(refuted(routing.judged_aligned(QUICK, averaged([figures])))) == 5
    copies = ["2 copies", "3 copies", "4 copies"]
    figures = {"latency": dict.fromkeys(copies, falling[::-1]), "memory": dict.fromkeys(copies, falling)}
    found = refuted(routing.judged_coordinated(QUICK, averaged([figures])))
    assert "(e) Latency falls with more nodes." in found
    assert "(f) Memory grows with the copies." in found
    assert len(found) == 4


def test_fig_7_in_figures() -> None:
    experiment = compared.compared(SMALL, 1, Tracker())
    rows = {row[0]: row[1:] for row in experiment.tables[0].rows}
    assert rows["rows seen twice"][0] == "0.00 (no)"
    assert rows["rows moved together"] == ("30 (large)", "1 (small)", "1 (small)")
    by_words = {claim.text: claim.holds for claim in experiment.claims}
    assert by_words["PSP sends most, then CTR, and ATR least."]
    same = {name: {method: [1.0] for method in compared.METHODS} for name in compared.ROWS}
    assert len(refuted(compared.judged(SMALL, averaged([same])))) == len(experiment.claims)


def test_rates_that_change() -> None:
    """Figures as they should be, and a ring that adapts as badly as one that does not."""
    stretches = 7
    steady, rising = [5.0] * stretches, [5.0, 5.0, 50.0, 200.0, 500.0, 900.0, 1500.0]
    latency = dict.fromkeys(adapting.METHODS, rising)
    nodes = {name: [4.0] for name in adapting.METHODS}
    bad = {"latency": latency, "nodes": nodes, "pauses": nodes}
    good = bad | {"latency": latency | {adapting.ADAPTIVE: steady}}
    claim = "With adaptation latency is much more stable"
    assert any(text.startswith(claim) for text in refuted(adapting.judged(QUICK, averaged([bad]))))
    assert not any(text.startswith(claim) for text in refuted(adapting.judged(QUICK, averaged([good]))))
    many = replace(SMALL, partners=(3.0,))
    report = adapting._run(many, 1, adapting.ADAPTIVE)
    assert report.nodes[0] == (0.0, adapting.NODES)
    assert len(adapting._over_time(many, report)) == stretches


def test_output_of_a_busy_ring() -> None:
    experiment = throughput.throughput(SMALL, 1, Tracker())
    assert not {claim.text for claim in experiment.claims if claim.origin == "paper"} & refuted(experiment)
    falls = {"rate": {throughput._LINE: [5.0, 4.0, 3.0, 2.0, 1.0]}}
    assert len(refuted(throughput.judged(SMALL, averaged([falls])))) == 3
