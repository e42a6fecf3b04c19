"""Claims, charts and pages that all papers share.

Would catch: a verdict that does not follow from the figures or from one draw only, an explanation that is
given for another verdict than the one it was written for,
plots that change from run to run, measured figures that are lost, and a page without its data.
"""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from watersmeet import extras
from watersmeet.plot.chart import Chart, Line, Panel, Table
from watersmeet.plot.draw import draw
from watersmeet_lab.papers.bench import PAGE, Paper, Step, UnusableFolder, bench, changed
from watersmeet_lab.papers.claim import (
    Claim,
    Verdict,
    fails,
    falls,
    flat,
    grows,
    never_falls,
    never_grows,
    partly,
)
from watersmeet_lab.papers.draws import averaged, lines
from watersmeet_lab.papers.page import Experiment, page, tally
from watersmeet_lab.papers.record import RECORD
from watersmeet_lab.papers.tracker import Screen, Tracker

LINES = (Line("SP-S", (1.0, 2.0), (3.0, 4.0)), Line("SP-D", (1.0, 2.0), (4.0, 3.0)))
CHART = Chart("curves", "two curves", (Panel("(a) rate", "rows/s", "work (s)", LINES),))
EXPERIMENT = Experiment(
    "Fig. 1: rates",
    "Two streams.",
    (
        Claim("SP-S grows.", "from 3 to 4 s", holds=True),
        Claim("SP-D grows.", "from 4 to 3 s", holds=False, known=fails("It is a slip of the pen.")),
        Claim("SP-D | SP-S cross.", "at 1.5", holds=True, origin="corrected"),
    ),
    (CHART,),
    (Table("rates", ("stream", "rate"), (("a", "1"),)),),
)


def quiet() -> Screen:
    return Screen(Console(file=io.StringIO()))


@pytest.mark.parametrize(
    ("check", "values", "holds"),
    [
        (grows, (1, 2, 3), True),
        (grows, (1, 2, 2), False),
        (grows, (1, 1 + 1e-12), False),
        (falls, (3, 2, 1), True),
        (falls, (3, 1, 2), False),
        (never_falls, (1, 1, 2), True),
        (never_falls, (1, 2, 1.5), False),
        (never_grows, (2, 2, 1), True),
        (never_grows, (2, 1, 1.1), False),
        (flat, (2, 2, 2), True),
        (flat, (2, 2.1), False),
    ],
)
def test_checks(check: object, values: tuple[float, ...], holds: bool) -> None:
    assert check(values) is holds


@pytest.mark.parametrize(
    ("together", "held", "of", "verdict"),
    [
        (True, 5, 5, Verdict.REPRODUCED),
        (True, 4, 5, Verdict.REPRODUCED),
        (True, 3, 5, Verdict.IN_PART),
        (False, 4, 5, Verdict.IN_PART),
        (False, 2, 5, Verdict.IN_PART),
        (False, 1, 5, Verdict.NOT_REPRODUCED),
        (True, 1, 5, Verdict.IN_PART),
        (True, 7, 10, Verdict.IN_PART),
        (True, 0, 0, Verdict.REPRODUCED),
        (False, 0, 0, Verdict.NOT_REPRODUCED),
    ],
)
def test_verdicts_over_draws(together: bool, held: int, of: int, verdict: Verdict) -> None:
    draws = (True,) * held + (False,) * (of - held)
    assert Claim("", "", together, draws).verdict is verdict


def test_an_explanation_belongs_to_a_verdict() -> None:
    known = [Claim("", "", holds=False, known=fails("")), *EXPERIMENT.claims]
    better = Claim("", "", holds=True, known=fails("a slip"))
    worse = Claim("", "", holds=False)
    other = Claim("", "", holds=False, known=partly("it depends"))
    assert changed([*known, better, worse, other]) == [better, worse, other]
    assert tally([*EXPERIMENT.claims, worse]) == "2 of 4 reproduced, 1 changed"
    mixed = Claim("", "", True, (True, False), known=partly("it depends"))
    assert tally([mixed]) == "0 of 1 reproduced, 1 in part"
    assert mixed.words() == "in part, 1 of 2 draws"


def test_draws_are_judged_one_by_one() -> None:
    draws = averaged([{"a": {"cost": [1.0, 3.0]}}, {"a": {"cost": [4.0, 2.0]}}])
    claim = draws.judge(
        "It grows.", lambda found: str(found["a"]["cost"]), lambda found: grows(found["a"]["cost"])
    )
    assert (claim.found, claim.holds, claim.draws) == ("[2.5, 2.5]", False, (True, False))
    (line,) = lines(draws, "a", (10, 20))
    assert (line.ys, line.low, line.high) == ((2.5, 2.5), (1.0, 2.0), (4.0, 3.0))


