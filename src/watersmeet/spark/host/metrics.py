"""What is measured in every batch.

A metric is a field of one of these classes, with the way in which the reports of all groups become one
number. Whoever counts it reports it under the name of the field (`rows_0` for input 0); names, sums and
reading follow from here, see `report`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from watersmeet.kernel.numbers import TEXT_WORDS

METRICS_COLUMN = "__metrics"

_EPOCH = datetime.fromtimestamp(0, UTC)


class Fold(Enum):
    """How the reports of all groups become one number."""

    SUM = "the sum; zero if nobody reports it"
    STATE = "the sum over all buckets; null if some bucket did not report, or none counts it"
    MOST = "the largest"
    LEDGER = "what the ledger says, which is the only one to know it"


def _metric(fold: Fold, *, name: str | None = None, read: Any = None) -> dict[str, Any]:
    """What makes a field one that is reported.

    Args:
        fold: How reports become one number.
        name: What it is called in reports, where numbers are in another unit.
        read: How the number becomes what users see.
    """
    return {"fold": fold, "name": name, "read": read}


def _datetime(micros: int | None) -> datetime | None:
    """None also for a year that Python has no dates for."""
    try:
        return None if micros is None else _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


def _timedelta(micros: int | None) -> timedelta | None:
    try:
        return None if micros is None else timedelta(microseconds=micros)
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class PathUse:
    """A probe path: the inputs in the order they are visited, and how many buckets go that way."""

    visits: tuple[str, ...]
    buckets: int


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key with very many rows: `share` is its part of the rows its bucket holds of the stream."""

    stream: str
    key: str
    rows: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMetrics:
    """One stream in one batch.

    Attributes:
        rows: Rows that came; their conditions on this stream alone held.
        row_bytes: Bytes of those that can join, as they were packed.
        late: Rows that came too late.
        late_by: How far behind the watermark the latest of them was; None if none was late, or there is no
            watermark.
        null_keys: Rows without a value that has to equal another.
        null_times: Rows without a time.
        future_times: Rows dated too far ahead.
        malformed: Records that could not be decoded.
        tombstones: Records without a value.
        live: Rows that are stored; None when that was not measured.
        state_bytes: What they take in the state; None when that was not measured.
        memory_bytes: What the part of it takes that is open in memory; None when that was not measured.
        keys: About how many different keys the stored rows have; None when that was not measured.
        largest: How many of the stored rows the bucket has that holds most of them.
        newest: The newest time the stream has ever sent; None if there is none yet, or Python has no date for
            it.
        behind: How far the watermark of the batch is behind that; None where there is no watermark.
        lateness: How late its rows may be, as it was declared; None in a batch without input.
        idle: Whether it is idle, so that the others do not wait for it.
        paths: The ways its new rows take, in the buckets that reported.
    """

    rows: int = field(metadata=_metric(Fold.SUM))
    row_bytes: int = field(metadata=_metric(Fold.SUM))
    late: int = field(metadata=_metric(Fold.SUM))
    late_by: timedelta | None = field(metadata=_metric(Fold.MOST, name="late_by_us", read=_timedelta))
    null_keys: int = field(metadata=_metric(Fold.SUM))
    null_times: int = field(metadata=_metric(Fold.SUM))
    future_times: int = field(metadata=_metric(Fold.SUM))
    malformed: int = field(metadata=_metric(Fold.SUM))
    tombstones: int = field(metadata=_metric(Fold.SUM))
    live: int | None = field(metadata=_metric(Fold.STATE))
    state_bytes: int | None = field(metadata=_metric(Fold.STATE))
    memory_bytes: int | None = field(metadata=_metric(Fold.STATE))
    keys: int | None = field(metadata=_metric(Fold.STATE))
    newest: datetime | None = field(metadata=_metric(Fold.LEDGER, name="newest_us", read=_datetime))
    behind: timedelta | None = field(metadata=_metric(Fold.LEDGER, name="behind_us", read=_timedelta))
    lateness: timedelta | None = field(metadata=_metric(Fold.LEDGER, name="lateness_us", read=_timedelta))
    idle: bool = field(metadata=_metric(Fold.LEDGER, read=bool))
    largest: int | None
    paths: tuple[PathUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateMetrics:
    """A Python function in one batch.

    Attributes:
        pairs: How many pairs of rows it was asked about.
        accepted: How many of them it accepted.
        seconds: What that took on all cores together.
        inconsistent: Of the few pairs it is asked about twice, those for which it said something else then:
            results depend on chance.
    """

    pairs: int = field(metadata=_metric(Fold.SUM))
    accepted: int = field(metadata=_metric(Fold.SUM))
    seconds: float = field(metadata=_metric(Fold.SUM, name="judge_us", read=lambda micros: micros / 1e6))
    inconsistent: int = field(metadata=_metric(Fold.SUM))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMetrics:
    """One batch of one join.

    Attributes:
        name: The name of the observation, ``watersmeet <number>: <streams>``.
        batch: The number of the batch.
        buckets: How many buckets had something to do.
        results: Results.
        rows_examined: Candidates that were looked at.
        lookups: How many times a key was looked for.
        path_changes: Paths that buckets changed.
        scans: Scans of what is on disk, made while nothing arrived.
        merges: Merges of what is on disk, made while nothing arrived.
        messages: Mail that was sent to other sites.
        message_bytes: Bytes of that mail, without what the mailbox adds.
        waiting: Rows that wait for others, or for an answer, at sites; None when that was not measured.
        worker_bytes: Where memory is limited, what the largest of the Python workers has of its own.
        rows_examined_per_result: Candidates that were looked at per result.
        kernel_ms: Time in the join itself, over all buckets.
        watermark_held_by: The stream the others wait for; None where there is no watermark.
        hot_keys: Keys with very many rows.
        spread_keys: Hot keys whose rows are spread over all buckets.
        busiest_ms: Time in the join itself, in the bucket that took longest.
        streams: By input.
        predicates: By the text of the function.
    """

    name: str
    batch: int
    buckets: int = field(metadata=_metric(Fold.SUM))
    results: int = field(metadata=_metric(Fold.SUM))
    rows_examined: int = field(metadata=_metric(Fold.SUM))
    lookups: int = field(metadata=_metric(Fold.SUM))
    path_changes: int = field(metadata=_metric(Fold.SUM))
    scans: int = field(metadata=_metric(Fold.SUM))
    merges: int = field(metadata=_metric(Fold.SUM))
    messages: int = field(metadata=_metric(Fold.SUM))
    message_bytes: int = field(metadata=_metric(Fold.SUM))
    waiting: int | None = field(metadata=_metric(Fold.STATE))
    worker_bytes: int | None = field(metadata=_metric(Fold.MOST))
    spread_keys: int = field(metadata=_metric(Fold.SUM))
    rows_examined_per_result: float | None
    kernel_ms: float
    busiest_ms: float
    watermark_held_by: str | None
    hot_keys: tuple[HotKey, ...]
    streams: dict[str, StreamMetrics]
    predicates: dict[str, PredicateMetrics]


def folded(of: type) -> dict[str, Fold]:
    """What is reported of a class: by name how reports become one number."""
    return {_reported_name(one): one.metadata["fold"] for one in fields(of) if "fold" in one.metadata}


# What is reported beside the fields: time in the kernel, who holds the watermark, the
# hottest key of a bucket (its rows, in which input, of how many rows, its text), and the path of an input.
EXTRA = (
    "kernel_us",
    "holder",
    "hot_rows",
    "hot_of",
    "hot_input",
    *(f"hot_text_{i}" for i in range(TEXT_WORDS)),
)
PATH = "path"


def metric_names(streams: int, functions: int) -> list[str]:
    """What the numbers of a report mean, in their order."""
    of_stream = [*folded(StreamMetrics), PATH]
    return [
        *folded(BatchMetrics),
        *EXTRA,
        *(f"{name}_{i}" for i in range(streams) for name in of_stream),
        *(f"{name}_{i}" for i in range(functions) for name in folded(PredicateMetrics)),
    ]


def reported_fields(of: type, value: Callable[[str, Fold], Any]) -> dict[str, Any]:
    """The reported fields of a class as users see them, from the numbers by name."""
    found = {}
    for one in fields(of):
        if "fold" in one.metadata:
            number, read = value(_reported_name(one), one.metadata["fold"]), one.metadata["read"]
            found[one.name] = number if read is None else read(number)
    return found


def _reported_name(one: Field[Any]) -> str:
    return one.metadata["name"] or one.name
