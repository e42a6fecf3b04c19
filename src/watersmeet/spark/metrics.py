"""Metrics: counted by the operator, carried by `DataFrame.observe`, read from the query's progress.

Every group reports one row per batch in a struct column of the operator's output; the row has no result
time and is filtered out after the observation. Numbers about the batch (rows, results) are sums.
Numbers about the state (live tuples, bytes) are sums over all buckets, and null in the rare batch in which
some bucket did not report: a batch without input, run only to let go of expired state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column

METRICS_COLUMN = "__metrics"
PREFIX = "watersmeet"

_TOTALS = ("buckets", "results", "rows_examined", "kernel_us")
_PER_STREAM_SUMS = ("rows", "late", "null_keys", "null_times", "future_times")
_PER_STREAM_STATE = ("live", "state_bytes")
_PER_STREAM_MAXIMA = ("newest_us",)
_PER_STREAM = _PER_STREAM_SUMS + _PER_STREAM_STATE + _PER_STREAM_MAXIMA


def fields(streams: int) -> list[str]:
    """The fields of the metrics struct."""
    return [*_TOTALS, *(f"{name}_{i}" for name in _PER_STREAM for i in range(streams)), "holder"]


def metrics_type(streams: int) -> pa.DataType:
    """The Arrow type of the metrics struct."""
    return pa.struct([(name, pa.int64()) for name in fields(streams)])


def observations(names: tuple[str, ...], buckets: int) -> list[Column]:
    """The aggregates to observe, named as users see them in the progress."""
    from pyspark.sql import functions as F

    def value(name: str) -> Column:
        return F.col(METRICS_COLUMN).getField(name)

    total = {name: F.coalesce(F.sum(value(name)), F.lit(0)) for name in _TOTALS}
    all_reported = total["buckets"] == buckets
    columns = [total["results"].alias("results"), total["rows_examined"].alias("rows_examined")]
    columns.append(F.try_divide(total["rows_examined"], total["results"]).alias("rows_examined_per_result"))
    columns.append((total["kernel_us"] / 1000).alias("kernel_ms"))
    for i, name in enumerate(names):
        columns += [
            F.coalesce(F.sum(value(f"{kind}_{i}")), F.lit(0)).alias(f"{kind}_{name}") for kind in _PER_STREAM_SUMS
        ]
        columns += [
            F.when(all_reported, F.sum(value(f"{kind}_{i}"))).alias(f"{kind}_{name}") for kind in _PER_STREAM_STATE
        ]
        columns.append(F.timestamp_micros(F.max(value(f"newest_us_{i}"))).alias(f"newest_{name}"))
    holder = F.max(value("holder"))
    columns.append(F.get(F.array(*[F.lit(name) for name in names]), holder.cast("int")).alias("watermark_held_by"))
    return columns


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """One stream in one batch; `live` and `state_bytes` are None when they were not measured."""

    rows: int
    late: int
    null_keys: int
    null_times: int
    future_times: int
    live: int | None
    state_bytes: int | None
    newest: Any


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """One batch of one join."""

    batch: int
    results: int
    rows_examined: int
    rows_examined_per_result: float | None
    kernel_ms: float
    watermark_held_by: str | None
    streams: dict[str, StreamMetrics]


def metrics(progress: Any) -> list[BatchMetrics]:
    """The metrics of every join in a query's progress report.

    Args:
        progress: A `StreamingQueryProgress`, as in ``query.lastProgress`` or a listener's event.
    """
    observed = progress["observedMetrics"] if isinstance(progress, dict) else progress.observedMetrics
    batch = progress["batchId"] if isinstance(progress, dict) else progress.batchId
    found = []
    for name, row in sorted(observed.items()):
        if name.startswith(PREFIX):
            values = row if isinstance(row, dict) else row.asDict()
            found.append(_read(batch, values))
    return found


def _read(batch: int, values: dict[str, Any]) -> BatchMetrics:
    names = [key.removeprefix("null_times_") for key in values if key.startswith("null_times_")]
    streams = {
        name: StreamMetrics(
            **{kind: values[f"{kind}_{name}"] for kind in _PER_STREAM_SUMS + _PER_STREAM_STATE},
            newest=values[f"newest_{name}"],
        )
        for name in names
    }
    return BatchMetrics(
        batch,
        values["results"],
        values["rows_examined"],
        values["rows_examined_per_result"],
        values["kernel_ms"],
        values["watermark_held_by"],
        streams,
    )