def test_the_page_says_what_holds_and_why_not() -> None:
    text = page("A paper", "About it.", "watersmeet-lab it", [EXPERIMENT])
    assert "| SP-S grows. | from 3 to 4 s | yes |" in text
    assert "| SP-D grows. | from 4 to 3 s | no |" in text
    assert "| corrected: SP-D \\| SP-S cross. | at 1.5 | yes |" in text
    assert "- *SP-D grows.* It is a slip of the pen." in text
    assert "| Fig. 1: rates | 1 of 2 reproduced | 1 of 1 reproduced |  |" in text
    for link in ("(curves.svg)", "(curves.csv)", "(rates.csv)"):
        assert link in text


def test_a_changed_verdict_stands_out() -> None:
    claims = (
        Claim("It falls.", "it grows", holds=False),
        Claim("It grows.", "it grows", holds=True, known=fails("not said any more")),
    )
    text = page("", "", "", [Experiment("Fig. 2", "", claims)])
    assert "| It falls. | it grows | no: **changed, look at this** (expected: yes) |" in text
    assert "| It grows. | it grows | yes: **changed, look at this** (expected: no) |" in text
    assert "not said any more" not in text


def test_plots_are_the_same_bytes_every_time() -> None:
    assert draw(CHART) == draw(CHART)
    text = draw(CHART).decode()
    assert "(a) rate" in text
    assert "rows/s" in text
    assert "dc:date" not in text
    assert "Matplotlib v" not in text
    changed = Chart(CHART.name, CHART.caption, (Panel("(a) rate", "rows/s", "work (s)", LINES[:1]),))
    assert draw(changed) != draw(CHART)


def test_logarithmic_axes_and_empty_frames_are_drawn() -> None:
    far = Panel(
        "far", "values", "tuples", (Line("a", (1.0, 10.0, 1e6), (1.0, 1e3, 1e6)),), log_x=True, log_y=True
    )
    near = Panel("near", "values", "tuples", (Line("b", (1.0, 2.0), (20.0, 30.0)),), log_y=True)
    text = draw(Chart("three", "", (far, near, CHART.panels[0]))).decode()
    assert ">1M<" in text
    assert ">far<" in text


def test_measured_lines_stand_beside_the_formulas() -> None:
    measured = CHART.with_measured({"(a) rate": [Line("SP-S", (1.0,), (3.1,))], "elsewhere": LINES})
    rows = list(csv.DictReader(io.StringIO(measured.csv())))
    assert len(rows) == 5
    assert list(rows[-1].values()) == ["(a) rate", "SP-S", "measured", "1", "3.1", "", ""]
    assert measured.names == ("SP-S", "SP-D")
    assert ">measured<" in draw(measured).decode()
    assert ">measured<" not in draw(CHART).decode()


def test_bars_show_the_range_of_the_draws() -> None:
    banded = Line("a", (1.0, 2.0), (3.0, 4.0), low=(1.0, 2.0), high=(30.0, 5.0))
    with_band, without = (
        Chart("band", "", (Panel("p", "x", "y", (line,)),))
        for line in (banded, replace(banded, low=(), high=()))
    )
    assert "p,a,formula,1,3,1,30" in with_band.csv()
    assert draw(with_band) != draw(without)


def test_a_line_has_a_figure_for_every_place() -> None:
    with pytest.raises(AssertionError, match="2 places, 1 figures"):
        Line("a", (1.0, 2.0), (1.0,))


def test_a_bench_writes_page_plots_and_data(tmp_path: Path) -> None:
    def run(tracker: Tracker) -> Experiment:
        assert list(tracker.each([1, 2])) == [1, 2]
        return EXPERIMENT

    out = tmp_path / "new" / "folder"
    paper = Paper("A paper", "About it.", "watersmeet-lab it", (Step("Fig. 1", run),))
    screen = quiet()
    claims = bench(paper, out, screen=screen)
    assert claims == list(EXPERIMENT.claims)
    assert {path.name for path in out.iterdir()} == {PAGE, RECORD, "curves.svg", "curves.csv", "rates.csv"}
    assert "SP-D,formula,1,4,," in (out / "curves.csv").read_text()
    assert (out / "rates.csv").read_text() == "stream,rate\na,1\n"
    assert "Fig. 1: 2 of 3 reproduced, " in screen.console.file.getvalue()


def test_progress_is_a_bar_on_a_terminal() -> None:
    screen = Screen(Console(file=io.StringIO(), force_terminal=True, width=80))
    with screen.running("Fig. 1") as (tracker, say):
        assert list(tracker.each("abc")) == ["a", "b", "c"]
        say("done")
    shown = screen.console.file.getvalue()
    assert "━" in shown
    assert "Fig. 1: done" in shown


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UnusableFolder):
        bench(Paper("", "", ""), tmp_path / "taken", screen=quiet())


def test_without_matplotlib_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)

    def run(tracker: Tracker) -> Experiment:
        pytest.fail("started")

    with pytest.raises(extras.MissingPackage, match="not installed"):
        bench(Paper("", "", "", (Step("", run),)), tmp_path, screen=quiet())
