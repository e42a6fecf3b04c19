"""Predictions: state, output, bytes, and when a result can no longer be missing.

Would catch: a window without what lateness and batches add, copies that are not counted, a promise about
results that row windows hold back.
"""

import json
from datetime import timedelta
from typing import Any

import pytest

from watersmeet.cost.forecast import forecast
from watersmeet.errors import InvalidPlanning
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.plan import Plan
from watersmeet.plan.explain import FORMS, explain
from watersmeet.plan.forecast import Forecast
from watersmeet.plan.measured import Measured, MeasuredInput, MeasuredOperator
from watersmeet.query import Column, RowWindow, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import WindowLike
from watersmeet.stats import Statistics
from watersmeet.stats.given import statistics

COLUMNS = (Column("ts", "timestamp"), *(Column(name, "bigint") for name in ("k", "v")))
FIGURES = {
    "a": {"rate": 100, "distinct": 50, "row_bytes": 30},
    "b": {"rate": 20, "distinct": 50, "row_bytes": 50},
}


def planned(
    known: Statistics,
    on: str = "k",
    window: WindowLike = timedelta(seconds=12),
    lateness: int = 6,
    **given: Any,
) -> tuple[Plan, Forecast]:
    streams = [
        Stream("a", COLUMNS, "ts", timedelta(seconds=24)),
        Stream("b", COLUMNS, "ts", window, timedelta(seconds=lateness)),
    ]
    query = join_query(streams, [on], ["a.v"], "inner", ColumnsOnly())
    plan = choose_plan(query, planning=Planning(known, **given))
    return plan, forecast(plan, known)


def test_stored_rows_span_window_lateness_and_batch() -> None:
    _, expected = planned(statistics(FIGURES, batch="4 seconds"))
    a, b = expected.operators[0].inputs
    # Windows leave in slices of a twelfth: half of one more is there on average.
    assert a.state_rows.number == pytest.approx(100 * (24 + 6 + 4 + 1))
    assert b.state_rows.number == pytest.approx(20 * (12 + 6 + 4 + 0.5))
    assert a.state_bytes.number == pytest.approx(30 * a.state_rows.number)
    assert expected.shipped.number == 100 * 30 + 20 * 50
    assert (expected.final_after.number, expected.held_by, expected.waits) == (10, "b", False)


def test_results_per_second_and_per_row() -> None:
    _, expected = planned(statistics(FIGURES))
    assert expected.output.number == pytest.approx((100 * 240 + 20 * 2400) / 50)
    assert expected.amplification.number == pytest.approx(expected.output.number / 120)
    first, second = expected.operators[0].paths
    assert first.matches[0].number == pytest.approx(240 / 50)
    assert second.matches[0].number == pytest.approx(2400 / 50)
    # A look into each of about thirteen runs, and every row that is found.
    assert first.cost.number == pytest.approx(100 * (13 + 240 / 50), rel=0.01)


def test_rows_that_go_everywhere_are_stored_everywhere() -> None:
    known = statistics({n: {"rate": f["rate"], "row_bytes": 10} for n, f in FIGURES.items()})
    plan, expected = planned(known, "a.v <= b.v", routing="replicated")
    a, b = expected.operators[0].inputs
    assert plan.root.replicated == {1}
    assert a.state_rows.number == pytest.approx(100 * (24 + 6 + 1))
    assert b.state_rows.number == pytest.approx(plan.buckets * 20 * (12 + 6 + 0.5))
    assert expected.shipped.number == pytest.approx(10 * (100 + plan.buckets * 20))


def test_slices_get_all_rows_and_store_each_once() -> None:
    known = statistics({n: {"rate": f["rate"], "row_bytes": 10} for n, f in FIGURES.items()})
    plan, expected = planned(known, "a.v <= b.v")
    a, b = expected.operators[0].inputs
    assert plan.root.sliced
    assert a.state_rows.number == pytest.approx(100 * (24 + 6 + 1))
    assert b.state_rows.number == pytest.approx(20 * (12 + 6 + 0.5))
    assert expected.shipped.number == pytest.approx(10 * plan.buckets * 120)


