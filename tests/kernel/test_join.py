"""The kernel against two oracles, row for row, on random histories.

Would catch: a lost or doubled combination, an end of a window that counts wrongly, a result that depends on
arrival order, on batch boundaries, on the probe order or on where a block of results ends, hashes that
are trusted instead of compared, state dropped while it can still meet a row to come.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel, columns_of, result_blocks
from oracles import duck, reference
from oracles.reference import Row, Table, assert_same_rows
from watersmeet.plan import ProbePath


@given(histories())
def test_two_oracles_and_the_kernel_agree(history: History) -> None:
    expected = reference.join(history.tables())
    assert_same_rows(duck.join(history.tables()), expected)
    assert_same_rows(Kernel(history.windows).run(history), expected)


@given(histories(late_rows=True))
def test_exactly_the_late_rows_are_left_out_and_counted(history: History) -> None:
    kernel = Kernel(history.windows)
    assert_same_rows(kernel.run(history), reference.join(history.tables()))
    counts = kernel.join.take_counts()
    assert counts.late == history.late()
    assert counts.rows_in == [sum(len(batch[s]) for batch in history.batches) for s in range(history.streams)]
    assert counts.results == len(kernel.results)


@given(histories(late_rows=True))
def test_state_that_goes_through_storage_gives_the_same_rows(history: History) -> None:
    assert_same_rows(Kernel(history.windows, stored=True).run(history), reference.join(history.tables()))


@given(histories(), st.data())
def test_batch_boundaries_and_order_of_arrival_do_not_matter(history: History, data: st.DataObject) -> None:
    arrivals = [(s, row) for batch in history.batches for s, rows in enumerate(batch) for row in rows]
    shuffled = data.draw(st.permutations(arrivals))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(shuffled)), max_size=4)))
    kernel = Kernel(history.windows)
    for first, last in zip([0, *cuts], [*cuts, len(shuffled)], strict=True):
        batch: list[list[Row]] = [[] for _ in history.windows]
        for stream, row in shuffled[first:last]:
            batch[stream].append(row)
        kernel.batch(batch)
    everything = [
        Table(window, [row for stream, row in arrivals if stream == s])
        for s, window in enumerate(history.windows)
    ]
    assert_same_rows(kernel.results, reference.join(everything))


@given(histories(), st.data())
def test_any_probe_order_gives_the_same_bag(history: History, data: st.DataObject) -> None:
    paths = [
        ProbePath(head, tuple(data.draw(st.permutations([s for s in range(history.streams) if s != head]))))
        for head in range(history.streams)
    ]
    assert_same_rows(Kernel(history.windows, paths=paths).run(history), reference.join(history.tables()))


@given(histories(longest_window=60, different_keys=2), st.sampled_from([1, 2, 3, 7, 64]))
def test_a_probe_that_stops_at_a_full_block_goes_on_where_it_was(history: History, block: int) -> None:
    with result_blocks(block):
        assert_same_rows(Kernel(history.windows).run(history), reference.join(history.tables()))


WEAK_HASHES: dict[str, Callable[[Any], Any]] = {
    "all equal": np.zeros_like,
    "all equal and large": lambda hashes: np.full_like(hashes, np.iinfo(np.uint64).max),
    "modulo three": lambda hashes: hashes % np.uint64(3),
    "leading two bits": lambda hashes: hashes & np.uint64(3 << 62),
}


@pytest.mark.parametrize("weak", WEAK_HASHES)
@given(
    history=histories(keys=("string", "composite"), different_keys=6, late_rows=True),
    block=st.sampled_from([1, 5, 1000]),
)
def test_keys_of_equal_hash_are_told_apart(weak: str, history: History, block: int) -> None:
    with result_blocks(block):
        for stored in (False, True):
            kernel = Kernel(history.windows, hashed=WEAK_HASHES[weak], stored=stored)
            assert_same_rows(kernel.run(history), reference.join(history.tables()))


@given(histories(span=100_000, longest_window=30_000, late_rows=True))
def test_spans_of_many_windows(history: History) -> None:
    assert_same_rows(Kernel(history.windows).run(history), reference.join(history.tables()))


def random_tables(
    seed: int, rows: int, keys: int, windows: tuple[int, ...], span: int, *, text: bool
) -> list[Table]:
    random = np.random.default_rng(seed)
    tables = []
    for stream, window in enumerate(windows):
        key, ts = random.integers(0, keys, rows), random.integers(0, span, rows)
        named = [(f"key {k}",) if text else (int(k),) for k in key]
        tables.append(
            Table(
                window,
                [Row(k, int(t), stream * rows + i) for i, (k, t) in enumerate(zip(named, ts, strict=True))],
            )
        )
    return tables


def in_batches(tables: list[Table], count: int) -> list[list[list[Row]]]:
    return [[list(table.rows[b::count]) for table in tables] for b in range(count)]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("block", [1, 97, 4096, 1 << 16])
def test_thousands_of_keys(block: int, *, text: bool) -> None:
    """More keys than are located at a time, and blocks that end anywhere among them."""
    tables = random_tables(1, rows=3000, keys=900, windows=(300, 500, 400), span=1000, text=text)
    kernel = Kernel([table.window for table in tables], stored=True)
    with result_blocks(block):
        for batch in in_batches(tables, 5):
            kernel.batch(batch)
    expected = duck.join(tables)
    assert len(expected) > 10_000
    assert_same_rows(kernel.results, expected)


@pytest.mark.parametrize("text", [False, True])
def test_one_hot_key_in_any_order(*, text: bool) -> None:
    """All rows of all streams share a key, so order in time is all that keeps them apart."""
    tables = random_tables(2, rows=200, keys=1, windows=(40, 6, 100), span=5000, text=text)
    kernel = Kernel([table.window for table in tables])
    for batch in in_batches(tables, 7):
        kernel.batch(batch)
    expected = duck.join(tables)
    assert len(expected) > 200
    assert_same_rows(kernel.results, expected)


def test_results_leave_in_blocks_of_bounded_size() -> None:
    """One hot key must not need all its combinations in memory at once."""
    kernel = Kernel([10, 10])
    rows = columns_of([Row((1,), 5, i) for i in range(150)])
    assert list(kernel.join.on_rows(0, rows)) == []
    with result_blocks(1000):
        sizes = [len(block) for block in kernel.join.on_rows(1, rows)]
    assert sum(sizes) == 150 * 150
    assert max(sizes) == 1000


def test_both_ends_of_a_window_count() -> None:
    """A time line by hand: a lives on [10, 15], b on [15, 35]; they meet at 15 and only there."""
    kernel = Kernel([5, 20])
    assert kernel.batch([[Row((1,), 10, 1)], []]) == []
    assert kernel.batch([[], [Row((1,), 15, 2)]]) == [(1, 2, 15)]
    assert kernel.batch([[], [Row((1,), 16, 3)]]) == []
    # The other end: b of time 15 lives until 35, so an a of time 35 meets it and one of time 36 does not.
    assert kernel.batch([[Row((1,), 36, 4)], []]) == [(4, 3, 36)]
    assert kernel.batch([[Row((1,), 35, 5)], []]) == [(5, 2, 35), (5, 3, 35)]


def test_all_rows_of_a_result_are_alive_at_one_instant() -> None:
    """Each row meets the next one, and still the first and the last do not meet."""
    kernel = Kernel([10, 10, 10])
    assert kernel.batch([[Row((1,), 0, 1)], [Row((1,), 8, 2)], [Row((1,), 11, 3)]]) == []
    # One moment earlier there is an instant for all three, the last of the first row.
    assert kernel.batch([[], [], [Row((1,), 10, 4)]]) == [(1, 2, 4, 10)]


@pytest.mark.parametrize("rows", [1, 2])
def test_blocks_that_are_held_keep_their_times(rows: int) -> None:
    """A block that shares memory with the next one would show when all are read at the end."""
    kernel = Kernel([10, 10])
    kernel.batch([[Row((1,), 0, 5)], []])
    with result_blocks(rows):
        blocks = list(kernel.join.on_rows(1, columns_of([Row((1,), time, time) for time in range(6)])))
    assert sorted(time for block in blocks for time in block.times.tolist()) == [0, 1, 2, 3, 4, 5]
