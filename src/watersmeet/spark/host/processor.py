"""The stateful operator: one group per bucket, and the ledger group that keeps the books."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from watersmeet.errors import CheckpointMismatch
from watersmeet.kernel.judge import judge_of
from watersmeet.kernel.keytext import key_text
from watersmeet.kernel.operator import Kernel, kernel_for
from watersmeet.kernel.results import Results, gathered
from watersmeet.kernel.sampling import hottest_key, key_figures
from watersmeet.kernel.slicing import Slicing
from watersmeet.optimize.adapt import Adaptive
from watersmeet.plan.identity import difference
from watersmeet.plan.layout import Ref
from watersmeet.spark.allocator import own_memory, return_freed_memory
from watersmeet.spark.blobs import UNPACK_BYTES, limited, unpack
from watersmeet.spark.budget import refuse_large_batch
from watersmeet.spark.frames import arrow_frame
from watersmeet.spark.output import FRAME_BYTES, output_of
from watersmeet.spark.report import hot_key_numbers, path_number
from watersmeet.spark.room import give_room, staying
from watersmeet.spark.shelf import shelf_for
from watersmeet.spark.state import MANIFEST, BucketState
from watersmeet.spark.task import JoinTask

if TYPE_CHECKING:
    import pandas as pd


def new_join(task: JoinTask, bucket: int, new_id: Callable[[], str]) -> Kernel:
    """An empty kernel for a bucket of a task."""
    join = kernel_for(task.plan, task.operator, task.layout, new_id)
    if task.operator.sliced:
        join.slicing = Slicing(bucket, task.plan.buckets, task.plan.active or task.plan.buckets)
        near = task.operator.near
        if near is not None:
            refs = [Ref(field.stream, field.column) for field in (near.left, near.right)]
            places = [spec.stored.index(ref) for spec, ref in zip(task.layout.inputs, refs, strict=True)]
            join.slicing.near = near, (places[0], places[1])
    return join


class Stopwatch:
    """Microseconds spent in the kernel, leaving out the time the reader of the results takes."""

    def __init__(self) -> None:
        """Start at zero."""
        self.spent_us = 0

    def over(self, blocks: Iterator[Results]) -> Iterator[Results]:
        """Pass blocks through, timing how long each takes to come."""
        while True:
            start = time.perf_counter_ns()
            block = next(blocks, None)
            self.spent_us += (time.perf_counter_ns() - start) // 1000
            if block is None:
                return
            yield block


def join_blobs(
    task: JoinTask, join: Kernel, blobs: dict[int, list[Any]], watch: Stopwatch, until: int | None = None
) -> Iterator[Results]:
    """Feed one batch to a join, input by input.

    `until` is the time up to which all rows are known then; None takes the watermark.
    """
    bounded = task.plan.bounded
    most_bytes = UNPACK_BYTES if bounded is None else bounded.open_bytes
    for number in sorted(blobs):
        for some in limited(blobs[number], most_bytes):
            start = time.perf_counter_ns()
            found = join.on_rows(number, unpack(some, task.spec(number)))
            watch.spent_us += (time.perf_counter_ns() - start) // 1000
            yield from watch.over(found)
    yield from watch.over(join.on_batch(join.watermark if until is None else until))


def bucket_metrics(task: JoinTask, bucket: int, join: Kernel, watch: Stopwatch) -> dict[str, int | None]:
    """What a bucket reports of a batch, without the size of its state.

    Rows that all buckets get are counted by the first one.
    """
    counts = join.take_counts()
    values: dict[str, int | None] = {
        "buckets": 1,
        "results": counts.results,
        "rows_examined": counts.examined,
        "lookups": counts.lookups,
        "kernel_us": watch.spent_us,
    }
    if isinstance(join.planner, Adaptive):
        values["path_changes"] = join.planner.take_changes()
        for number, state in enumerate(join.planner.heads):
            values[f"path_{number}"] = path_number(state.path)
    for number, spec in enumerate(task.inputs):
        if spec.replicated and bucket > 0:
            continue
        values[f"late_{number}"] = counts.late[number]
        if number not in join.streams:
            # Rows of streams were counted when they were packed.
            values[f"rows_{number}"] = counts.rows_in[number]
    return values


def function_metrics(task: JoinTask) -> dict[str, int | None]:
    """What functions were asked in a batch."""
    values: dict[str, int | None] = {}
    for number, function in enumerate(task.functions):
        asked = judge_of(function).take()
        values |= {
            f"pairs_{number}": asked.pairs,
            f"held_{number}": asked.held,
            f"asked_us_{number}": round(asked.seconds * 1e6),
            f"unlike_{number}": asked.unlike,
        }
    return values


def key_metrics(task: JoinTask, join: Kernel) -> dict[str, int | None]:
    """How many different keys a bucket holds of each input, and the one with the most rows if it is hot.

    The only key of an input is reported if there is no hot one; `spark.report` drops it unless it is hot.
    """
    values: dict[str, int | None] = {}
    hottest: tuple[tuple[bool, float, int], dict[str, int | None]] | None = None
    for number, (spec, window) in enumerate(zip(task.inputs, join.windows, strict=False)):
        if spec.replicated or not spec.key_types:
            continue
        figures = key_figures(window.runs)
        values[f"keys_{number}"] = figures.distinct
        hot = hottest_key(window.runs, figures)
        if hot is None:
            continue
        rank = figures.distinct > 1, hot.rows / window.rows, hot.rows
        if hottest is None or rank > hottest[0]:
            text = key_text(hot.run, hot.key, spec.key_types)
            hottest = rank, hot_key_numbers(hot.rows, window.rows, number, text)
    return values if hottest is None else values | hottest[1]


def grouped_blobs(frames: Iterator[pd.DataFrame]) -> dict[int, list[Any]]:
    """Blobs by input; heartbeats carry none.

    They come in the order in which they were fetched. In one of their own, a batch that is run again does the
    same again.
    """
    blobs: dict[int, list[Any]] = {}
    for frame in frames:
        for number, blob in zip(frame["input"], frame["blob"], strict=True):
            if blob is not None:
                blobs.setdefault(int(number), []).append(blob)
    return {number: sorted(some) for number, some in blobs.items()}


class JoinProcessor:
    """What happens inside Spark's operator; `spark.ship` wraps it for pickling."""

    def __init__(self, task: JoinTask, handle: Any, blobs: Any) -> None:
        """Prepare what all groups share.

        Args:
            task: The join.
            handle: Spark's handle, for timers.
            blobs: The map state of the current group.
        """
        self._task = task
        self._handle = handle
        self._blobs = blobs
        self._output = output_of(task)
        self._bucket_of = {label: bucket for bucket, label in enumerate(task.labels)}

    def rows(self, key: Any, frames: Iterator[pd.DataFrame], timers: Any) -> Iterator[pd.DataFrame]:
        """Process the packed rows of one group."""
        label = int(key[0])
        blobs = grouped_blobs(frames)
        if label == self._task.ledger:
            yield from map(arrow_frame, self._output.heartbeats())
            yield arrow_frame(self._output.metrics(keep_ledger(self._task, self._blobs, blobs)))
            return
        bucket, bounded = self._bucket_of[label], self._task.plan.bounded
        if bounded is not None:
            # Results of another operator come in pieces, however many they are.
            streams = [some for number, some in blobs.items() if self._task.spec(number).stream is not None]
            refuse_large_batch(bounded, sum(len(blob) for some in streams for blob in some))
        state, join = self._open(bucket, timers)
        watch = Stopwatch()
        for block in gathered(join_blobs(self._task, join, blobs, watch), FRAME_BYTES):
            yield arrow_frame(self._output.results(block))
        values = self._close(bucket, state, join, watch)
        if bounded is None:
            values.update(key_metrics(self._task, join))
        else:
            # Keys are not counted, for that all runs would have to be opened.
            values["worker_bytes"] = own_memory()
            del state, join
            return_freed_memory()
        yield arrow_frame(self._output.metrics(values))

    def expired(self, key: Any, timers: Any) -> Iterator[pd.DataFrame]:
        """Join what has waited and let go of expired state when no rows come."""
        bucket = self._bucket_of[int(key[0])]
        state, join = self._open(bucket, timers)
        state.manifest.timer_ms = None  # Spark deletes a timer that has fired
        watch = Stopwatch()
        for block in gathered(join_blobs(self._task, join, {}, watch), FRAME_BYTES):
            yield arrow_frame(self._output.results(block))
        values = self._close(bucket, state, join, watch)
        del state, join
        if self._task.plan.bounded is not None:
            values["worker_bytes"] = own_memory()
            return_freed_memory()
        yield arrow_frame(self._output.metrics(values))

    def _open(self, bucket: int, timers: Any) -> tuple[BucketState, Kernel]:
        state = bucket_state(self._task, bucket, self._blobs)
        join = new_join(self._task, bucket, state.new_name)
        if join.slicing is not None:
            join.slicing.shares = state.manifest.shares
        for function, asked in zip(self._task.functions, state.manifest.asked, strict=False):
            judge_of(function).before = asked
        if self._task.plan.adaptive:
            join.planner = Adaptive.of(self._task.operator, state.manifest.paths)
        state.load(join, [spec.kept for spec in self._task.inputs])
        if self._task.plan.bounded is not None:
            give_room(self._task.plan.bounded, join, state)
        # Zero before the first watermark: Spark refuses results at or before that as well.
        join.watermark = timers.getCurrentWatermarkInMs() * 1000
        return state, join

    def _close(
        self, bucket: int, state: BucketState, join: Kernel, watch: Stopwatch
    ) -> dict[str, int | None]:
        start = time.perf_counter_ns()
        join.on_watermark(join.watermark)
        watch.spent_us += (time.perf_counter_ns() - start) // 1000
        self._set_timer(state, join)
        if isinstance(join.planner, Adaptive):
            state.manifest.paths = join.planner.remember()
        # They have not been taken yet, and count as well.
        judges = [judge_of(function) for function in self._task.functions]
        state.manifest.asked = [judge.before.plus(judge.now) for judge in judges]
        limited = self._task.plan.bounded is not None
        stay = staying(self._task, join, state) if limited else None
        state.save(join, self._task.identity)
        if stay is not None:
            state.close_others(stay)
        values = bucket_metrics(self._task, bucket, join, watch) | function_metrics(self._task)
        for number in range(len(self._task.inputs)):
            entries = state.entries(join, number)
            values[f"live_{number}"] = sum(entry.rows for entry in entries)
            values[f"state_bytes_{number}"] = sum(entry.length for entry in entries)
            values[f"memory_bytes_{number}"] = sum(
                entry.size or entry.length for entry in entries if stay is None or entry.id in stay
            )
        return values

    def _set_timer(self, state: BucketState, join: Kernel) -> None:
        expiry = join.next_expiry()
        wanted = None if expiry is None else -(-expiry // 1000)
        current = state.manifest.timer_ms
        if wanted == current:
            return
        if current is not None:
            self._handle.deleteTimer(current)
        if wanted is not None:
            self._handle.registerTimer(wanted)
        state.manifest.timer_ms = wanted


def keep_ledger(task: JoinTask, blobs: Any, reports: dict[int, list[Any]]) -> dict[str, int | None]:
    """Check that the checkpoint is ours, and add up what the pack tasks saw."""
    stored = blobs.getValue(MANIFEST)
    fresh: dict[str, Any] = {"identity": task.identity, "newest": {}}
    books: dict[str, Any] = json.loads(stored[0]) if stored is not None else fresh
    refuse_other_query(books["identity"], task.identity)
    newest: dict[str, int] = books["newest"]
    values = ledger_metrics([json.loads(blob) for some in reports.values() for blob in some], newest)
    streams = {i: spec.stream for i, spec in enumerate(task.inputs) if spec.stream is not None}
    lags = {
        i: newest[str(i)] - task.plan.query.streams[stream].lateness_us
        for i, stream in streams.items()
        if str(i) in newest
    }
    # A stream that has sent nothing yet holds the watermark at its start.
    silent = [i for i in streams if i not in lags]
    values["holder"] = silent[0] if silent else min(lags, key=lambda i: (lags[i], i), default=None)
    books["identity"] = task.identity
    blobs.updateValue(MANIFEST, (json.dumps(books).encode(),))
    return values


def ledger_metrics(reports: list[dict[str, Any]], newest: dict[str, int]) -> dict[str, int | None]:
    """Sums over the reports of the pack tasks; `newest` is brought up to date."""
    values: dict[str, int | None] = {}
    for report in reports:
        number = report["input"]
        for kind in ("rows", "null_times", "future_times", "null_keys"):
            values[f"{kind}_{number}"] = (values.get(f"{kind}_{number}") or 0) + report[kind]
        if report["newest"] is not None:
            newest[str(number)] = max(newest.get(str(number), report["newest"]), report["newest"])
    for key, value in newest.items():
        values[f"newest_us_{key}"] = value
    return values


def refuse_other_query(stored: str, current: str) -> None:
    """Stop before state of one query is read by another."""
    if stored != current and (reason := difference(stored, current)):
        raise CheckpointMismatch(
            "the checkpoint was written by a different query",
            f"{reason}.",
            "start with a new checkpoint location, or restore the query as it was.",
        )


def bucket_state(task: JoinTask, bucket: int, blobs: Any) -> BucketState:
    """What is kept of a bucket; refused if another query has kept it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    query_id = (context.getLocalProperty("sql.streaming.queryId") if context else None) or "query"
    state = BucketState(
        blobs, shelf_for(query_id, task.name, bucket, strict=task.plan.endless), task.identity
    )
    refuse_other_query(state.manifest.identity, task.identity)
    return state


PROCESSOR = JoinProcessor
