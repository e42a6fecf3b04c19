"""Paths that change while rows come, and what the windows tell about their keys.

Would catch: a result that is lost or doubled when a bucket changes its mind, a sample that is not of the
same keys in all windows, a bucket that never learns or never rests, a hot key that nobody notices.
"""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import KEPT, Kernel, plan_for
from oracles import reference
from oracles.reference import Row, assert_same_rows
from watersmeet.kernel.hot_keys import hottest_key, key_figures
from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.keytext import key_text
from watersmeet.kernel.run import Rows, build_run
from watersmeet.kernel.sampling import Look, sample_windows
from watersmeet.kernel.time_slices import TimeSlice
from watersmeet.kernel.window import StoredRun
from watersmeet.optimize.adapt import Adaptive, HeadState
from watersmeet.plan import ProbePath
from watersmeet.stats.key_sample import KeySample


class Whims:
    """A planner that takes any way it likes, and looks at the keys for no reason."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def path(self, head: int, rows: Sequence[int], look: Look) -> ProbePath:
        sample = look()
        assert sample.rows.shape[1] == len(rows)
        return ProbePath.of(head, self._data.draw(st.permutations(range(len(rows)))))


@given(histories(late_rows=True), st.data(), st.booleans())
def test_any_change_of_path_at_any_time_gives_the_same_bag(
    history: History, data: st.DataObject, stored: bool
) -> None:
    kernel = Kernel(history.windows, stored=stored)
    kernel.join.planner = Whims(data)
    assert_same_rows(kernel.run(history), reference.join(history.tables()))


def adaptive(kernel: Kernel, streams: int) -> Adaptive:
    others = [tuple(s for s in range(streams) if s != head) for head in range(streams)]
    planner = Adaptive([HeadState(ProbePath(*path)) for path in enumerate(others)], stages=False)
    kernel.join.planner = planner
    return planner


def test_a_bucket_learns_which_window_is_small_and_then_rests() -> None:
    """Stream 2 has few keys in the first half, stream 1 in the second."""
    random = np.random.default_rng(1)
    kernel = Kernel([50, 50, 50])
    planner = adaptive(kernel, 3)
    firsts = []
    changes = []
    for batch in range(40):
        start = 20 * batch
        small = 2 if batch < 20 else 1
        rows = [
            [
                Row((int(k),), start + int(t), 0)
                for k, t in zip(
                    random.integers(0, 200, 20 if s == small else 400),
                    random.integers(0, 20, 20 if s == small else 400),
                    strict=True,
                )
            ]
            for s in range(3)
        ]
        kernel.batch(rows, start - 1 if batch else None)
        firsts.append(planner.heads[0].path.sequence.index(2) < planner.heads[0].path.sequence.index(1))
        changes.append(planner.take_changes())
    assert all(firsts[5:20]), "the small window is visited first"
    assert not any(firsts[26:]), "and so is the other one once the rates have changed"
    assert sum(changes[8:20]) == 0, "nothing moves while nothing changes"
    assert sum(changes[30:]) == 0
    assert sum(changes) < 20


def test_what_is_remembered_is_what_goes_on() -> None:
    plan = plan_for([50, 50, 50])
    operator = plan.root
    planner = Adaptive.of(plan.query, operator)
    planner.heads[1] = HeadState(ProbePath.of(1, (2, 1, 0)), (5, 6, 7), 3)
    later = Adaptive.of(plan.query, operator)
    later.recall(planner.remember())
    assert later.heads == planner.heads
    other = replace(operator, paths=(ProbePath(0, (2, 1)), *operator.paths[1:]))
    anew = Adaptive.of(plan.query, other)
    anew.recall(planner.remember())
    assert anew.heads[1].path == other.paths[1], "another plan starts anew"


def stored(keys: Sequence[object], kind: pa.DataType | None = None) -> StoredRun:
    columns = [pa.array(keys, kind)]
    return stored_columns(columns)


def stored_columns(columns: list[pa.Array]) -> StoredRun:
    n = len(columns[0])
    times = np.arange(n)
    values = pa.record_batch([pa.array(range(n), pa.int64())], schema=KEPT)
    run = build_run(Rows(encode_keys(columns), times, values))
    return StoredRun("run", TimeSlice(1, 0), n, 0, n, lambda: run)


@given(st.lists(st.lists(st.integers(0, 3000), min_size=1, max_size=400), min_size=1, max_size=3))
def test_a_sample_counts_the_same_keys_in_all_windows(inputs: list[list[int]]) -> None:
    visible = [
        [stored(keys[::2]), stored(keys[1::2])] if len(keys) > 1 else [stored(keys)] for keys in inputs
    ]
    sample = sample_windows(visible, frozenset())
    for column, keys in enumerate(inputs):
        if sample.share == 1.0:
            assert sample.rows[:, column].sum() == len(keys)
        assert sample.rows[:, column].max(initial=0) <= max(map(keys.count, keys))
    everywhere = set.intersection(*map(set, inputs))
    found = int((sample.rows > 0).all(axis=1).sum())
    assert found <= len(everywhere)
    assert found == len(everywhere) or sample.share < 1


def test_a_sample_of_many_keys_estimates_sizes() -> None:
    """One sample is off by some ten per cent; it must not be off on average."""
    off = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        left, right = random.integers(0, 20_000, 60_000), random.integers(0, 5_000, 30_000)
        true = sum(np.bincount(left, minlength=20_000)[:5000] * np.bincount(right, minlength=5000))
        # Other values have other hashes.
        left, right = left + 100_000 * seed, right + 100_000 * seed
        visible = [[stored(left[i::3]) for i in range(3)], [stored(right)]]
        sample: KeySample = sample_windows(visible, frozenset())
        assert sample.share < 0.1
        off.append((sample.rows[:, 0] * sample.rows[:, 1]).sum() / sample.share / true)
        assert key_figures(visible[0]).distinct == pytest.approx(len(np.unique(left)), rel=0.25)
        assert key_figures(visible[1]).distinct == pytest.approx(len(np.unique(right)), rel=0.25)
    assert np.mean(off) == pytest.approx(1, abs=0.1)


def test_figures_about_keys_are_exact_when_there_are_few() -> None:
    assert key_figures([stored([1, 2, 2, 3]), stored([3, 4])]) == (4, 1)
    assert key_figures([stored([1, 1, 1, 2])]) == (2, 1), "of two in the middle the smaller"
    assert key_figures([]) == (0, 0)


def found(*runs: Sequence[int]) -> tuple[str, int] | None:
    """The hottest key of a window and its rows."""
    window = [stored(run) for run in runs]
    hot = hottest_key(window, key_figures(window))
    return None if hot is None else (key_text(hot.run, hot.key, [pa.int64()]), hot.rows)


def test_a_hot_key_is_found_over_all_runs() -> None:
    assert found(*[[*range(i, 2000, 4)] for i in range(4)]) is None
    assert found(*[[*range(i, 2000, 4), *[7] * 60] for i in range(4)]) == ("7", 4 * 60 + 1)


@pytest.mark.parametrize("keys", [2, 5, 16, 1000])
def test_a_hot_key_is_found_among_any_number_of_keys(keys: int) -> None:
    others = [key for key in range(1, keys) for _ in range(10)]
    least = max(16 * 10, math.ceil(len(others) / 19))
    assert found([0] * least + others) == ("0", least)
    assert found([0] * (least - 1) + others) is None, "less than 16 times the usual key or 5 % of all rows"
    assert found([0] * 10 + others) is None, "all alike"


def test_few_rows_are_not_hot_and_two_hot_keys_do_not_hide_each_other() -> None:
    assert found([0] * 99 + [1]) is None
    assert found([0] * 100 + [1]) == ("0", 100)
    assert found([0] * 900 + [1] * 1000 + [2, 3, 4]) == ("1", 1000)


def test_the_only_key_of_a_window_is_left_to_those_who_know_the_others() -> None:
    assert found([5] * 100) == ("5", 100)
    assert found([5] * 99) is None


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (-42, pa.int32(), "-42"),
        (True, pa.bool_(), "true"),
        (-0.5, pa.float64(), "-0.5"),
        ("Zürich", pa.string(), "Zürich"),
        (b"\x01\xff", pa.binary(), "0x01ff"),
        (Decimal("-12.34"), pa.decimal128(9, 2), "-12.34"),
        (Decimal("-123456789012345678901.5"), pa.decimal128(38, 1), "-123456789012345678901.5"),
        (dt.date(2026, 5, 1), pa.date32(), "2026-05-01"),
        (
            dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC),
            pa.timestamp("us", tz="UTC"),
            "2026-05-01 12:00:00+00:00",
        ),
    ],
)
def test_a_key_is_shown_as_it_was(value: object, kind: pa.DataType, text: str) -> None:
    alone = stored([value], kind).run
    assert key_text(alone, 0, [kind]) == text
    pair = stored_columns([pa.array([value], kind), pa.array(["x, y"])]).run
    assert key_text(pair, 0, [kind, pa.string()]) == f"{text}, x, y"


def test_a_nested_key_is_shown_as_bytes() -> None:
    kind = pa.list_(pa.int32())
    run = stored_columns([pa.array([1]), pa.array([[1, 2]], kind), pa.array(["z"])]).run
    assert key_text(run, 0, [pa.int64(), kind, pa.string()]).startswith("1, 0x")


@pytest.mark.parametrize("streams", [3, 4])
def test_equal_streams_are_not_joined_at_more_cost_than_as_written(streams: int) -> None:
    """Going through a window of many pieces is dearer than it looks."""
    visits = []
    for planned in (False, True):
        random = np.random.default_rng(2)
        kernel = Kernel([20_000] * streams)
        if planned:
            adaptive(kernel, streams)
        for batch in range(16):
            rows = [
                [
                    Row((int(k),), 5000 * batch + int(t), 0)
                    for k, t in zip(random.integers(0, 200, 200), random.integers(0, 5000, 200), strict=True)
                ]
                for _ in range(streams)
            ]
            kernel.batch(rows, 5000 * (batch - 1) if batch else None)
            if batch == 7:
                kernel.join.take_counts()
        counts = kernel.join.take_counts()
        visits.append(counts.examined + counts.lookups)
    assert visits[1] <= 1.05 * visits[0]


def test_a_few_keys_are_enough_when_they_are_all() -> None:
    kernel = Kernel([50, 50, 50])
    planner = adaptive(kernel, 3)
    for batch in range(6):
        start = 20 * batch
        rows = [[Row((k % 5,), start + k % 20, k) for k in range(n)] for n in (20, 100, 2)]
        kernel.batch(rows, start - 1 if batch else None)
    order = planner.heads[0].path.sequence
    assert order.index(2) < order.index(1)
