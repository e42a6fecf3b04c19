"""Claims, charts and pages that all papers share.

Would catch: a verdict that does not follow from the figures, an explanation of a difference that is none,
plots that change from run to run, measured figures that are lost, and a page without its data.
"""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from watersmeet.lab.papers import plot
from watersmeet.lab.papers.bench import PAGE, Paper, Step, UnusableFolder, bench, unexplained
from watersmeet.lab.papers.chart import Chart, Line, Panel, Table
from watersmeet.lab.papers.claim import Claim, Verdict, falls, flat, grows, never_falls, never_grows
from watersmeet.lab.papers.page import Experiment, page, tally
from watersmeet.lab.papers.plot import NoMatplotlib, draw
from watersmeet.lab.papers.tracker import Screen, Tracker

LINES = (Line("SP-S", (1.0, 2.0), (3.0, 4.0)), Line("SP-D", (1.0, 2.0), (4.0, 3.0)))
CHART = Chart("curves", "two curves", (Panel("(a) rate", "rows/s", "work (s)", LINES),))
EXPERIMENT = Experiment(
    "Fig. 1: rates",
    "Two streams.",
    (
        Claim("SP-S grows.", "from 3 to 4 s", holds=True, why_not="never shown"),
        Claim("SP-D grows.", "from 4 to 3 s", holds=False, why_not="It is a slip of the pen."),
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


def test_verdicts_follow_from_the_figures() -> None:
    assert Claim("", "", holds=True, why_not="no matter").verdict is Verdict.REPRODUCED
    assert Claim("", "", holds=False, why_not="known").verdict is Verdict.EXPLAINED
    stopped = Claim("", "", holds=False)
    assert stopped.verdict is Verdict.OPEN
    assert unexplained([*EXPERIMENT.claims, stopped]) == [stopped]
    assert tally([*EXPERIMENT.claims, stopped]) == "2 of 4 reproduced, 1 not explained"


def test_the_page_says_what_holds_and_why_not() -> None:
    text = page("A paper", "About it.", "watersmeet bench it", [EXPERIMENT])
    assert "| SP-S grows. | from 3 to 4 s | yes |" in text
    assert "| SP-D grows. | from 4 to 3 s | no |" in text
    assert "| corrected: SP-D \\| SP-S cross. | at 1.5 | yes |" in text
    assert "- *SP-D grows.* It is a slip of the pen." in text
    assert "never shown" not in text
    assert "| Fig. 1: rates | 1 of 2 reproduced | 1 of 1 reproduced |" in text
    for link in ("(curves.svg)", "(curves.csv)", "(rates.csv)"):
        assert link in text


def test_an_unexplained_difference_stands_out() -> None:
    odd = Experiment("Fig. 2", "", (Claim("It falls.", "it grows", holds=False),))
    assert "| It falls. | it grows | **no, open** |" in page("", "", "", [odd])


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
    assert rows[-1] == {"panel": "(a) rate", "series": "SP-S", "source": "measured", "x": "1", "y": "3.1"}
    assert measured.names == ("SP-S", "SP-D")
    assert ">measured<" in draw(measured).decode()
    assert ">measured<" not in draw(CHART).decode()


def test_a_line_has_a_figure_for_every_place() -> None:
    with pytest.raises(AssertionError, match="2 places, 1 figures"):
        Line("a", (1.0, 2.0), (1.0,))


def test_a_bench_writes_page_plots_and_data(tmp_path: Path) -> None:
    def run(tracker: Tracker) -> Experiment:
        assert list(tracker.each([1, 2])) == [1, 2]
        return EXPERIMENT

    out = tmp_path / "new" / "folder"
    paper = Paper("A paper", "About it.", "watersmeet bench it", (Step("Fig. 1", run),))
    screen = quiet()
    claims = bench(
        paper, out, screen=screen, measured={"curves": {"(a) rate": [Line("SP-D", (1.0,), (9.5,))]}}
    )
    assert claims == list(EXPERIMENT.claims)
    assert {path.name for path in out.iterdir()} == {PAGE, "curves.svg", "curves.csv", "rates.csv"}
    assert "SP-D,measured,1,9.5" in (out / "curves.csv").read_text()
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
    monkeypatch.setattr(plot, "find_spec", lambda name: None)

    def run(tracker: Tracker) -> Experiment:
        pytest.fail("started")

    with pytest.raises(NoMatplotlib, match="not installed"):
        bench(Paper("", "", "", (Step("", run),)), tmp_path, screen=quiet())
