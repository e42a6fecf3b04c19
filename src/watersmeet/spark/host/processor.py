"""The stateful operator: a batch of one bucket, from what has come to what leaves; and the ledger's.

arrivals -> bucket.on_start, on_rows, on_message, on_silence, on_end, on_batch, on_watermark -> output
            state before and after
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.bucket import Bucket, Message, Metrics
from watersmeet.kernel.content import in_order
from watersmeet.kernel.ipc import from_ipc
from watersmeet.kernel.judge import Answers, judge_of
from watersmeet.kernel.numbers import TEXT_WORDS, text_of
from watersmeet.kernel.results import Results, gathered
from watersmeet.spark.host.allocator import own_memory, return_freed_memory
from watersmeet.spark.host.arrivals import Arrivals
from watersmeet.spark.host.blobs import UNPACK_BYTES, limited, opened, rows_in
from watersmeet.spark.host.frames import arrow_frame
from watersmeet.spark.host.hot_check import HotCheck, may_spread
from watersmeet.spark.host.hot_notes import hot_notes
from watersmeet.spark.host.hot_rows import HotInput
from watersmeet.spark.host.ledger import keep_ledger, refuse_other_query
from watersmeet.spark.host.local_runs import local_runs_for
from watersmeet.spark.host.mail_books import MailBooks
from watersmeet.spark.host.memory_limit import refuse_large_batch
from watersmeet.spark.host.output import FRAME_BYTES, in_few, output_of, result_ids
from watersmeet.spark.host.running import running_batch
from watersmeet.spark.host.set_aside import late_rows
from watersmeet.spark.host.state import BucketState
from watersmeet.spark.host.task import InputTask, Task

if TYPE_CHECKING:
    import pandas as pd


class Stopwatch:
    """Microseconds spent in a bucket, leaving out the time the reader of its results takes."""

    def __init__(self) -> None:
        """Start at zero."""
        self.spent_us = 0

    def over(self, outcome: Worked) -> Worked:
        """Pass on what comes, timing how long each takes to come."""
        while True:
            start = time.perf_counter_ns()
            one = next(outcome, None)
            self.spent_us += (time.perf_counter_ns() - start) // 1000
            if one is None:
                return
            yield one


# What comes of a batch: also rows that are set aside.
Worked = Iterator[Results | Message | pa.RecordBatch]


def worked(
    task: Task,
    bucket: Bucket,
    arrived: Arrivals,
    mail: MailBooks,
    name: str,
    check: HotCheck | None = None,
) -> Worked:
    """What comes of a batch, up to its last row; `on_batch` is left to do."""
    most_bytes = UNPACK_BYTES if task.memory is None else task.memory.open_bytes
    if check is not None:
        check.sent(arrived.sent)
    for number, blobs in arrived.blobs.items():
        if (hot := HotInput.of(number)) is not None:
            yield from hot_rows_joined(task, bucket, name, hot, limited(blobs, most_bytes))
            continue
        spec = task.spec(number)
        if bucket.rows_in_order:
            yield from bucket.on_rows(number, in_order(rows_in(opened(blobs), spec)))
            continue
        for some in limited(blobs, most_bytes):
            batch = opened(some)
            rows = rows_in(batch, spec)
            # Rows without a key have none that could be hot.
            if check is not None and spec.key:
                check.rows(rows.keys.hashes)
            yield from late_rows(task, bucket, name, number, batch, rows)
            yield from bucket.on_rows(number, rows)
    for sender, body in mail.unread(name, arrived.mail):
        yield from bucket.on_message(sender, body)
    if not arrived.blobs:
        yield from bucket.on_silence()
    for number in sorted(arrived.ended):
        yield from bucket.on_end(number)


def hot_rows_joined(
    task: Task, bucket: Bucket, name: str, hot: HotInput, blobs: Iterable[list[Any]]
) -> Worked:
    """What comes of rows of hot keys; of those that all buckets get, the first one counts the late ones."""
    spec = task.spec(hot.number)
    for some in blobs:
        batch = opened(some)
        rows = rows_in(batch, spec)
        if hot.copied and name != task.buckets[0]:
            rows = rows.take(np.flatnonzero(~bucket.late(hot.number, rows)))
        yield from late_rows(task, bucket, name, hot.number, batch, rows)
        yield from bucket.on_hot(hot.number, hot.dealt, rows)


def function_metrics(task: Task) -> Metrics:
    """What functions were asked in a batch."""
    values: Metrics = {}
    for number, function in enumerate(task.functions):
        asked = judge_of(function).take()
        values |= {
            f"pairs_{number}": asked.pairs,
            f"accepted_{number}": asked.accepted,
            f"judge_us_{number}": round(asked.seconds * 1e6),
            f"inconsistent_{number}": asked.inconsistent,
        }
    return values


def counted_once(task: Task, number: int, values: Metrics) -> Metrics:
    """What a bucket reports, less what the first one counts: rows that several buckets get."""

    def first(spec: InputTask) -> int:
        return 0 if spec.homes is None else next(iter(spec.homes), number)

    others = {i for i, spec in enumerate(task.inputs) if spec.replicated and number != first(spec)}
    return {
        name: value
        for name, value in values.items()
        if not (name.startswith(("late_", "rows_")) and name[5:].isdigit() and int(name[5:]) in others)
    }


# The hot keys this worker has told.
_told: set[tuple[str, str]] = set()


def tell_hot_key(task: Task, found: Metrics) -> None:
    """Say on standard error, once, that a bucket has a hot key: a batch that it holds up may take long.

    Nothing in its bucket says whether the only key is hot.
    """
    rows, of = found.get("hot_rows"), found.get("hot_of")
    if rows is None or of is None or rows >= of:
        return
    stream = task.inputs[found["hot_input"] or 0].name
    key = text_of([found[f"hot_text_{place}"] or 0 for place in range(TEXT_WORDS)])
    if (stream, key) not in _told:
        _told.add((stream, key))
        said = f"key {key} of {stream} is hot: it has {rows:,} of the {of:,} rows in its bucket"
        sys.stderr.write(f"watersmeet: {said}\n")
        sys.stderr.flush()


class Processor:
    """What happens inside Spark's operator; `ship` wraps it for pickling."""

    def __init__(self, task: Task, handle: Any, blobs: Any) -> None:
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
        running = running_batch()
        self._query = "query" if running is None else running.query

    def rows(self, key: Any, frames: Iterator[pd.DataFrame], timers: Any) -> Iterator[pd.DataFrame]:
        """Process what has come for one group."""
        label = int(key[0])
        arrived = Arrivals.of_frames(frames)
        if label == self._task.ledger:
            found = self._ledger(arrived, timers)
        else:
            found = self._batch(self._bucket_of[label], arrived, timers)
        return map(arrow_frame, in_few(found))

    def expired(self, key: Any, timers: Any) -> Iterator[pd.DataFrame]:
        """Join what has waited and let go of expired state when no rows come."""
        return map(arrow_frame, in_few(self._batch(self._bucket_of[int(key[0])], None, timers)))

    def _ledger(self, arrived: Arrivals, timers: Any) -> Iterator[pa.RecordBatch]:
        yield from self._output.heartbeats()
        yield from map(self._output.set_aside, map(from_ipc, arrived.aside))
        ledger, values = keep_ledger(self._task, self._blobs, arrived.blobs, self._watermark(timers))
        if self._task.kind.sends_messages:
            yield self._output.status("", json.dumps(ledger.totals).encode())
        yield self._output.metrics(values)

    def _batch(self, number: int, arrived: Arrivals | None, timers: Any) -> Iterator[pa.RecordBatch]:
        """One batch of a bucket; None has come when a timer has fired."""
        task = self._task
        if task.memory is not None and arrived is not None:
            # Results of another operator come in pieces, however many they are.
            streams = [
                some
                for i, some in arrived.blobs.items()
                if HotInput.of(i) is not None or task.spec(i).stream is not None
            ]
            refuse_large_batch(task.memory, sum(len(blob) for some in streams for blob in some))
        state, bucket = self._open(number)
        check = self._check(number, bucket)
        if arrived is None:
            state.manifest.timer_ms = None  # Spark deletes a timer that has fired
        watermark = self._watermark(timers) or 0
        watch = Stopwatch()
        bucket.on_start(watermark)
        outcome = self._outcome(bucket, arrived, watermark, state.manifest.mail, task.buckets[number], check)
        messages: list[Message] = []
        aside: list[pa.RecordBatch] = []
        block_bytes = FRAME_BYTES if task.memory is None else task.memory.block_bytes
        ids = result_ids(task, number, state.manifest.batches_with_ids)
        results = 0
        for block in gathered(_results(watch.over(outcome), messages, aside), block_bytes):
            results += len(block)
            yield self._output.results(block, ids)
        yield from map(self._output.set_aside, aside)
        for message in messages:
            address = state.manifest.mail.number(task.name, task.buckets[number], message)
            yield self._output.mail(address, message.body)
        start = time.perf_counter_ns()
        bucket.on_watermark(watermark)
        watch.spent_us += (time.perf_counter_ns() - start) // 1000
        with_ids = ids is not None and results > 0
        # Counted in our own state, which a batch that runs again finds as it was.
        state.manifest.batches_with_ids += with_ids
        check.end()
        values = self._close(number, state, bucket, changed=bucket.changed or with_ids)
        values |= {"buckets": 1, "kernel_us": watch.spent_us}
        values |= {"messages": len(messages), "message_bytes": sum(len(one.body) for one in messages)}
        if task.kind.sends_messages:
            yield self._output.status(task.buckets[number], self._status(state, bucket, results))
        if task.memory is not None:
            values["worker_bytes"] = own_memory()
            del state, bucket
            return_freed_memory()
        yield self._output.metrics(values)

    def _outcome(
        self,
        bucket: Bucket,
        arrived: Arrivals | None,
        watermark: int,
        mail: MailBooks,
        name: str,
        check: HotCheck,
    ) -> Worked:
        if arrived is not None:
            yield from worked(self._task, bucket, arrived, mail, name, check)
        yield from bucket.on_batch(watermark)

    def _check(self, number: int, bucket: Bucket) -> HotCheck:
        notes = hot_notes(self._task)
        if bucket.spreader is not None and not may_spread(self._task, notes):
            bucket.spreader.rule = None
        return HotCheck(bucket, number, notes)

    def _open(self, number: int) -> tuple[BucketState, Bucket]:
        task = self._task
        local_runs = local_runs_for(self._query, task.name, number, strict=task.kind.needs_files)
        state = BucketState(self._blobs, local_runs, task.identity)
        refuse_other_query(task, state.manifest.identity)
        state.use_run_files(task, number)
        bucket = state.bucket(task, number, self._query)
        if task.memory is not None:
            bucket.use_files(state)
        for function in task.functions:
            # A worker has had other buckets before this one, and a checkpoint may know other functions.
            judge_of(function).before = state.manifest.answers.get(function.text, Answers())
        return state, bucket

    def _close(self, number: int, state: BucketState, bucket: Bucket, *, changed: bool) -> Metrics:
        """Keep what changed, close what is not needed, and say what there is."""
        task = self._task
        self._set_timer(state, bucket)
        # They have not been taken yet, and count as well.
        judges = {function.text: judge_of(function) for function in task.functions}
        state.manifest.answers = {text: one.before.plus(one.now) for text, one in judges.items()}
        open_runs = bucket.resident() if task.memory is not None else None
        if changed:
            state.save(bucket, task, number, self._query)
        if open_runs is not None:
            state.close_others(open_runs)
        values: Metrics = {}
        for part in range(len(task.inputs)) if bucket.windows else ():
            entries = state.entries(bucket, part)
            values[f"live_{part}"] = sum(entry.rows for entry in entries)
            values[f"state_bytes_{part}"] = sum(entry.length for entry in entries)
            values[f"memory_bytes_{part}"] = sum(
                entry.size for entry in entries if open_runs is None or entry.id in open_runs
            )
        found = bucket.take_metrics()
        tell_hot_key(task, found)
        return values | counted_once(task, number, found) | function_metrics(task)

    def _status(self, state: BucketState, bucket: Bucket, results: int) -> bytes:
        """What is known about a bucket beside its metrics, and how many results it has in this batch."""
        mail = state.manifest.mail
        said = bucket.status() | {
            "sent": {receiver: asdict(totals) for receiver, totals in mail.sent.items()},
            "skipped": mail.skipped,
            "new_results": results,
            "answers": {text: asdict(known) for text, known in state.manifest.answers.items()},
        }
        return json.dumps(said).encode()

    def _watermark(self, timers: Any) -> int | None:
        """Zero before the first watermark: Spark refuses results at or before that as well."""
        return timers.getCurrentWatermarkInMs() * 1000 if self._task.kind.uses_watermark else None

    def _set_timer(self, state: BucketState, bucket: Bucket) -> None:
        if not self._task.kind.uses_watermark:
            return
        expiry = bucket.next_expiry()
        wanted = None if expiry is None else -(-expiry // 1000)
        current = state.manifest.timer_ms
        if wanted == current:
            return
        if current is not None:
            self._handle.deleteTimer(current)
        if wanted is not None:
            self._handle.registerTimer(wanted)
        state.manifest.timer_ms = wanted


def _results(outcome: Worked, messages: list[Message], aside: list[pa.RecordBatch]) -> Iterator[Results]:
    """The results among what comes; messages and rows set aside are left for the end of the batch."""
    for one in outcome:
        if isinstance(one, Message):
            messages.append(one)
        elif isinstance(one, pa.RecordBatch):
            aside.append(one)
        else:
            yield one
