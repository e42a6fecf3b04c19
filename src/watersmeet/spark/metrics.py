"""Metrics: counted by the operator, carried by `DataFrame.observe`, read from the query's progress.

Every group reports one row per batch in a column of the operator's output; the row has no result time
and is filtered out after the observation. The observation is a single aggregate that collects the few
reports and adds them up at the end: one aggregate per number would be evaluated for every result, and took
a third of Spark's time when we measured it. A report is a list of numbers rather than a struct, since an
Arrow struct that is null still carries room for all its fields, for every result.

Numbers about the batch (rows, results) are sums over the groups. Numbers about the state (live tuples,
bytes) are sums over all buckets, and null in the rare batch in which some bucket did not report: a batch
without input, run only to let go of expired state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column

METRICS_COLUMN = "__metrics"
_OBSERVED = "join"

_TOTALS = ("buckets", "results", "rows_examined", "kernel_us")
_SUMS = ("rows", "late", "null_keys", "null_times", "future_times")
_STATE = ("live", "state_bytes")
_NEWEST = "newest_us"
_HOLDER = "holder"
_NAME = re.compile(r"watersmeet (\d+): ")
_EPOCH = datetime.fromtimestamp(0, UTC)


def metric_names(streams: int) -> list[str]:
    """What the numbers of a report mean, in their order."""
    per_stream = [f"{name}_{i}" for i in range(streams) for name in (*_SUMS, *_STATE, _NEWEST)]
    return [*_TOTALS, *per_stream, _HOLDER]


def observation(names: tuple[str, ...], buckets: int) -> Column:
    """The one aggregate to observe: a struct with totals and one struct per stream."""
    from pyspark.sql import functions as F

    nothing = F.array_repeat(F.lit(None).cast("bigint"), len(metric_names(len(names))))
    totals = F.aggregate(
        F.collect_list(F.col(METRICS_COLUMN)),
        nothing,
        lambda sums, report: F.zip_with(sums, report, lambda sum_, x: F.coalesce(sum_ + x, sum_, x)),
    )
    # Named inside a lambda, the sums are computed once however often they are referred to.
    summary = F.transform(F.array(totals), lambda sums: _summary(sums, names, buckets))
    return F.get(summary, F.lit(0)).alias(_OBSERVED)


def _summary(sums: Column, names: tuple[str, ...], buckets: int) -> Column:
    from pyspark.sql import functions as F

    places = {name: place for place, name in enumerate(metric_names(len(names)))}

    def reported(name: str) -> Column:
        """Null if no group has reported it."""
        return F.get(sums, F.lit(places[name]))

    def total(name: str) -> Column:
        return F.coalesce(reported(name), F.lit(0))

    def of_stream(i: int) -> Column:
        everywhere = total("buckets") == F.lit(buckets)
        counts = [total(f"{kind}_{i}").alias(kind) for kind in _SUMS]
        state = [F.when(everywhere, total(f"{kind}_{i}")).alias(kind) for kind in _STATE]
        # Only the ledger reports it, so the sum is the value.
        return F.struct(*counts, *state, reported(f"{_NEWEST}_{i}").alias(_NEWEST))

    holder = F.get(F.array(*[F.lit(name) for name in names]), reported(_HOLDER).cast("int"))
    return F.struct(
        total("results").alias("results"),
        total("rows_examined").alias("rows_examined"),
        F.try_divide(total("rows_examined"), total("results")).alias("rows_examined_per_result"),
        (total("kernel_us") / F.lit(1000)).alias("kernel_ms"),
        holder.alias("watermark_held_by"),
        F.struct(*[of_stream(i).alias(name) for i, name in enumerate(names)]).alias("streams"),
    )


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """One stream in one batch.

    `live` and `state_bytes` are None when they were not measured, and `newest`, the newest time the stream
    has ever sent, when nothing was reported or the year is one Python has no dates for.
    """

    rows: int
    late: int
    null_keys: int
    null_times: int
    future_times: int
    live: int | None
    state_bytes: int | None
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """One batch of one join; `name` is the observation's, ``watersmeet <number>: <streams>``."""

    name: str
    batch: int
    results: int
    rows_examined: int
    rows_examined_per_result: float | None
    kernel_ms: float
    watermark_held_by: str | None
    streams: dict[str, StreamMetrics]


def metrics(progress: Any) -> list[BatchMetrics]:
    """The metrics of every join in a query's progress report, in the order the joins were made.

    Args:
        progress: A `StreamingQueryProgress`, as in ``query.lastProgress`` or a listener's event.
    """
    observed = {name: row for name, row in progress.observedMetrics.items() if _NAME.match(name)}
    return [
        _read(name, progress.batchId, observed[name][_OBSERVED]) for name in sorted(observed, key=_number)
    ]


def observation_name(number: int, streams: tuple[str, ...]) -> str:
    """What the observation of a join is called; numbered, since Spark wants a name of its own for each."""
    return f"watersmeet {number}: {', '.join(streams)}"


def _number(name: str) -> int:
    found = _NAME.match(name)
    assert found is not None
    return int(found[1])


def _read(name: str, batch: int, observed: Any) -> BatchMetrics:
    given = {"name": name, "batch": batch}
    totals = {field.name: observed[field.name] for field in fields(BatchMetrics) if field.name not in given}
    streams = totals.pop("streams")
    streams = streams if isinstance(streams, dict) else streams.asDict()
    per_stream = {name: _read_stream(values) for name, values in streams.items()}
    return BatchMetrics(name, batch, streams=per_stream, **totals)


def _read_stream(values: Any) -> StreamMetrics:
    numbers = {name: values[name] for name in (*_SUMS, *_STATE)}
    return StreamMetrics(**numbers, newest=_datetime(values[_NEWEST]))


def _datetime(micros: int | None) -> datetime | None:
    try:
        return None if micros is None else _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
