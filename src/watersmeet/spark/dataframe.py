"""From a plan to a DataFrame.

    source -> mapInArrow(pack) -> withWatermark -> union -> groupBy(label)
           -> transformWithStateInPandas(join) -> observe metrics -> results

The watermark is taken from the packed rows: they carry the newest time among theirs, so Spark looks at a
few of them instead of every row, and times the guard sets aside never reach it.

Plain inputs take the same way with `applyInArrow` in place of the stateful operator. Only DataFrame
methods are used, so a Spark Connect session works like a classic one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType, TimestampType

from watersmeet.errors import InvalidQuery, InvalidStream
from watersmeet.plan import Plan
from watersmeet.plan.identity import identity
from watersmeet.query import JoinQuery, Stream
from watersmeet.spark.metrics import METRICS_COLUMN, observation, observation_name
from watersmeet.spark.pack import NEWEST, PACKED_SCHEMA
from watersmeet.spark.processor import RESULT_TIME
from watersmeet.spark.settings import refuse_large_types, refuse_unsafe_settings
from watersmeet.spark.ship import batch_function, pack_function, stateful_processor
from watersmeet.spark.task import JoinTask, StreamTask

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# A query may hold several joins.
_numbers = count(1)
# How Spark marks a column with a watermark.
_WATERMARK = "spark.watermarkDelayMs"


def join_dataframe(plan: Plan) -> DataFrame:
    """The DataFrame that computes a plan."""
    query = plan.query
    streaming = _all_streaming_or_none(query.streams)
    conf = query.streams[0].source.sparkSession.conf
    if streaming:
        refuse_unsafe_settings(conf)
        _refuse_watermarks(query.streams)
    else:
        refuse_large_types(conf)
    prepared = [_prepare(query, index) for index in range(len(query.streams))]
    task = JoinTask(_without_sources(plan), tuple(spec for _, spec in prepared), json.dumps(identity(plan)))
    packed = [_packed(source, task, index, streaming=streaming) for index, (source, _) in enumerate(prepared)]
    groups = reduce(lambda left, right: left.unionAll(right), packed).groupBy("label")
    schema = _output_schema(query)
    if streaming:
        joined = groups.transformWithStateInPandas(
            stateful_processor(task), schema, "append", "eventtime", eventTimeColumnName=RESULT_TIME
        )
    else:
        joined = groups.applyInArrow(batch_function(task), schema)
    name = observation_name(next(_numbers), query.names)
    observed = joined.observe(name, observation(query.names, plan.buckets))
    results = observed.filter(F.col(RESULT_TIME).isNotNull())
    return results.select(*_result_columns(query))


def _all_streaming_or_none(streams: Sequence[Stream]) -> bool:
    kinds = {stream.name: bool(stream.source.isStreaming) for stream in streams}
    if len(set(kinds.values())) > 1:
        raise InvalidQuery(
            "streaming and plain DataFrames cannot be mixed in one join",
            ", ".join(f"{name} is {'streaming' if kind else 'plain'}" for name, kind in kinds.items()) + ".",
            "read all inputs with readStream, or all with read.",
        )
    return next(iter(kinds.values()))


def _refuse_watermarks(streams: Sequence[Stream]) -> None:
    """Stop now: Spark would start a query with two watermarks on one way, and fail in its second batch."""
    for stream in streams:
        for field in stream.source.schema.fields:
            if _WATERMARK in field.metadata:
                raise InvalidStream(
                    f'stream "{stream.name}" already has a watermark',
                    f"column {field.name} was given one before the join, or is the result of another join.",
                    "leave withWatermark out and say lateness= in wm.stream; "
                    "write the result of another join to a table or topic and read it from there.",
                )


def _prepare(query: JoinQuery, index: int) -> tuple[DataFrame, StreamTask]:
    """Select what the join needs: kept columns first, then the key and the time if they are not kept.

    Packing hands whole rows to Python, which ends Spark's own pruning, so it happens here.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    stream = query.streams[index]
    source: DataFrame = stream.source
    types = {field.name: field.dataType for field in source.schema.fields}
    kept = query.selected[index]
    columns = list(kept)

    def place(name: str) -> int:
        if name not in columns:
            columns.append(name)
        return columns.index(name)

    key = tuple(place(name) for name in query.keys[index])
    time = place(stream.time)
    fields_kept = StructType([StructField(name, types[name], True) for name in kept])
    schema = to_arrow_schema(fields_kept, timezone="UTC")
    picked = source.select(*[_column(name).alias(f"c{i}") for i, name in enumerate(columns)])
    return picked, StreamTask(stream.name, schema, key, time)


def _column(name: str) -> Column:
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")


def _packed(source: DataFrame, task: JoinTask, index: int, *, streaming: bool) -> DataFrame:
    packed = source.mapInArrow(pack_function(task, index), PACKED_SCHEMA)
    if streaming:
        # One millisecond more than declared: a row as late as allowed must stay ahead of the watermark.
        delay_ms = -(-task.plan.query.streams[index].lateness_us // 1000) + 1
        packed = packed.withWatermark(NEWEST, f"{delay_ms} milliseconds")
    # Gone after this, so that Spark does not judge a whole blob late by its newest row.
    return packed.drop(NEWEST)


def _output_schema(query: JoinQuery) -> StructType:
    output = []
    for stream, kept in zip(query.streams, query.selected, strict=True):
        if not kept:
            continue
        types = {field.name: field.dataType for field in stream.source.schema.fields}
        output.append(StructField(stream.name, StructType([StructField(n, types[n], True) for n in kept])))
    output.append(StructField(RESULT_TIME, TimestampType()))
    output.append(StructField(METRICS_COLUMN, ArrayType(LongType())))
    return StructType(output)


def _result_columns(query: JoinQuery) -> list[Column]:
    if query.select is None:
        return [F.col(name) for name in query.names] + [F.col(RESULT_TIME)]
    taken = [RESULT_TIME, *(name.lower() for _, name in query.select)]
    columns = []
    for index, name in query.select:
        stream = query.streams[index].name
        # A name that several streams share is told apart by the stream's name.
        alias = name if taken.count(name.lower()) == 1 else f"{stream}_{name}"
        columns.append(F.col(stream).getField(name).alias(alias))
    return [*columns, F.col(RESULT_TIME)]


def _without_sources(plan: Plan) -> Plan:
    streams = tuple(replace(stream, source=None) for stream in plan.query.streams)
    return replace(plan, query=replace(plan.query, streams=streams))
