from io import StringIO

import pytest
from rich.console import Console

from watersmeet.demo.asked import AskedProgress
from watersmeet.demo.flights import flights
from watersmeet.demo.scenario import Check
from watersmeet.demo.screen import Screen


@pytest.mark.parametrize("terminal", [True, False])
def test_everything_fits_a_terminal_of_80_columns(terminal: bool) -> None:
    written = StringIO()
    screen = Screen(
        Console(file=written, force_terminal=terminal, width=80, color_system=None, highlight=False)
    )
    scenario = flights()
    progress = AskedProgress.of([feed.name for feed in scenario.feeds], scenario.rows)
    screen.introduce(scenario)
    with screen.watching(progress, scenario):
        progress.batches, progress.results = 14, 19_233
        progress.watermark, progress.held_by = "2013-12-31 02:25:59", "JFK"
        for stream in progress.streams.values():
            stream.rows, stream.no_time, stream.late, stream.live = 120_835, 8_255, 1_234, 345_678
            stream.state_bytes, stream.newest = 123_456_789, "2013-12-31 23:59:59"
        progress.ended = progress.started + 20
        screen.batch_ended(progress)
    screen.totals(progress, scenario)
    rows = {feed.name: feed.rows.slice(0, 1).to_pylist()[0] for feed in scenario.feeds}
    screen.first_results(scenario, [rows])
    screen.verdict(progress, [Check("the sky is blue", holds=True), Check("grass is red", holds=False)])

    shown = written.getvalue()
    for text in ("120,835", "8,255", "1,234", "345,678", "123 MB", "2013-12-31 23:59:59"):
        assert text in shown
    assert "watermark 2013-12-31 02:25:59, held back by JFK" in shown
    assert "19,233 results from 362,505 rows in 20.0 s, 18,125 rows/s" in shown
    assert "ok     the sky is blue" in shown or "ok  the sky is blue" in shown
    assert "WRONG  grass is red" in shown
    assert "…" not in shown


@pytest.mark.parametrize("terminal", [True, False])
def test_what_functions_were_asked_is_shown(terminal: bool) -> None:
    written = StringIO()
    screen = Screen(
        Console(file=written, force_terminal=terminal, width=80, color_system=None, highlight=False)
    )
    scenario = flights()
    progress = AskedProgress.of([feed.name for feed in scenario.feeds], scenario.rows)
    with screen.watching(progress, scenario):
        progress.batches, progress.results, progress.pairs, progress.asked_seconds = 3, 41, 1_200_300, 24.006
        screen.batch_ended(progress)
    assert "1,200,300 pairs asked, 20 us each" in written.getvalue()
