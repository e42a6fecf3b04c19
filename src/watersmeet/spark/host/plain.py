"""The same join on plain DataFrames: each bucket is one group, seen once, with nothing to remember."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pyarrow as pa

from watersmeet.optimize.adapt import Adaptive
from watersmeet.spark.output import output_of
from watersmeet.spark.processor import (
    Stopwatch,
    bucket_metrics,
    function_metrics,
    join_blobs,
    ledger_metrics,
    new_join,
)
from watersmeet.spark.progressive.bucket import new_bucket
from watersmeet.spark.progressive.plain import join_all
from watersmeet.spark.task import JoinTask

_END_OF_TIME = 1 << 62


def join_group(task: JoinTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join the packed rows of one group."""
    output = output_of(task)
    blobs: dict[int, list[Any]] = {}
    label = None
    for batch in batches:
        for row in range(batch.num_rows):
            label = batch.column(0)[row].as_py()
            blob = batch.column(2)[row]
            if blob.is_valid:
                blobs.setdefault(batch.column(1)[row].as_py(), []).append(blob.as_buffer())
    if label == task.ledger:
        yield from output.heartbeats()
        reports = [json.loads(bytes(blob)) for some in blobs.values() for blob in some]
        yield output.metrics(ledger_metrics(reports, {}))
        return
    numbers = count()
    assert label is not None
    bucket = task.labels.index(label)
    if task.plan.endless:
        endless = new_bucket(task, lambda: str(next(numbers)))
        for block in join_all(task, blobs, endless):
            yield output.results(block)
        counts = endless.take_counts()
        yield output.metrics({**function_metrics(task), "buckets": 1, "results": counts.results})
        return
    join = new_join(task, bucket, lambda: str(next(numbers)))
    if task.plan.adaptive:
        join.planner = Adaptive.of(task.operator)
    watch = Stopwatch()
    for block in join_blobs(task, join, blobs, watch, until=_END_OF_TIME):
        yield output.results(block)
    yield output.metrics(bucket_metrics(task, bucket, join, watch) | function_metrics(task))
