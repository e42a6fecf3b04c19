"""Statistics from a sample of the streams, counted by Spark.

A sample must be a piece of the stream as it comes, all rows of some time, not every tenth row: rates are
about neighbours. Keys are counted in two ways: the frequent ones all, and of the others those whose hash
falls into a small part of the hashes, the same part in every stream. So the frequencies of different
streams are about the same keys, and tell how many rows meet whatever the skew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.cost.sizes import called
from watersmeet.errors import InvalidStatistics, choices
from watersmeet.plan import Plan, Source
from watersmeet.plan.layout import value_ref
from watersmeet.query import Stream
from watersmeet.spark.prepare import prepared_sources, source_columns
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
    prepared = prepared_sources(of_sample)
    found = [_measured(of_sample, number, rows) for number, rows in enumerate(prepared)]
    for attribute in range(len(plan.query.attributes)):
        _count_keys(of_sample, attribute, prepared, found)
    return Statistics({stream.name: one.statistics() for stream, one in zip(streams, found, strict=True)})


class _Measured:
    """What is found out about one stream."""

    def __init__(self, rows: int, rate: Figure, row_bytes: Figure, distinct: dict[int, int]) -> None:
        self.rows = rows
        self.rate = rate
        self.row_bytes = row_bytes
        self.distinct = distinct
        self.frequencies: dict[str, Frequencies] = {}

    def statistics(self) -> StreamStatistics:
        """As the planner takes them."""
        return StreamStatistics(rate=self.rate, row_bytes=self.row_bytes, frequencies=self.frequencies)


def _samples(plan: Plan, sample: Mapping[str, DataFrame] | None) -> dict[str, DataFrame]:
    given = dict(sample or {})
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
    return replace(stream, source=source)


def _measured(plan: Plan, number: int, prepared: DataFrame) -> _Measured:
    """Rows, rate, bytes and distinct keys of one stream, filtered and reduced to what the join keeps."""
    from pyspark.sql import functions as F

    columns, time_column = source_columns(plan, number), plan.query.streams[number].time
    time = next(f"c{place}" for place, ref in enumerate(columns) if ref.column == time_column)
    keys = [n for n, attribute in enumerate(plan.query.attributes) if number in attribute.streams]
    row = prepared.agg(
        F.count(F.lit(1)).alias("rows"),
        F.min(F.unix_micros(time)).alias("first"),
        F.max(F.unix_micros(time)).alias("last"),
        *[F.approx_count_distinct(_key(plan, n, number)).alias(f"keys_{n}") for n in keys],
    ).first()
    assert row is not None
    seconds = 0.0 if row["first"] is None else (row["last"] - row["first"]) / 1e6
    # n rows bound n - 1 gaps.
    rate = Figure.estimated((row["rows"] - 1) / seconds) if seconds > 0 else ABSENT
    weighed = prepared.limit(_WEIGHED_ROWS).toArrow()
    weight = (
        Figure.estimated(weighed.nbytes / weighed.num_rows + _EXTRA_BYTES) if weighed.num_rows else ABSENT
    )
    return _Measured(row["rows"], rate, weight, {n: row[f"keys_{n}"] for n in keys})


def _count_keys(plan: Plan, attribute: int, prepared: list[DataFrame], found: list[_Measured]) -> None:
    """How often single keys of an attribute occur, the same keys in all streams that have it."""
    from pyspark.sql import functions as F

    members = [s for s in plan.query.attributes[attribute].streams if found[s].rows]
    if not members:
        return
    parts = max(1, max(found[stream].distinct[attribute] for stream in members) // _COUNTED_KEYS)
    hashes = {stream: F.xxhash64(_key(plan, attribute, stream)).alias("hash") for stream in members}
    counts = {stream: prepared[stream].groupBy(hashes[stream]).count() for stream in members}
    frequent = {
        row["hash"]
        for stream in members
        for row in counts[stream].filter(F.col("count") >= found[stream].rows / _FREQUENT).collect()
    }
    for stream in members:
        listed = F.col("hash").isin(list(frequent)) | (F.pmod(F.col("hash"), F.lit(parts)) == 0)
        rows: list[Any] = counts[stream].filter(listed).collect()
        shares = {row["hash"]: row["count"] / found[stream].rows for row in rows}
        name = called(plan.query.attributes[attribute], stream)[0]
        found[stream].frequencies[name] = Frequencies(shares, 1.0, 1 / parts, frozenset(frequent))


def _key(plan: Plan, attribute: int, stream: int) -> Column:
    """The key's column in the prepared stream, in the type in which keys are compared."""
    from pyspark.sql import functions as F

    place = source_columns(plan, stream).index(value_ref(plan.query, attribute, Source(stream)))
    return F.col(f"c{place}").cast(plan.query.attributes[attribute].type)
