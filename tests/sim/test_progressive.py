"""Joins in bounded memory: every pair once, whatever arrives, overflows or falls silent.

Would catch: a pair reported by a scan and again by a merge, one that is never reported, a memory
that grows past its capacity, runs out of order, books that do not tell what is where or what
a task would find.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.cost.progressive import arrival_probabilities, eta, recent_volume
from watersmeet.kernel.progressive.history import History
from watersmeet.kernel.progressive.join import ProgressiveJoin
from watersmeet.kernel.progressive.merge import progressive_merge
from watersmeet.kernel.progressive.store import DiskRun
from watersmeet.optimize.progressive.flush import (
    FlushRule,
    adaptive_pair,
    largest,
    optimal,
)
from watersmeet.optimize.progressive.policies import Rules, policy
from watersmeet.optimize.progressive.tasks import FastestOutput
from watersmeet.plan.progressive import Flush, MergeTask, ScanTask
from watersmeet.sim.progressive.store import Found, Kept, KeyRows, SimulatedStore

ALGORITHMS = ("rpj", "rpj-md", "rpj-dd", "xjoin", "hmj")
FLUSH_RULES = (optimal, largest, adaptive_pair)


def pairs_of(found: Iterator[Found]) -> list[tuple[int, int]]:
    """What was found, as row numbers."""
    pairs: list[tuple[int, int]] = []
    for block in found:
        assert block.pairs is not None
        assert len(block.pairs[0]) == block.count
        pairs += zip(*(numbers.tolist() for numbers in block.pairs), strict=True)
    return pairs


class Played:
    """A random history of arrivals, silences and units of time, and what came of it."""

    def __init__(self, seed: int, join: ProgressiveJoin, keys: int) -> None:
        self.random = np.random.default_rng(seed)
        self.join = join
        self.keys = keys
        self.sent: list[list[int]] = [[], []]
        self.found: list[tuple[int, int]] = []

    def arrive(self, most: int) -> None:
        side, rows = int(self.random.integers(2)), int(self.random.integers(1, most + 1))
        keys = self.random.integers(0, self.keys, rows)
        first = len(self.sent[side])
        self.sent[side] += keys.tolist()
        self.found += pairs_of(self.join.arrive(side, KeyRows(keys, np.arange(first, first + rows))))

    def expected(self) -> Counter[tuple[int, int]]:
        return Counter(
            (one, other)
            for (one, left), (other, right) in product(enumerate(self.sent[0]), enumerate(self.sent[1]))
            if left == right
        )


def new_join(
    rules: Rules, partitions: int, keys: int, capacity: int, flush_rows: int, fan_in: int = 2
) -> ProgressiveJoin:
    store = SimulatedStore(partitions, keys, page_rows=2)
    return ProgressiveJoin(store, rules, partitions, capacity, flush_rows, fan_in)


def check_books(join: ProgressiveJoin, sent: list[list[int]]) -> None:
    """Nothing is lost between memory and disk, and runs are sorted."""
    books = join.books
    assert join.in_memory <= join.capacity
    for side in (0, 1):
        here = np.bincount(np.asarray(sent[side], int) % join.partitions, minlength=join.partitions)
        assert (books.received[side] == here).all()
        assert (books.memory[side] + books.disk[side] == books.received[side]).all()
        for partition, runs in enumerate(join.disk[side]):
            assert sum(run.rows for run in runs) == books.disk[side][partition]
            for run in runs:
                assert (np.diff(run.handle.rows.keys) >= 0).all()
                assert len(run.handle.came) == run.rows
    assert books.scanning.min() >= 0
    assert books.merging.min() >= 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(
    seed=st.integers(0, 1 << 30),
    partitions=st.integers(1, 5),
    capacity=st.integers(1, 25),
    flush_rows=st.integers(1, 12),
    fan_in=st.integers(2, 4),
    steps=st.integers(1, 40),
)
def test_every_pair_once(
    algorithm: str, seed: int, partitions: int, capacity: int, flush_rows: int, fan_in: int, steps: int
) -> None:
    rules = policy(algorithm, FastestOutput(page_rows=2, fan_in=fan_in))
    history = Played(seed, new_join(rules, partitions, 8, capacity, flush_rows, fan_in), 8)
    for _ in range(steps):
        step = history.random.random()
        if step < 0.6:
            history.arrive(6)
        elif step < 0.9:
            history.found += pairs_of(history.join.idle())
        else:
            history.join.books.end_unit(recent_volume)
        check_books(history.join, history.sent)
    history.found += pairs_of(history.join.finish())
    assert Counter(history.found) == history.expected()


@pytest.mark.parametrize("rule", FLUSH_RULES)
@given(seed=st.integers(0, 1 << 30))
def test_any_flush_and_any_task_at_any_time(rule: FlushRule, seed: int) -> None:
    """Exactness does not hang on the order in which a policy does things."""
    random = np.random.default_rng(seed)

    def some_task(standing: Any, _disk: Any) -> ScanTask | MergeTask | None:
        partition = int(random.integers(len(standing.merging)))
        return MergeTask(partition) if random.random() < 0.4 else ScanTask(int(random.integers(2)), partition)

    history = Played(seed, new_join(Rules(rule, some_task), 3, 6, 12, int(random.integers(1, 8))), 6)
    for _ in range(30):
        if random.random() < 0.5:
            history.arrive(5)
        else:
            history.found += pairs_of(history.join.idle())
        if random.random() < 0.2 and history.join.in_memory:
            history.join.flush(int(random.integers(1, 6)))
    history.found += pairs_of(history.join.finish())
    assert Counter(history.found) == history.expected()


@pytest.mark.parametrize("rule", FLUSH_RULES)
@given(seed=st.integers(0, 1 << 30))
def test_with_one_key_per_partition_what_tasks_would_find_is_known_exactly(
    rule: FlushRule, seed: int
) -> None:
    keys = 3
    random = np.random.default_rng(seed)
    wanted: list[ScanTask | MergeTask] = []
    rules = Rules(rule, lambda _standing, _disk: wanted.pop())
    history = Played(seed, new_join(rules, keys, keys, 10, 4), keys)
    for _ in range(25):
        history.arrive(4)
        partition, side = int(random.integers(keys)), int(random.integers(2))
        books = history.join.books
        expected = (
            (MergeTask(partition), int(books.merging[partition]))
            if random.random() < 0.5
            else (ScanTask(side, partition), int(books.scanning[side][partition]))
        )
        wanted.append(expected[0])
        found = pairs_of(history.join.idle())
        assert len(found) == expected[1]
        after = (
            books.merging[partition]
            if isinstance(expected[0], MergeTask)
            else books.scanning[side][partition]
        )
        assert after == 0


def test_the_scan_that_found_a_pair_is_one_scan() -> None:
    """The example of Sect. 2.1: found when the second came, suppressed by a scan at 15 and by a merge."""
    history = History(scans=([], [15]))
    came, left = ([np.array([0]), np.array([5])], [np.array([10]), np.array([20])])
    assert history.seen(came, left).tolist() == [True]
    # The same scan counts for a pair that never met in memory ...
    assert history.seen([np.array([0]), np.array([11])], left).tolist() == [True]
    # ... but not one while the row was in memory and another after its partner had left (Fig. 7, line 7).
    apart = History(scans=([], [12, 30]))
    assert apart.seen([np.array([13]), np.array([11])], [np.array([14]), np.array([20])]).tolist() == [True]
    assert apart.seen([np.array([0]), np.array([18])], [np.array([17]), np.array([25])]).tolist() == [False]


def flushed(keys: list[int], numbers: list[int], tick: int) -> Kept:
    rows = KeyRows(np.asarray(keys), np.asarray(numbers))
    return Kept(rows, np.full(len(keys), tick), np.full(len(keys), tick))


def test_operations_of_a_merge() -> None:
    """Four runs and three, two at a time: two passes, and matching runs on the way (Sect. 2.2)."""
    store = SimulatedStore(1, 10)
    disk: tuple[list[DiskRun], list[DiskRun]] = ([], [])
    tags = iter(range(1, 100))
    for side, count in ((0, 4), (1, 3)):
        for number in range(count):
            tick = 10 * side + number
            disk[side].append(DiskRun(next(tags), 1, flushed([number], [number], tick)))
    history = History()
    seen: list[tuple[int, int]] = []

    class Watched(set[tuple[int, int]]):
        def update(self, *pairs: Iterable[tuple[int, int]]) -> None:
            new = [pair for some in pairs for pair in some]
            seen.extend(new)
            super().update(new)

    history.matched = Watched()
    found = pairs_of(progressive_merge(store, 0, disk, history, 2, lambda: next(tags)))
    assert sorted(found) == [(0, 0), (1, 1), (2, 2)]
    # r1 to r4 are 1 to 4, s1 to s3 are 5 to 7; s3 goes through its operation alone and keeps its tag.
    assert seen == [(8, 9), (10, 7), (11, 12)]
    assert [len(side) for side in disk] == [1, 1]
    assert pairs_of(progressive_merge(store, 0, disk, history, 2, lambda: next(tags))) == []


def test_runs_are_merged_up_to_a_size() -> None:
    """Of four runs with 2, 1, 3 and 1 rows, at most 3 in one; all are known to each other afterwards."""
    store = SimulatedStore(1, 10)
    tags = iter(range(1, 100))
    keys = [[0, 1], [2], [0, 1, 2], [3]]
    disk = tuple(
        [
            DiskRun(
                next(tags), len(some), flushed(some, [10 * place + key for key in some], 10 * side + place)
            )
            for place, some in enumerate(keys)
        ]
        for side in (0, 1)
    )
    history = History()
    found = pairs_of(progressive_merge(store, 0, (disk[0], disk[1]), history, 99, lambda: next(tags), (3, 3)))
    assert len(found) == len(set(found)) == 3 * 4 + 1
    assert [[run.rows for run in side] for side in disk] == [[3, 3, 1], [3, 3, 1]]
    assert len(history.matched) == 9
    assert (
        pairs_of(progressive_merge(store, 0, (disk[0], disk[1]), history, 99, lambda: next(tags), (3, 3)))
        == []
    )


@given(
    memory=st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=2, max_size=2),
    received=st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=2, max_size=2),
    recent=st.lists(st.floats(0, 9), min_size=2, max_size=2),
    rows=st.integers(1, 8),
)
def test_the_optimal_flush_leaves_the_most_hope(
    memory: list[list[int]], received: list[list[int]], recent: list[float], rows: int
) -> None:
    arriving = arrival_probabilities(received, recent)
    rows = min(rows, sum(map(sum, memory)))

    def left(flushes: list[Flush]) -> float:
        table = [list(side) for side in memory]
        for flush in flushes:
            table[flush.side][flush.partition] -= flush.rows
        return eta(table, arriving)

    cells = [(side, partition) for side in (0, 1) for partition in (0, 1)]
    every = [
        left([Flush(*cell, count) for cell, count in zip(cells, counts, strict=True)])
        for counts in product(*(range(memory[side][partition] + 1) for side, partition in cells))
        if sum(counts) == rows
    ]
    chosen = optimal(memory, arriving, rows)
    assert sum(flush.rows for flush in chosen) == rows
    assert left(chosen) == pytest.approx(max(every))


def test_the_past_decays() -> None:
    join = new_join(policy("rpj"), 1, 1, 1000, 10)
    list(join.arrive(0, KeyRows(np.zeros(80, int), np.arange(80))))
    shares = []
    for _ in range(4):
        join.books.end_unit(lambda before, now: recent_volume(before, now, decay=0.75))
        shares.append(join.books.recent[0])
    assert shares == [80, 80 * 0.75, 80 * 0.75**2, 80 * 0.75**3]
