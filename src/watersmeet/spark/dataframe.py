"""From a plan to a DataFrame.

    source -> mapInArrow(pack) -> withWatermark -> union -> groupBy(label)
           -> transformWithStateInPandas(join) -> observe metrics -> results

The watermark is taken from the packed rows: they carry the newest time among theirs, so Spark looks at a
few of them instead of every row, and times the guard sets aside never reach it.

An operator below another returns its results packed for that one, and is one more part of its union. Both
see the same watermark in a batch, since a stateful operator hands on the one it was given.

Plain inputs take the same way with `applyInArrow` in place of the stateful operator. Only DataFrame
methods are used, so a Spark Connect session works like a classic one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType, TimestampType

from watersmeet.errors import InvalidQuery, InvalidStream
from watersmeet.plan import Plan, Source
from watersmeet.plan.layout import result_columns
from watersmeet.query import JoinQuery, Stream
from watersmeet.query.stream import RESULT_TIME
from watersmeet.spark.blobs import PACKED_SCHEMA
from watersmeet.spark.budget import on_executors
from watersmeet.spark.metrics import observation_name
from watersmeet.spark.pack import NEWEST, SOURCE_SCHEMA
from watersmeet.spark.prepare import clock_number, column_named, prepared_sources, task_tree
from watersmeet.spark.progressive.control import FORMAT, ControlSource
from watersmeet.spark.report import METRICS_COLUMN, observation
from watersmeet.spark.settings import refuse_large_types, refuse_unsafe_settings
from watersmeet.spark.ship import batch_function, clock_function, pack_function, stateful_processor
from watersmeet.spark.task import JoinTask

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# A query may hold several joins.
_numbers = count(1)
# How Spark marks a column with a watermark.
_WATERMARK = "spark.watermarkDelayMs"


def join_dataframe(plan: Plan, control: Path) -> DataFrame:
    """The DataFrame that computes a plan; `control` is the folder of end markers, where there can be any."""
    query = plan.query
    streaming = _all_streaming_or_none(query.streams)
    spark = query.streams[0].source.sparkSession
    conf = spark.conf
    if plan.bounded is not None:
        plan = replace(plan, bounded=on_executors(plan.bounded, conf))
    if streaming:
        refuse_unsafe_settings(conf)
        _refuse_watermarks(query.streams)
    else:
        refuse_large_types(conf)
        _refuse_limit(plan)
    sources = prepared_sources(plan)
    tasks = task_tree(plan, [source.schema for source in sources])

    with_metrics = StructType(
        [*result_schema(query).fields, StructField(METRICS_COLUMN, ArrayType(LongType()))]
    )

    def joined(task: JoinTask) -> DataFrame:
        """The output of an operator, less its metrics, which are observed."""
        packed = [
            _packed(sources[part.stream], task, number, watermark=streaming and not plan.endless)
            if isinstance(part, Source)
            else joined(tasks[part])
            for number, part in enumerate(task.operator.inputs)
        ]
        own = {part.stream for part in task.operator.inputs if isinstance(part, Source)}
        packed += [_clock(plan, task, stream) for stream in plan.clocks(task.operator) if stream not in own]
        if plan.endless and streaming:
            packed.append(_control(spark, task, control))
        groups = reduce(lambda left, right: left.unionAll(right), packed).groupBy("label")
        last = task.above is None
        schema = with_metrics if last else f"{PACKED_SCHEMA}, {METRICS_COLUMN} array<bigint>"
        if streaming and plan.endless:
            # Results may be much later than their rows, so no watermark goes with them.
            output = groups.transformWithStateInPandas(
                stateful_processor(task, "watersmeet.spark.progressive.processor"), schema, "append", "none"
            )
        elif streaming:
            output = groups.transformWithStateInPandas(
                stateful_processor(task),
                schema,
                "append",
                "eventtime",
                eventTimeColumnName=RESULT_TIME if last else "",
            )
        else:
            output = groups.applyInArrow(batch_function(task), schema)
        names = tuple(spec.name for spec in task.inputs)
        name = observation_name(next(_numbers), names)
        functions = tuple(function.text for function in task.functions)
        observed = output.observe(name, observation(names, functions, plan.buckets))
        return observed.filter(F.col(METRICS_COLUMN).isNull()).drop(METRICS_COLUMN)

    results = joined(tasks[plan.root])
    for rest in query.afterwards:
        results = results.filter(F.expr(rest.text))
    return results.select(*result_columns_of(query))


def _all_streaming_or_none(streams: Sequence[Stream]) -> bool:
    kinds = {stream.name: bool(stream.source.isStreaming) for stream in streams}
    if len(set(kinds.values())) > 1:
        raise InvalidQuery(
            "streaming and plain DataFrames cannot be mixed in one join",
            ", ".join(f"{name} is {'streaming' if kind else 'plain'}" for name, kind in kinds.items()) + ".",
            "read all inputs with readStream, or all with read.",
        )
    return next(iter(kinds.values()))


def _refuse_limit(plan: Plan) -> None:
    if plan.bounded is not None and not plan.endless:
        raise InvalidQuery(
            "the memory of a join of plain DataFrames with windows cannot be limited",
            "Spark hands over all rows of a bucket at once.",
            "leave memory= out, or read the inputs with readStream and trigger(availableNow=True).",
        )


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


def _control(spark: SparkSession, task: JoinTask, folder: Path) -> DataFrame:
    """Ticks and end markers for every bucket."""
    assert task.plan.bounded is not None
    spark.dataSource.register(ControlSource)
    options = {
        "folder": str(folder),
        "streams": str(len(task.inputs)),
        "labels": ",".join(map(str, task.labels)),
        "seconds": str(task.plan.bounded.tick_s),
    }
    return spark.readStream.format(FORMAT).options(**options).load()


def _packed(source: DataFrame, task: JoinTask, number: int, *, watermark: bool) -> DataFrame:
    packed = source.mapInArrow(pack_function(task, number), SOURCE_SCHEMA)
    if watermark:
        stream = task.inputs[number].stream
        assert stream is not None
        # One millisecond more than declared: a row as late as allowed must stay ahead of the watermark.
        delay_ms = -(-task.plan.query.streams[stream].lateness_us // 1000) + 1
        packed = packed.withWatermark(NEWEST, f"{delay_ms} milliseconds")
    # Gone after this, so that Spark does not judge a whole blob late by its newest row.
    return packed.drop(NEWEST)


def _clock(plan: Plan, task: JoinTask, stream: int) -> DataFrame:
    """The times of a stream that joins further down. Spark reads the source once for both."""
    number = clock_number(plan, task.operator, stream)
    assert number is not None
    time = plan.query.streams[stream].time
    source: DataFrame = plan.query.streams[stream].source
    times = source.select(column_named(time))
    return times.mapInArrow(clock_function(task, number, stream), PACKED_SCHEMA)


def result_schema(query: JoinQuery) -> StructType:
    """Results as operators give them: one struct per stream, and the result time."""
    returned = result_columns(query)
    output = []
    for number, stream in enumerate(query.streams):
        types = {field.name: field.dataType for field in stream.source.schema.fields}
        fields = [
            StructField(ref.column, types[ref.column], True) for ref in returned if ref.stream == number
        ]
        if fields:
            output.append(StructField(stream.name, StructType(fields)))
    return StructType([*output, StructField(RESULT_TIME, TimestampType())])


def result_columns_of(query: JoinQuery) -> list[Column]:
    """What the user sees of results that have one struct per stream."""
    if query.outputs is None:
        return [F.col(name) for name in (*query.names, RESULT_TIME)]
    columns = [(F.expr(output.text), output.name) for output in query.outputs]
    return [column if name is None else column.alias(name) for column, name in columns]
