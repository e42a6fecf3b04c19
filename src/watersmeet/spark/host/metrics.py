"""Metrics as users read them, from the progress of a running query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from watersmeet.errors import InvalidProgress
from watersmeet.spark.report import KEYS, LARGEST, NEWEST, OBSERVED, STATE, SUMS, WORKER, path_of, text_of

_NAME = re.compile(r"watersmeet (\d+): ")
_EPOCH = datetime.fromtimestamp(0, UTC)


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


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """One stream in one batch.

    `live`, `state_bytes`, `memory_bytes`, which is what the part of it takes that is open in memory, and
    `keys`, an estimate of the different keys among the live rows, are None when they were not measured, and
    `newest`, the newest time the stream has ever sent, when nothing was reported or the year is one Python
    has no dates for. `largest` is how many of the live rows the bucket has that holds most of them. `paths`
    are those of its new rows, in the buckets that reported.
    """

    rows: int
    late: int
    null_keys: int
    null_times: int
    future_times: int
    live: int | None
    state_bytes: int | None
    memory_bytes: int | None
    keys: int | None
    largest: int | None
    newest: datetime | None
    paths: tuple[PathUse, ...]


@dataclass(frozen=True, slots=True)
class PredicateMetrics:
    """A Python function in one batch.

    `pairs` is how many pairs of rows it was asked about, and `held` for how many it held; `seconds` is what
    that took on all cores together. A few pairs are asked about twice, and `unlike` are those for which it
    said something else then, so that results depend on chance.
    """

    pairs: int
    held: int
    seconds: float
    unlike: int


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """One batch of one join; `name` is the observation's, ``watersmeet <number>: <streams>``.

    A join without windows makes `scans` and `merges` of what is on disk while nothing arrives. Where memory
    is limited, `worker_bytes` is what the largest of the Python workers has of its own.
    """

    name: str
    batch: int
    results: int
    rows_examined: int
    rows_examined_per_result: float | None
    lookups: int
    path_changes: int
    kernel_ms: float
    scans: int
    merges: int
    worker_bytes: int | None
    watermark_held_by: str | None
    hot_keys: tuple[HotKey, ...]
    streams: dict[str, StreamMetrics]
    predicates: dict[str, PredicateMetrics]


def metrics(progress: Any) -> list[BatchMetrics]:
    """The metrics of every join in a query's progress report, in the order the joins were made.

    Args:
        progress: A `StreamingQueryProgress`, as in ``query.lastProgress`` or a listener's event. None, which
            is the last progress of a query before its first batch, has no metrics.

    Raises:
        InvalidProgress: It is something else.
    """
    if progress is None:
        return []
    if not (hasattr(progress, "observedMetrics") and hasattr(progress, "batchId")):
        raise InvalidProgress(
            "metrics are read from the progress of a query",
            f"this is a {type(progress).__name__}.",
            "pass query.lastProgress, one of query.recentProgress, or event.progress in a listener.",
        )
    observed = {name: row for name, row in progress.observedMetrics.items() if _NAME.match(name)}
    return [
        _read(name, progress.batchId, _plain(observed[name])[OBSERVED])
        for name in sorted(observed, key=_number)
    ]


def _plain(value: Any) -> Any:
    """Rows as dictionaries. Spark Connect sends a row as its values and their schema, inner rows likewise."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"values", "schema"}:
        schema = _plain(value["schema"])
        fields = schema["fields"] if isinstance(schema, dict) else schema
        names = [field["name"] if isinstance(field, dict) else field.name for field in fields]
        value = dict(zip(names, value["values"], strict=True))
    return {name: _plain(one) for name, one in value.items()}


def observation_name(number: int, streams: tuple[str, ...]) -> str:
    """What the observation of a join is called; numbered, since Spark wants a name of its own for each."""
    return f"watersmeet {number}: {', '.join(streams)}"


def _number(name: str) -> int:
    found = _NAME.match(name)
    assert found is not None
    return int(found[1])


def _read(name: str, batch: int, observed: Any) -> BatchMetrics:
    streams = observed["streams"]
    names = list(streams)
    return BatchMetrics(
        name,
        batch,
        observed["results"],
        observed["rows_examined"],
        observed["rows_examined_per_result"],
        observed["lookups"],
        observed["path_changes"],
        observed["kernel_ms"],
        observed["scans"],
        observed["merges"],
        observed[WORKER],
        observed["watermark_held_by"],
        tuple(_read_hot_key(one, names) for one in observed["hot_keys"]),
        {stream: _read_stream(values, names) for stream, values in streams.items()},
        {
            one["text"]: PredicateMetrics(one["pairs"], one["held"], one["asked_us"] / 1e6, one["unlike"])
            for one in observed["predicates"]
        },
    )


def _read_hot_key(values: Any, names: list[str]) -> HotKey:
    share = values["rows"] / values["of"] if values["of"] else 0.0
    return HotKey(names[values["input"]], text_of(values["text"]), values["rows"], share)


def _read_stream(values: Any, names: list[str]) -> StreamMetrics:
    numbers = {name: values[name] for name in (*SUMS, *STATE, KEYS, LARGEST)}
    paths = tuple(
        PathUse(tuple(names[part] for part in path_of(one["path"], len(names))), one["buckets"])
        for one in values["paths"]
    )
    return StreamMetrics(**numbers, newest=_datetime(values[NEWEST]), paths=paths)


def _datetime(micros: int | None) -> datetime | None:
    try:
        return None if micros is None else _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
