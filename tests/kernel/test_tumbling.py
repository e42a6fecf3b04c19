"""Tumbling windows in the kernel, against two oracles.

Would catch: a slot that begins or ends an instant too early, slots before 1970 that are counted towards zero,
rows of two slots that meet, rows that are stored after their slot, ends that are lost on the way through
storage, and a mix with other windows that follows another rule than the rows' intervals.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel, result_blocks
from oracles import duck, reference
from oracles.reference import Row, Slots, Table, assert_same_rows
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.query.window import tumbling


@st.composite
def tumbling_histories(draw: st.DrawFn) -> History:
    """Some windows tumble, and about half of all times lie before 1970."""
    history = draw(histories(late_rows=draw(st.booleans())))
    tumble = draw(st.lists(st.booleans(), min_size=history.streams - 1, max_size=history.streams - 1))
    earlier = draw(st.sampled_from([0, 20, 100]))
    batches = [
        [[row._replace(ts=row.ts - earlier) for row in rows] for rows in batch] for batch in history.batches
    ]
    windows = [Slots(max(1, w)) if t else w for w, t in zip(history.windows, [True, *tumble], strict=True)]
    marks = [None if mark is None else mark - earlier for mark in history.watermarks]
    return replace(history, windows=tuple(windows), batches=batches, watermarks=marks)


@given(tumbling_histories(), st.booleans())
def test_two_oracles_and_the_kernel_agree(history: History, stored: bool) -> None:
    expected = reference.join(history.tables())
    assert_same_rows(duck.join(history.tables()), expected)
    with result_blocks(3):
        assert_same_rows(Kernel(history.windows, stored=stored).run(history), expected)


@given(tumbling_histories())
def test_windows_that_do_not_fit_in_memory(history: History) -> None:
    assert_same_rows(
        Kernel(history.windows, open_limit=OpenLimit(400)).run(history), reference.join(history.tables())
    )


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 8)), max_size=60), st.integers(1, 20))
def test_a_slot_leaves_as_a_whole_when_the_watermark_reaches_its_end(
    came: list[tuple[int, int]], size: int
) -> None:
    """Also where a batch brings rows of several slots, and runs are merged."""
    kernel = Kernel([Slots(size), Slots(size)])
    for batch in range(9):
        rows = [Row((ts % 3,), ts, n) for n, (ts, when) in enumerate(came) if when == batch]
        kernel.batch([rows, []])
    for watermark in range(-60, 80):
        kernel.join.on_watermark(watermark)
        times = [run.run.times for run in kernel.join.windows[0].runs]
        held = sorted(np.concatenate([np.empty(0, np.int64), *times]).tolist())
        alive = [ts for ts, _ in came if Table(Slots(size), []).end(Row((), ts, 0)) > watermark]
        # A batch that spans many slots is cut into fewer pieces than slots.
        spread = max((ts for ts, _ in came), default=0) - min((ts for ts, _ in came), default=0)
        if spread < 6 * size:
            assert held == sorted(alive)
        assert set(alive) <= set(held)
    assert kernel.join.windows[0].runs == []


def test_ends_of_slots_are_the_last_instants_before_the_next() -> None:
    window = tumbling("10 minutes")
    minute = 60_000_000
    times = np.array([0, 1, 10 * minute - 1, 10 * minute, -1, -10 * minute, -10 * minute - 1])
    slots = np.array([1, 1, 1, 2, 0, 0, -1])
    assert window.ends(times).tolist() == (slots * 10 * minute - 1).tolist()
    assert window.longest_us == 10 * minute - 1
    # Rows come at any time of a slot, and conditions may end them sooner.
    times = np.arange(0, 10 * minute, 1000)
    lives = np.minimum(window.ends(times) - times, 4 * minute)
    assert window.mean_life_us(4 * minute) == pytest.approx(lives.mean(), rel=1e-3)
