"""Statistics from a sample of the streams, counted by Spark.

A sample must be a piece of the stream as it comes, all rows of some time, the same for all streams, and not
every tenth row: rates are about neighbours. Rows the join would drop are left out. Keys are counted in two
ways: the frequent ones all, and of the others those whose hash falls into a small part of the hashes, the
same part in every stream. So the frequencies of different streams are about the same keys, and tell how
many rows meet whatever the skew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.errors import InvalidStatistics, choices
from watersmeet.plan import Plan, Source
from watersmeet.plan.layout import value_ref
from watersmeet.query import Stream
from watersmeet.query.keys import Key, key_names, keys_of
from watersmeet.spark.ask import asked_functions
from watersmeet.spark.prepare import latest_time, prepared_sources, source_columns
from watersmeet.stats import ABSENT, Figure, Frequencies, Statistics, StreamStatistics

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Keys that are counted one by one, about.
_COUNTED_KEYS = 32_768
# A key is frequent when it has one of this many rows.
_FREQUENT = 500
# Rows whose bytes are weighed.
_WEIGHED_ROWS = 10_000
# Beside its columns a stored row has its time, the hash of its key and where the key starts.
_EXTRA_BYTES = 24


def analyzed(plan: Plan, sample: Mapping[str, DataFrame] | None) -> Statistics:
    """Measure samples of a plan's streams.

    Args:
        plan: The plan; its query says what the keys are and which rows the filters leave.
        sample: Plain DataFrames by stream name; None takes the streams themselves, if they are plain.
    """
    sources = _samples(plan, sample)
    streams = tuple(_sampled(stream, sources[stream.name]) for stream in plan.query.streams)
    of_sample = replace(plan, query=replace(plan.query, streams=streams))
    prepared = [_usable(of_sample, n, rows) for n, rows in enumerate(prepared_sources(of_sample))]
    found = [_measured(of_sample, number, rows) for number, rows in enumerate(prepared)]
    # All samples are of the same time, and one with few rows does not tell how long that was.
    seconds = max(one.seconds for one in found)
    for key in keys_of(plan.query):
        _count_keys(of_sample, key, prepared, found)
    shares, costs = asked_functions(of_sample, prepared)
    return Statistics(
        {stream.name: one.statistics(seconds) for stream, one in zip(streams, found, strict=True)},
        conditions=shares,
        costs=costs,
    )


class _Measured:
    """What is found out about one stream."""

    def __init__(self, rows: int, seconds: float, row_bytes: Figure, distinct: dict[Key, int]) -> None:
        self.rows = rows
        self.seconds = seconds
        self.row_bytes = row_bytes
        self.distinct = distinct
        self.frequencies: dict[str, Frequencies] = {}

    def statistics(self, seconds: float) -> StreamStatistics:
        """As the planner takes them."""
        # n rows bound n - 1 gaps.
        gaps = max(self.rows - 1, 0) if self.seconds == seconds else self.rows
        rate = Figure.estimated(gaps / seconds) if seconds > 0 else ABSENT
        return StreamStatistics(rate=rate, row_bytes=self.row_bytes, frequencies=self.frequencies)


def _samples(plan: Plan, sample: Mapping[str, DataFrame] | None) -> dict[str, DataFrame]:
    given = dict(sample or {})
    for name, df in given.items():
        if not hasattr(df, "isStreaming"):
            raise InvalidStatistics(
                f'the sample of stream "{name}" is not a DataFrame',
                f"it is {type(df).__name__}.",
                'pass DataFrames by name: query.analyze({"orders": spark.read.parquet(path)}).',
            )
    if unknown := [name for name in given if name not in plan.query.names]:
        raise InvalidStatistics(
            f'the query has no stream "{unknown[0]}"',
            "there is a sample of it.",
            f"its streams are {choices(plan.query.names)}.",
        )
    for stream in plan.query.streams:
        source = given.setdefault(stream.name, stream.source)
        if source.isStreaming:
            raise InvalidStatistics(
                f'there is no sample of stream "{stream.name}"',
                "a streaming DataFrame cannot be counted.",
                f'read some of it with spark.read, query.analyze({{"{stream.name}": sample}}), '
                "or pass a running query.",
            )
    return given


def _sampled(stream: Stream, source: DataFrame) -> Stream:
    if missing := [name for name in stream.column_names if name not in source.columns]:
        raise InvalidStatistics(
            f'the sample of stream "{stream.name}" lacks column "{missing[0]}"',
            f"it has {choices(source.columns)}.",
            "a sample has the columns of the stream.",
        )
    types = {field.name: field.dataType.simpleString() for field in source.schema.fields}
    for column in stream.columns:
        if types[column.name] != column.type:
            raise InvalidStatistics(
                f'column "{column.name}" of the sample of stream "{stream.name}" has another type',
                f"it is {types[column.name]}, in the stream {column.type}.",
                "a sample has the columns of the stream.",
            )
    return replace(stream, source=source)


def _usable(plan: Plan, number: int, prepared: DataFrame) -> DataFrame:
    """The rows the join would take: with a time, not far ahead of the clock, and with all values it needs."""
    from pyspark.sql import functions as F

    stream, time = plan.query.streams[number], F.col(_time(plan, number))
    usable = prepared.filter(time.isNotNull())
    if stream.max_future is not None:
        usable = usable.filter(time <= latest_time(stream))
    for attribute, shared in enumerate(plan.query.attributes):
        if number in shared.streams:
            usable = usable.filter(_column(plan, attribute, number).isNotNull())
    return usable


def _measured(plan: Plan, number: int, prepared: DataFrame) -> _Measured:
    """Rows, time, bytes and distinct keys of one stream, filtered and reduced to what the join keeps."""
    from pyspark.sql import functions as F

    time = _time(plan, number)
    keys = [key for key in keys_of(plan.query) if number in plan.query.attributes[key[0]].streams]
    row = prepared.agg(
        F.count(F.lit(1)).alias("rows"),
        F.min(F.unix_micros(time)).alias("first"),
        F.max(F.unix_micros(time)).alias("last"),
        *[F.approx_count_distinct(_hash(plan, key, number)).alias(f"keys_{n}") for n, key in enumerate(keys)],
    ).first()
    assert row is not None
    seconds = 0.0 if row["first"] is None else (row["last"] - row["first"]) / 1e6
    weighed = prepared.limit(_WEIGHED_ROWS).toArrow()
    weight = ABSENT
    if weighed.num_rows:
        weight = Figure.estimated(weighed.nbytes / weighed.num_rows + _EXTRA_BYTES)
    return _Measured(row["rows"], seconds, weight, {key: row[f"keys_{n}"] for n, key in enumerate(keys)})


def _count_keys(plan: Plan, key: Key, prepared: list[DataFrame], found: list[_Measured]) -> None:
    """How often single values of a key occur, the same values in all streams that have it."""
    from pyspark.sql import functions as F

    members = [s for s in plan.query.attributes[key[0]].streams if found[s].rows]
    if not members:
        return
    parts = max(1, max(found[stream].distinct[key] for stream in members) // _COUNTED_KEYS)
    # Of frequent keys the value itself is kept: rows can be told by it. Keys of several columns have none.
    counts = {
        stream: prepared[stream]
        .groupBy(_hash(plan, key, stream).alias("hash"))
        .agg(F.count(F.lit(1)).alias("count"), F.first(_column(plan, key[0], stream)).alias("value"))
        for stream in members
    }
    often = [
        row
        for stream in members
        for row in counts[stream].filter(F.col("count") >= found[stream].rows / _FREQUENT).collect()
    ]
    frequent = frozenset(row["hash"] for row in often)
    behind = {row["hash"]: row["value"] for row in often} if len(key) == 1 else {}
    for stream in members:
        listed = F.col("hash").isin(list(frequent)) | (F.pmod(F.col("hash"), F.lit(parts)) == 0)
        rows: list[Any] = counts[stream].filter(listed).select("hash", "count").collect()
        shares = {row["hash"]: row["count"] / found[stream].rows for row in rows}
        name = key_names(plan.query, key, stream)[0]
        found[stream].frequencies[name] = Frequencies(shares, 1.0, 1 / parts, frequent, behind)


def _time(plan: Plan, stream: int) -> str:
    """The time's column in the prepared stream."""
    time = plan.query.streams[stream].time
    return next(f"c{n}" for n, ref in enumerate(source_columns(plan, stream)) if ref.column == time)


def _hash(plan: Plan, key: Key, stream: int) -> Column:
    """All columns of a key as one number."""
    from pyspark.sql import functions as F

    return F.xxhash64(*[_column(plan, attribute, stream) for attribute in key])


def _column(plan: Plan, attribute: int, stream: int) -> Column:
    """An attribute's column in the prepared stream, in the type in which values are compared."""
    from pyspark.sql import functions as F

    place = source_columns(plan, stream).index(value_ref(plan.query, attribute, Source(stream)))
    return F.col(f"c{place}").cast(plan.query.attributes[attribute].type)
