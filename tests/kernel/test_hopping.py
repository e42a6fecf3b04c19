"""Hopping windows in the kernel, against two oracles.

Would catch: a slot that begins or ends an instant too early, slots before 1970 that are counted towards zero,
a combination that comes once for all its slots or in a slot in which not all its rows stand, rows of
different slots that meet, rows that are stored after their slot, late rows counted once for each slot.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel, columns_of, result_blocks
from oracles import duck, reference
from oracles.reference import Hops, Row, Slots, Table, assert_same_rows
from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.keytext import key_text
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.kernel.run import Rows, build_run
from watersmeet.kernel.slots import in_slots
from watersmeet.query import window_kind


@st.composite
def hopping_histories(draw: st.DrawFn) -> History:
    """Sizes of a few hops, and about half of all times before 1970."""
    history = draw(histories(streams=(2, 3, 4), late_rows=draw(st.booleans()), different_keys=2))
    hop = draw(st.integers(1, 8))
    window = Hops(hop * draw(st.integers(1, 4)), hop)
    earlier = draw(st.sampled_from([0, 20, 100]))
    batches = [
        [[row._replace(ts=row.ts - earlier) for row in rows] for rows in batch] for batch in history.batches
    ]
    marks = [None if mark is None else mark - earlier for mark in history.watermarks]
    return replace(history, windows=(window,) * history.streams, batches=batches, watermarks=marks)


@given(hopping_histories(), st.booleans())
def test_two_oracles_and_the_kernel_agree(history: History, stored: bool) -> None:
    expected = reference.join(history.tables())
    assert_same_rows(duck.join(history.tables()), expected)
    kernel = Kernel(history.windows, stored=stored)
    with result_blocks(3):
        assert_same_rows(kernel.run(history), expected)
    if not stored:
        assert kernel.join.take_counts().late == history.late()


@given(hopping_histories())
def test_windows_that_do_not_fit_in_memory(history: History) -> None:
    assert_same_rows(
        Kernel(history.windows, open_limit=OpenLimit(400)).run(history), reference.join(history.tables())
    )


@given(hopping_histories())
def test_a_hop_as_long_as_a_slot_is_tumbling(history: History) -> None:
    size = history.windows[0].size
    hops = replace(history, windows=(Hops(size, size),) * history.streams)
    slots = replace(history, windows=(Slots(size),) * history.streams)
    assert_same_rows(
        [(*row[: history.streams], row[-1]) for row in Kernel(hops.windows).run(hops)],
        reference.join(slots.tables()),
    )


@given(hopping_histories())
def test_nothing_is_held_when_all_slots_are_over(history: History) -> None:
    kernel = Kernel(history.windows)
    kernel.run(history)
    kernel.join.on_watermark(1000)
    assert all(window.runs == [] for window in kernel.join.windows)


def test_a_time_line_by_hand() -> None:
    """Slots of 10 every 5: a at 4 is in [-5, 5) and [0, 10), b at 5 in [0, 10) and [5, 15)."""
    kernel = Kernel([Hops(10, 5)] * 2)
    a, b, c = Row((1,), 4, 1), Row((1,), 5, 2), Row((1,), 10, 3)
    assert kernel.batch([[a], []]) == []
    assert kernel.batch([[], [b]]) == [(1, 2, 0, 10, 5)]
    assert kernel.batch([[], [c]]) == []
    assert kernel.batch([[c], []]) == [(3, 2, 5, 15, 10), (3, 3, 5, 15, 10), (3, 3, 10, 20, 10)]
    assert kernel.join.next_expiry() == 4, "the last instant of [-5, 5)"


def test_rows_stand_in_their_slots_alive_to_their_ends() -> None:
    rows = columns_of([Row((7,), -1, 0), Row((8,), 9, 1)])
    placed = in_slots(rows, window_kind.Slots(10, 5))
    assert placed.times.tolist() == [-1, -1, 9, 9]
    assert placed.ends.tolist() == [4, -1, 14, 9]
    assert placed.columns.column(0).to_pylist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ([pa.array([7])], "7"),
        ([pa.array(["seven"])], "seven"),
        ([pa.array([7]), pa.array(["x"])], "7, x"),
        ([pa.array([b"12345678"])], "0x3132333435363738"),
    ],
)
def test_a_hot_key_is_shown_without_its_slot(columns: list[pa.Array], text: str) -> None:
    kept = pa.record_batch([pa.array([0])], ["value"])
    rows = in_slots(Rows(encode_keys(columns), np.array([12]), kept), window_kind.Slots(10, 5))
    kinds = [column.type for column in columns]
    assert [key_text(build_run(rows), key, kinds, with_slot=True) for key in (0, 1)] == [text, text]


@given(st.lists(st.tuples(st.integers(-30, 30), st.sampled_from("ab")), max_size=12), st.integers(1, 6))
def test_keys_of_equal_hash_are_told_apart(came: list[tuple[int, str]], hop: int) -> None:
    rows = [Row((key,), ts, n) for n, (ts, key) in enumerate(came)]
    kernel = Kernel([Hops(3 * hop, hop)] * 2, hashed=np.zeros_like, stored=True)
    kernel.batch([rows, rows])
    assert_same_rows(kernel.results, reference.join([Table(Hops(3 * hop, hop), rows)] * 2))
