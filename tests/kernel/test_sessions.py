"""Sessions in the kernel, against two oracles.

Would catch: a gap that counts wrongly at its very end, sessions of one stream instead of all, two that a late
comer should have made one, rows of two sessions of a key that meet, results that leave before the watermark
has passed their time or a batch later, timers that are set too late, state that a restart forgets.
"""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel, result_blocks
from oracles import duck, reference
from oracles.reference import Row, Sessions, assert_same_rows


@st.composite
def session_histories(draw: st.DrawFn) -> History:
    """Short gaps, so that there are several sessions of a key, and a last batch that may end them all."""
    history = draw(histories(streams=(2, 3, 4), late_rows=draw(st.booleans()), different_keys=2))
    windows = (Sessions(draw(st.integers(1, 9))),) * history.streams
    silence = [[[] for _ in windows]] * draw(st.integers(0, 3))
    last = max((mark for mark in history.watermarks if mark is not None), default=-5)
    marks = sorted(draw(st.lists(st.integers(last, 60), min_size=len(silence), max_size=len(silence))))
    return History(windows, [*history.batches, *silence], [*history.watermarks, *marks])


@given(session_histories(), st.booleans())
def test_results_leave_in_the_batch_in_which_the_watermark_passes_them(
    history: History, restarts: bool
) -> None:
    expected = reference.join(history.tables())
    assert_same_rows(duck.join(history.tables()), expected)
    kernel = Kernel(history.windows)
    leaving = history.leaving(expected)
    for batch, mark, wanted in zip(history.batches, history.watermarks, leaving, strict=True):
        with result_blocks(3):
            assert_same_rows(kernel.batch(batch, mark), wanted)
        if restarts:
            kernel.restart()
    # What is left is told by plain DataFrames, of which everything is here.
    assert_same_rows(kernel.all_is_here(), expected)


@given(session_histories())
def test_a_bucket_without_rows_need_not_run_before_its_timer(history: History) -> None:
    kernel = Kernel(history.windows)
    expected = reference.join(history.tables())
    for batch, mark, wanted in zip(
        history.batches, history.watermarks, history.leaving(expected), strict=True
    ):
        timer = kernel.join.next_expiry()
        if any(batch) or (timer is not None and mark is not None and timer <= mark):
            assert_same_rows(kernel.batch(batch, mark), wanted)
        else:
            assert wanted == []


@given(session_histories())
def test_late_rows_are_counted_and_all_state_goes(history: History) -> None:
    kernel = Kernel(history.windows)
    kernel.run(history)
    counts = kernel.join.take_counts()
    assert counts.late == history.late()
    assert counts.results == len(kernel.results)
    kernel.batch([[] for _ in history.windows], 1000)
    assert all(window.runs == [] for window in (*kernel.join.windows, *kernel.join.inner.windows))
    assert kernel.join.next_expiry() is None


@given(session_histories().filter(lambda history: history.streams == 2))
def test_keys_of_equal_hash_are_told_apart(history: History) -> None:
    named = [
        [[row._replace(key=(str(row.key),)) for row in rows] for rows in batch] for batch in history.batches
    ]
    history = replace(history, batches=named)
    kernel = Kernel(history.windows, hashed=np.zeros_like)
    kernel.run(history)
    assert_same_rows(kernel.all_is_here(), reference.join(history.tables()))


def test_a_time_line_by_hand() -> None:
    """A gap of exactly 5 is within a session, and 6 is not; the rows of all streams make it."""
    kernel = Kernel([Sessions(5)] * 2)
    a, b, c, d = (Row((1,), ts, ts) for ts in (10, 15, 20, 26))
    assert kernel.batch([[a], [c]]) == []
    assert kernel.batch([[d], [b, d]]) == [], "15 makes one session of 10 and 20"
    assert kernel.join.next_expiry() == 15, "the earliest row could have been alone"
    assert kernel.batch([[], []], 24) == []
    assert kernel.join.next_expiry() == 25
    assert sorted(kernel.batch([[], []], 25)) == [(10, 15, 25), (10, 20, 25)]
    assert kernel.join.next_expiry() == 31
    assert kernel.batch([[], []], 31) == [(26, 26, 31)]
    assert kernel.join.next_expiry() is None


def test_runs_without_an_ended_session_are_not_written_again() -> None:
    """One session goes on; another ends, and only the run with its rows is written anew."""
    kernel = Kernel([Sessions(10)] * 2)
    kernel.batch([[Row((1,), 1, 0)], []])
    (first,) = kernel.join.windows[0].runs
    kernel.batch([[Row((1,), 5, 1), Row((2,), 5, 2)], [Row((1,), 14, 3)]])
    (mixed,) = set(kernel.join.windows[0].runs) - {first}
    kernel.batch([[], []], 15)
    assert first in kernel.join.windows[0].runs
    assert mixed not in kernel.join.windows[0].runs
    assert kernel.join.windows[0].rows == 2


def test_many_keys() -> None:
    random = np.random.default_rng(3)
    tables = []
    for _ in range(3):
        drawn = zip(random.integers(0, 300, 3000), random.integers(0, 5000, 3000), strict=True)
        rows = [Row((int(key),), int(ts), n) for n, (key, ts) in enumerate(drawn)]
        tables.append(reference.Table(Sessions(80), rows))
    kernel = Kernel([Sessions(80)] * 3)
    for batch in range(10):
        low, high = 500 * batch, 500 * (batch + 1)
        kernel.batch([[r for r in t.rows if low <= r.ts < high] for t in tables], low - 1)
    expected = duck.join(tables)
    assert len(expected) > 500
    assert_same_rows(kernel.all_is_here(), expected)
