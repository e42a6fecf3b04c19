"""A bucket of a join in bounded memory: real rows, runs and blobs instead of numbers.

Would catch: stamps that do not survive a merge or a restart, rows of one partition looked for in another,
equal hashes taken for equal keys, a memory that keeps more than its budget, merges that write everything
again, rows taken after the end of their stream.
"""

from collections import Counter
from dataclasses import replace
from itertools import count, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.cost.progressive import recent_volume
from watersmeet.kernel.blob import from_blob, to_blob
from watersmeet.kernel.keys import Keys, encode_keys
from watersmeet.kernel.progressive.bucket import ProgressiveBucket
from watersmeet.kernel.run import Rows, Run
from watersmeet.kernel.window import StoredRun
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.progressive.policies import policy
from watersmeet.plan import Plan
from watersmeet.plan.layout import layouts
from watersmeet.query import Column, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import UNBOUNDED

KEPT = pa.schema([("value", pa.int64())])


def endless_plan(key: str) -> Plan:
    columns = (Column("k", key), Column("ts", "timestamp"), Column("value", "bigint"))
    streams = [Stream(name, columns, "ts", UNBOUNDED) for name in ("a", "b")]
    return choose_plan(
        join_query(streams, "k", ["a.value", "b.value"], "inner", ColumnsOnly(), memory=1 << 20)
    )


PLANS = {"bigint": endless_plan("bigint"), "string": endless_plan("string")}


class Bucket:
    """A bucket and what came of it; between batches it goes through blobs as it does when it moves."""

    def __init__(self, seed: int, key: str, algorithm: str, budget: int, bits: int) -> None:
        self.random = np.random.default_rng(seed)
        self.key, self.budget = key, budget
        names = count()
        plan = PLANS[key]
        assert plan.bounded is not None
        plan = replace(plan, bounded=replace(plan.bounded, bits=bits))

        def new() -> ProgressiveBucket:
            return ProgressiveBucket.from_plan(
                plan,
                plan.root,
                layouts(plan)[plan.root],
                lambda: str(next(names)),
                policy=policy(algorithm),
                memory=budget,
                recent=recent_volume,
            )

        self.new = new
        self.bucket = new()
        self.sent: list[list[Any]] = [[], []]
        self.found: list[tuple[int, int]] = []

    def keep(self, results: Any) -> None:
        for block in results:
            columns = [column.to_pylist() for some in block.columns for column in some]
            self.found += zip(*columns, strict=True)

    def batch(self, most: int) -> None:
        for side in (0, 1):
            rows = int(self.random.integers(0, most + 1))
            if rows:
                self.send(side, rows)
                assert self.bucket.join.in_memory <= self.bucket.join.capacity

    def send(self, side: int, rows: int) -> None:
        keys = self.random.integers(0, 12, rows)
        first = len(self.sent[side])
        self.sent[side] += keys.tolist()
        values = pa.array(np.arange(first, first + rows))
        column = pa.array(keys) if self.key == "bigint" else pa.array([f"key {key}" for key in keys])
        encoded = encode_keys([column])
        if encoded.encoded is not None:
            # Many keys share a hash, and only their bytes tell them apart.
            encoded = Keys(encoded.hashes & np.uint64(0xC000000000000003), encoded.encoded)
        times = self.random.integers(-(10**15), 10**15, rows)
        self.keep(self.bucket.on_rows(side, Rows(encoded, times, pa.record_batch([values], schema=KEPT))))

    def end_batch(self) -> None:
        self.keep(self.bucket.on_batch(0))

    def move(self) -> None:
        """To another worker: all that is kept is what a host keeps."""
        old, self.bucket = self.bucket, self.new()
        for window, stored in zip(self.bucket.windows, old.windows, strict=True):
            stored.take_changes()
            for run in stored.runs:
                opened = from_blob(to_blob(run.run))
                window.runs.append(replace(run, open=lambda opened=opened: opened))
        self.bucket.restore(old.remember())

    def expected(self) -> Counter[tuple[int, int]]:
        return Counter(
            (one, other)
            for (one, left), (other, right) in product(enumerate(self.sent[0]), enumerate(self.sent[1]))
            if left == right
        )


def silence(bucket: ProgressiveBucket, work: int) -> Any:
    bucket.work = work
    return bucket.on_silence()


