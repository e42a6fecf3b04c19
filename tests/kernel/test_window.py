"""What stays in a window and for how long.

Would catch: state that is kept after it can no longer match, state dropped too early, runs that pile up
or are merged across slices so that whole runs no longer expire, changes that are persisted twice or never.
"""

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel, columns_of
from oracles.reference import Row
from watersmeet.kernel.run import Run
from watersmeet.kernel.time_slices import cut
from watersmeet.kernel.window import StoredWindow


def rows_in(run: Run) -> list[tuple[int, int]]:
    """(time, value) of every row."""
    return list(zip(run.times.tolist(), run.columns.column("value").to_pylist(), strict=True))


@given(histories(late_rows=True))
def test_after_every_batch_dead_runs_are_gone_and_live_rows_are_there(history: History) -> None:
    kernel = Kernel(history.windows)
    arrived: list[list[Row]] = [[] for _ in history.windows]
    for batch, watermark in zip(history.batches, history.watermarks, strict=True):
        kernel.batch(batch, watermark)
        for stream, rows in enumerate(batch):
            arrived[stream] += [row for row in rows if watermark is None or row.ts > watermark]
        for window, rows in zip(kernel.join.windows, arrived, strict=True):
            if watermark is not None:
                assert all(stored.end > watermark for stored in window.runs)
            held = [pair for stored in window.runs for pair in rows_in(stored.run)]
            alive = [(r.ts, r.value) for r in rows if watermark is None or r.ts + window.length > watermark]
            everything = [(r.ts, r.value) for r in rows]
            for pair in set(alive):
                assert held.count(pair) == alive.count(pair), (
                    "a row that can still match is missing or doubled"
                )
            for pair in set(held):
                assert held.count(pair) <= everything.count(pair), "a row nobody sent, or doubled by a merge"


@given(histories(late_rows=True))
def test_what_is_said_about_a_run_is_true(history: History) -> None:
    kernel = Kernel(history.windows)
    kernel.run(history)
    for window in kernel.join.windows:
        assert window.rows == sum(stored.rows for stored in window.runs)
        for stored in window.runs:
            assert stored.rows == stored.run.rows == stored.run.columns.num_rows
            earliest, latest = stored.run.times.min(), stored.run.times.max()
            assert (stored.earliest, stored.end) == (earliest, latest + window.length)
            width, index = stored.time_slice
            assert index * width <= latest < (index + 1) * width
            assert 2 * (latest - earliest) < 5 * width
        expiries = [stored.end for stored in window.runs]
        assert window.next_expiry() == min(expiries, default=None)


@given(histories(late_rows=True))
def test_changes_add_up_to_the_window(history: History) -> None:
    """Whoever persists the changes of every batch ends with the runs of the window, no more and no less."""
    kernel = Kernel(history.windows)
    persisted: list[dict[str, list[tuple[int, int]]]] = [{} for _ in history.windows]
    for batch, watermark in zip(history.batches, history.watermarks, strict=True):
        kernel.batch(batch, watermark)
        for window, store in zip(kernel.join.windows, persisted, strict=True):
            added, removed = window.take_changes()
            for name in removed:
                del store[name]  # raises if it was never written
            for stored in added:
                assert stored.id not in store
                store[stored.id] = rows_in(stored.run)
            assert store == {stored.id: rows_in(stored.run) for stored in window.runs}


def test_small_batches_in_steady_state_leave_few_runs_and_little_dead_weight() -> None:
    """Ten windows' worth of small batches: state stays near the live rows, runs stay few."""
    length, step = 12_000, 100
    kernel = Kernel([length, length])
    random = np.random.default_rng(3)
    rows_per_batch = 20
    held, runs = [], []
    for b in range(10 * length // step):
        times = np.sort(random.integers(b * step, (b + 1) * step, rows_per_batch))
        batch = [[Row((int(random.integers(50)),), int(t), 0) for t in times] for _ in range(2)]
        kernel.batch(batch, watermark=b * step - 1)
        if b * step > 2 * length:
            held.append(kernel.join.windows[0].rows)
            runs.append(len(kernel.join.windows[0].runs))
    # Alive is what the watermark, one step back, has not passed: a window and a step.
    alive = (length / step + 1) * rows_per_batch
    # State leaves by slices of a twelfth.
    assert max(held) <= alive * (1 + 1 / 12) + 2 * rows_per_batch
    assert np.mean(held) <= 1.1 * alive
    assert max(runs) <= 13 * 3 * 3


def test_rows_beyond_every_window_expire_in_one_step() -> None:
    kernel = Kernel([10, 1000])
    kernel.batch([[Row((1,), t, t) for t in range(50)], [Row((1,), t, t) for t in range(50)]])
    assert kernel.join.next_expiry() is not None
    kernel.batch([[], []], watermark=10_000)
    assert [window.rows for window in kernel.join.windows] == [0, 0]
    assert kernel.join.next_expiry() is None


def test_a_row_stays_until_the_watermark_reaches_its_end_and_goes_then() -> None:
    kernel = Kernel([10, 10])
    kernel.batch([[Row((1,), 5, 1)], []])
    assert kernel.join.next_expiry() == 15
    kernel.batch([[], []], watermark=14)
    assert kernel.join.windows[0].rows == 1
    # Every row to come is later than 15, so none can meet it.
    kernel.batch([[], []], watermark=15)
    assert kernel.join.windows[0].rows == 0


@pytest.mark.parametrize("text", [False, True])
def test_compaction_keeps_the_rows_and_the_number_of_runs_low(*, text: bool) -> None:
    numbers = count()
    window = StoredWindow(1_000_000, 12, lambda: str(next(numbers)))
    random = np.random.default_rng(4)
    expected = []
    for i in range(300):
        rows = [Row((f"{k}",) if text else (int(k),), int(t), i) for k, t in random.integers(0, 1000, (5, 2))]
        expected += [(row.ts, row.value) for row in rows]
        window.insert(columns_of(rows))
        window.compact()
    assert sorted(pair for stored in window.runs for pair in rows_in(stored.run)) == sorted(expected)
    assert len(window.runs) <= 15


def test_runs_too_large_to_put_together_stay_apart() -> None:
    numbers = count()
    window = StoredWindow(1_000_000, 12, lambda: str(next(numbers)), merge_bytes=1500)
    for i in range(64):
        window.insert(columns_of([Row((i,), i, i)]))
        window.compact()
    assert sorted(pair for stored in window.runs for pair in rows_in(stored.run)) == [
        (i, i) for i in range(64)
    ]
    assert 1 < len(window.runs) < 64
    assert max(stored.size for stored in window.runs) <= 1500


@given(
    st.lists(st.integers(-(10**15), 10**15), max_size=50) | st.lists(st.integers(0, 200), max_size=50),
    st.integers(1, 10**13),
    st.integers(1, 20),
)
def test_pieces_hold_every_row_once_and_are_few_and_short(times: list[int], window: int, slices: int) -> None:
    pieces = cut(np.array(times, np.int64), window, slices)
    assert sorted(row for _, rows in pieces for row in rows.tolist()) == list(range(len(times)))
    assert len(pieces) <= 2 * slices + 1
    latest_before = None
    for (width, index), rows in pieces:
        assert len(rows), "an empty piece"
        assert rows.tolist() == sorted(rows.tolist()), "rows must keep their order"
        first, last = min(times[row] for row in rows), max(times[row] for row in rows)
        assert index * width <= last < (index + 1) * width
        assert 2 * (last - first) <= 3 * width
        assert latest_before is None or latest_before < first, "pieces overlap"
        latest_before = last
