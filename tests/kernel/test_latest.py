"""Windows of the latest row of a key, and of no time at all, against two oracles.

Would catch: a row that is kept though a newer one was there, ties of which one is lost, a partner that is
newer than the row that looks for it, a result that leaves before all rows up to its time are known.
"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel
from oracles import duck, reference
from oracles.reference import Latest, Row, assert_same_rows


@st.composite
def latest_histories(draw: st.DrawFn) -> History:
    """Some streams have the latest rows, others last no time or some."""
    history = draw(histories(streams=(2, 3, 4), late_rows=draw(st.booleans()), different_keys=2))
    windows = [draw(st.sampled_from([Latest(), 0, own])) for own in history.windows[1:]]
    return replace(history, windows=(Latest(), *windows))


@given(latest_histories(), st.booleans())
def test_two_oracles_and_the_kernel_agree(history: History, restarts: bool) -> None:
    expected = reference.join(history.tables())
    assert_same_rows(duck.join(history.tables()), expected)
    kernel = Kernel(history.windows)
    leaving = history.leaving(expected)
    for batch, mark, wanted in zip(history.batches, history.watermarks, leaving, strict=True):
        assert_same_rows(kernel.batch(batch, mark), wanted)
        if restarts:
            kernel.restart()
    assert_same_rows(kernel.all_is_here(), expected)


@given(histories(longest_window=0, span=6, different_keys=2))
def test_rows_that_last_no_time_meet_at_their_instant(history: History) -> None:
    expected = reference.join(history.tables())
    assert_same_rows(duck.join(history.tables()), expected)
    assert_same_rows(Kernel(history.windows).run(history), expected)


def test_prices_as_of_a_time() -> None:
    """By hand: every trade meets the newest prices at or before it, both where two share that time."""
    kernel = Kernel([0, Latest()])
    trades = [Row((1,), ts, ts) for ts in (1, 5, 9)]
    prices = [Row((1,), ts, value) for ts, value in ((2, 20), (5, 50), (5, 51), (7, 70))]
    assert kernel.batch([trades, prices], -1) == []
    assert sorted(kernel.batch([[], []], 8)) == [(5, 50, 5), (5, 51, 5)]
    assert kernel.batch([[], []], 9) == [(9, 70, 9)]
    # However late the next trade is: one row per key is kept for ever.
    assert kernel.batch([[Row((1,), 10**9, 8)], []], 10**9) == []
    assert kernel.batch([[Row((1,), 10**9 + 1, 8)], []], 10**9) == []
    assert kernel.batch([[], []], 10**9 + 1) == [(8, 70, 10**9 + 1)]