@pytest.mark.parametrize("algorithm", ["rpj", "rpj-md", "rpj-dd", "xjoin", "hmj"])
@settings(max_examples=20)
@given(
    key=st.sampled_from(["bigint", "string"]),
    seed=st.integers(0, 1 << 30),
    budget=st.integers(100, 4000),
    bits=st.integers(0, 3),
    batches=st.integers(1, 10),
)
def test_every_pair_once(algorithm: str, key: str, seed: int, budget: int, bits: int, batches: int) -> None:
    bucket = Bucket(seed, key, algorithm, budget, bits)
    for _ in range(batches):
        step = bucket.random.random()
        if step < 0.6:
            bucket.batch(10)
        elif step < 0.8:
            bucket.keep(silence(bucket.bucket, 0))
        bucket.end_batch()
        held = bucket.bucket.join.books.memory.sum()
        assert held == sum(
            run.rows for windows in bucket.bucket.store.memory for w in windows for run in w.runs
        )
        if bucket.random.random() < 0.5:
            bucket.move()
    for side in (0, 1):
        bucket.bucket.on_end(side)
    bucket.end_batch()
    assert bucket.bucket.finished
    assert Counter(bucket.found) == bucket.expected()


def test_rows_after_the_end_are_refused_and_counted() -> None:
    bucket = Bucket(1, "bigint", "rpj", 4000, 1)
    bucket.batch(10)
    bucket.bucket.on_end(0)
    before = bucket.expected()
    sent = len(bucket.sent[0])
    bucket.send(0, 5)
    bucket.move()
    bucket.send(0, 7)
    counted = bucket.bucket.take_metrics()
    assert (counted["late_0"], counted["late_1"]) == (7, 0)
    del bucket.sent[0][sent:]
    bucket.bucket.on_end(1)
    bucket.end_batch()
    assert Counter(bucket.found) == before


@pytest.mark.parametrize("algorithm", ["rpj", "xjoin", "hmj"])
def test_memory_is_kept_to_where_rows_of_one_side_are_large(algorithm: str) -> None:
    budget = 400_000
    plan = PLANS["bigint"]
    plan = replace(plan, bounded=replace(plan.bounded, bits=1))
    names = count()
    bucket = ProgressiveBucket.from_plan(
        plan,
        plan.root,
        layouts(plan)[plan.root],
        lambda: str(next(names)),
        policy=policy(algorithm),
        memory=budget,
        recent=recent_volume,
    )
    random = np.random.default_rng(1)
    schema = pa.schema([("value", pa.binary())])
    for _ in range(40):
        for side, rows, width in ((0, 3, 10_000), (1, 300, 10)):
            keys = pa.array(random.integers(0, 100, rows))
            values = pa.array([bytes(width)] * rows, pa.binary())
            new = Rows(
                encode_keys([keys]), np.zeros(rows, np.int64), pa.record_batch([values], schema=schema)
            )
            for _block in bucket.on_rows(side, new):
                pass
            assert bucket.store.bytes_in_memory <= 1.1 * budget
        list(bucket.on_batch(0))
    assert all(bucket.join.books.disk.sum(axis=1) + bucket.join.books.memory.sum(axis=1) == [120, 12_000])
    assert bucket.store.bytes_in_memory > 0.5 * budget


def test_merges_in_silence_write_no_run_larger_than_a_flush() -> None:
    bucket = Bucket(1, "bigint", "rpj-dd", 4000, 0)
    merged = 0
    for _ in range(40):
        bucket.batch(20)
        bucket.end_batch()
        bucket.move()
        before = {run.id for window in bucket.bucket.windows for run in window.runs}
        bucket.keep(silence(bucket.bucket, 1000))
        new = [run for window in bucket.bucket.windows for run in window.runs if run.id not in before]
        assert all(run.size <= 1.1 * bucket.bucket.join.run_size for run in new)
        merged += len(new)
    assert merged > 0


def test_the_end_does_not_open_all_runs_at_once() -> None:
    bucket = Bucket(1, "bigint", "xjoin", 4000, 0)
    for _ in range(60):
        bucket.batch(20)
        bucket.end_batch()
    bucket.move()
    open_rows: dict[str, int] = {}
    most = 0
    store = bucket.bucket.store
    store.close_disk = open_rows.clear

    def watched(run: StoredRun) -> StoredRun:
        def opened() -> Run:
            nonlocal most
            open_rows[run.id] = run.rows
            most = max(most, sum(open_rows.values()))
            return run.run

        return replace(run, open=opened)

    for window in store.windows:
        window.runs = [watched(run) for run in window.runs]
    for runs in (runs for side in bucket.bucket.join.disk for runs in side):
        runs[:] = [replace(run, handle=watched(run.handle)) for run in runs]
    for side in (0, 1):
        bucket.bucket.on_end(side)
    everything = sum(window.rows for window in store.windows)
    bucket.end_batch()
    assert Counter(bucket.found) == bucket.expected()
    assert most <= 2 * store.most_open < everything