def test_aligned_rows_are_needed_where_segments_touch_their_lives() -> None:
    known = statistics({n: {"rate": f["rate"], "row_bytes": 10} for n, f in FIGURES.items()})
    plan, expected = planned(known, "a.v <= b.v", routing="aligned", segment=timedelta(seconds=36))
    a, b = expected.operators[0].inputs
    assert plan.root.segment == 36_000_000
    assert a.state_rows.number == pytest.approx(100 * (24 + 6 + 1))
    assert b.state_rows.number == pytest.approx(2 * 20 * (12 + 6 + 0.5))


def test_what_is_not_known_is_not_predicted() -> None:
    plan, expected = planned(statistics({"a": {"rate": 100, "distinct": 5}}))
    assert not expected.output.is_known
    assert not expected.operators[0].inputs[1].state_rows.is_known
    assert expected.operators[0].inputs[0].state_rows.is_known
    text = explain(plan, expected)
    assert "a  stores v: 3,100 rows" in text
    assert "not known: the rate of b" in text
    assert "expected" not in text


def test_many_results_are_a_warning() -> None:
    plan, expected = planned(statistics({n: {"rate": 100, "distinct": 1} for n in "ab"}))
    assert "! every input row makes many results" in explain(plan, expected)
    few, less = planned(statistics({n: {"rate": 100, "distinct": 1000} for n in "ab"}))
    assert "!" not in explain(few, less)


def test_windows_of_rows_hold_results_back() -> None:
    plan, expected = planned(statistics(FIGURES, batch="4 seconds"), window=RowWindow(30))
    assert expected.waits
    assert expected.operators[0].inputs[1].state_rows.number == 30 + 20 * 10
    line = "results wait for the watermark; none is missing after 10 s (b may be 6 s late, a batch spans 4 s)"
    assert line in explain(plan, expected)


def seen() -> Measured:
    inputs = (
        MeasuredInput(110.0, 3000, 90_000, 48, (((0, 1), 6), ((1, 0), 2))),
        MeasuredInput(20.0, None, None, None),
    )
    return Measured((MeasuredOperator(inputs, 1400.0, 1500.0, 60.0, 3),), 4, 4.0, ("a 7: 900 rows, 30 % of",))


def test_predicted_and_measured_stand_side_by_side() -> None:
    plan, expected = planned(statistics(FIGURES, batch="4 seconds"))
    lines = [line.split() for line in explain(plan, expected, seen()).splitlines()]
    assert ["a", "rows", "100", "110", "-9", "%"] in lines
    assert ["a", "stored", "rows", "3,500", "3,000", "+17", "%"] in lines
    assert ["b", "stored", "rows", "450", "?"] in lines
    assert ["results", "1,440", "1,400", "+3", "%"] in lines
    text = explain(plan, expected, seen())
    assert "paths now, changed 3 times" in text
    assert "  a: a -> b in 6 of 8 buckets\n  a: b -> a in 2 of 8 buckets" in text
    assert "hot keys\n  a 7: 900 rows" in text
    assert "predicted" in explain(plan, None, seen()), "also without a forecast"


def test_all_forms_tell_the_same() -> None:
    plan, expected = planned(statistics(FIGURES))
    told = json.loads(explain(plan, expected, seen(), form="json", verbose=True))
    (operator,) = told["operators"]
    assert operator["inputs"][0]["expected"]["state_rows"] == {"value": 3100.0, "known": "estimated"}
    assert operator["inputs"][0]["measured"]["state_rows"] == 3000
    assert operator["paths"][1]["steps"] == [{"visits": "a", "by": "k", "tests": []}]
    assert operator["choice"]["by"] == "exhaustive"
    picture = explain(plan, expected, form="mermaid")
    assert picture.splitlines()[0] == "flowchart LR"
    assert '  s0 -->|"100 rows/s, 3,100 stored"| o1' in picture
    assert '  o1 -->|"1,440 per s"| results' in picture
    with pytest.raises(InvalidPlanning, match='no form "svg"') as raised:
        explain(plan, form="svg")
    assert all(form in raised.value.hint for form in FORMS)
    # The same facts without figures.
    assert "-->|" not in explain(plan, form="mermaid")
