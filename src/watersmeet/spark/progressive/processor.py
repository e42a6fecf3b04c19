"""The stateful operator of a join in bounded memory: one group per bucket, and the ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from watersmeet.cost.progressive import recent_volume
from watersmeet.kernel.progressive.bucket import ProgressiveBucket
from watersmeet.kernel.progressive.runs import TICKS
from watersmeet.kernel.results import Results, gathered
from watersmeet.spark.allocator import own_memory, return_freed_memory
from watersmeet.spark.blobs import limited, unpack
from watersmeet.spark.budget import refuse_large_batch
from watersmeet.spark.frames import arrow_frame
from watersmeet.spark.output import output_of
from watersmeet.spark.processor import Stopwatch, bucket_state, function_metrics, grouped_blobs, keep_ledger
from watersmeet.spark.progressive.bucket import new_bucket
from watersmeet.spark.progressive.control import CONTROL
from watersmeet.spark.state import BucketState
from watersmeet.spark.task import JoinTask

if TYPE_CHECKING:
    import pandas as pd


class ProgressiveProcessor:
    """What happens inside Spark's operator; `spark.ship` wraps it for pickling."""

    def __init__(self, task: JoinTask, handle: Any, blobs: Any) -> None:
        """Prepare what all groups share.

        Args:
            task: The join.
            handle: Spark's handle; no timers are set.
            blobs: The map state of the current group.
        """
        assert task.plan.bounded is not None
        self._task = task
        self._bounded = task.plan.bounded
        self._blobs = blobs
        self._output = output_of(task)
        self._bucket_of = {label: bucket for bucket, label in enumerate(task.labels)}
        self._schemas = [pa.schema([*spec.kept, *TICKS]) for spec in task.inputs]
        del handle

    def rows(self, key: Any, frames: Iterator[pd.DataFrame], _timers: Any) -> Iterator[pd.DataFrame]:
        """Process the packed rows of one group, and what it was told."""
        label = int(key[0])
        blobs = grouped_blobs(frames)
        signals = [json.loads(bytes(blob)) for blob in blobs.pop(CONTROL, [])]
        if label == self._task.ledger:
            yield arrow_frame(self._output.metrics(keep_ledger(self._task, self._blobs, blobs)))
            return
        number = self._bucket_of[label]
        refuse_large_batch(self._bounded, sum(len(blob) for some in blobs.values() for blob in some))
        state = bucket_state(self._task, number, self._blobs)
        bucket = self._open(state)
        watch = Stopwatch()
        for block in gathered(self._joined(bucket, blobs, signals, watch), bucket.store.pairs.block_bytes):
            yield arrow_frame(self._output.results(block))
        values = self._close(state, bucket, watch)
        values["worker_bytes"] = own_memory()
        del state, bucket
        return_freed_memory()
        yield arrow_frame(self._output.metrics(values))

    def expired(self, _key: Any, _timers: Any) -> Iterator[pd.DataFrame]:
        """No timers are set, and nothing waits for one."""
        return iter(())

    def _joined(
        self,
        bucket: ProgressiveBucket,
        blobs: dict[int, list[Any]],
        signals: list[dict[str, Any]],
        watch: Stopwatch,
    ) -> Iterator[Results]:
        for number in sorted(blobs):
            for some in limited(blobs[number]):
                start = time.perf_counter_ns()
                rows = unpack(some, self._task.spec(number))
                watch.spent_us += (time.perf_counter_ns() - start) // 1000
                yield from watch.over(bucket.on_rows(number, rows))
        if not blobs:
            yield from watch.over(bucket.on_silence(self._bounded.silence_work))
        for signal in signals:
            for side in signal["ended"]:
                bucket.on_end(side)
        yield from watch.over(bucket.on_batch(recent_volume))

    def _open(self, state: BucketState) -> ProgressiveBucket:
        bucket = new_bucket(self._task, state.new_name)
        bucket.store.put_away = lambda side, stored: state.put_away(stored, self._schemas[side])
        bucket.store.close_disk = lambda: state.close_others(bucket.resident)
        state.load(bucket, self._schemas)
        if state.manifest.progress is not None:
            bucket.restore(state.manifest.progress)
        return bucket

    def _close(
        self, state: BucketState, bucket: ProgressiveBucket, watch: Stopwatch
    ) -> dict[str, int | None]:
        if bucket.changed:
            state.manifest.progress = bucket.remember()
            state.save(bucket, self._task.identity)
        # Runs on disk are looked into now and then only.
        memory = bucket.resident
        state.close_others(memory)
        counts = bucket.take_counts()
        books = bucket.join.books
        values: dict[str, int | None] = {
            "buckets": 1,
            "results": counts.results,
            "rows_examined": counts.examined,
            "lookups": counts.lookups,
            "kernel_us": watch.spent_us,
            "scans": bucket.tasks[0],
            "merges": bucket.tasks[1],
            **function_metrics(self._task),
        }
        for side in (0, 1):
            entries = state.entries(bucket, side)
            values |= {
                f"late_{side}": counts.late[side],
                f"live_{side}": 0 if bucket.finished else int(books.received[side].sum()),
                f"state_bytes_{side}": sum(entry.length for entry in entries),
                f"memory_bytes_{side}": sum(entry.size for entry in entries if entry.id in memory),
            }
        return values


PROCESSOR = ProgressiveProcessor
