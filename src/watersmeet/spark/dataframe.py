"""From a plan to a DataFrame: one operator of `host.operator` for every operator of the plan.

An operator below another returns its results packed for that one, and is one more part of its union. Both
see the same watermark in a batch, since a stateful operator hands on the one it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from watersmeet.errors import InvalidQuery, InvalidStream
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.layout import result_columns
from watersmeet.query import JoinQuery, Stream
from watersmeet.query.stream import RESULT_ID, added_columns
from watersmeet.spark.advice import advise
from watersmeet.spark.ahead import start_workers
from watersmeet.spark.checkpoint_files import quick_checkpoint_files
from watersmeet.spark.connect import distant_server
from watersmeet.spark.host.idle import Patience
from watersmeet.spark.host.memory_limit import on_executors
from watersmeet.spark.host.operator import control_source, idle_source, joined, packed_source, packed_times
from watersmeet.spark.host.set_aside import SET_ASIDE, STRUCT
from watersmeet.spark.host.task import Task
from watersmeet.spark.listener import listen, notes_folder
from watersmeet.spark.master import on_one_host
from watersmeet.spark.opened import opened_by_workers
from watersmeet.spark.prepare import (
    believed_time,
    column_named,
    guarded,
    prepared_sources,
    task_tree,
    times_input,
)
from watersmeet.spark.private import private_folder
from watersmeet.spark.settings import refuse_large_types, refuse_unsafe_settings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# How Spark marks a column with a watermark.
_WATERMARK = "spark.watermarkDelayMs"
_RETAINED = "spark.sql.streaming.minBatchesToRetain"


def join_dataframe(
    plan: Plan, control: Path, *, set_aside: bool = False, result_id: bool = False
) -> DataFrame:
    """The DataFrame that computes a plan.

    Args:
        plan: The plan.
        control: The folder of end markers and notes, where there can be any.
        set_aside: Whether rows that are set aside come with the results.
        result_id: Whether every result has an id.
    """
    query = plan.query
    if set_aside:
        _refuse_taken_name(query, SET_ASIDE, "rows that are set aside come")
    if result_id:
        _refuse_taken_name(query, RESULT_ID, "ids of results come")
        _refuse_ids(plan)
    streaming = _all_streaming_or_none(query.streams)
    spark = query.streams[0].source.sparkSession
    conf = spark.conf
    if plan.bounded is not None:
        plan = replace(plan, bounded=on_executors(plan.bounded, conf))
    if streaming:
        refuse_unsafe_settings(conf, plan.buckets)
        advise(spark, plan.buckets)
        _refuse_watermarks(query.streams)
        start_workers(spark)
        quick_checkpoint_files(spark)
        listen(spark)
        if any(stream.idle is not None for stream in query.streams):
            _refuse_distant(spark)
            private_folder(control)
    else:
        refuse_large_types(conf)
        _refuse_limit(plan)
    sources = prepared_sources(plan, streaming=streaming, set_aside=set_aside)
    tasks = task_tree(plan, [source.schema for source in sources], result_id=result_id)
    if streaming:
        tasks = {operator: placed(task, spark) for operator, task in tasks.items()}

    streams = {stream.name: Patience(stream.lateness_us, stream.idle_s) for stream in query.streams}

    def packed_stream(task: Task, number: int, stream: int) -> DataFrame:
        idle = None
        if streaming and query.streams[stream].idle is not None:
            idle = idle_source(spark, task, number, streams, control)
        found = opened_by_workers(plan, stream, set_aside=set_aside) if streaming else None
        source, opened = (sources[stream], None) if found is None else found
        return packed_source(source, task, number, idle, opened)

    def output(operator: Operator) -> DataFrame:
        task = tasks[operator]
        packed = [
            packed_stream(task, number, part.stream) if isinstance(part, Source) else output(part)
            for number, part in enumerate(operator.inputs)
        ]
        # Spark tells sources apart by their order. Sorted by name, it does not change with the kind of join
        # or with the order in which streams are written: a restart that is refused touches no other source.
        named = [min(query.streams[s].name for s in part.streams) for part in operator.inputs]
        packed = [packed[number] for number in sorted(range(len(packed)), key=named.__getitem__)]
        own = {part.stream for part in operator.inputs if isinstance(part, Source)}
        packed += [_row_times(plan, operator, task, s) for s in plan.counted_whole(operator) if s not in own]
        if streaming and task.kind.hears_silence:
            assert plan.bounded is not None
            packed.append(control_source(spark, task, control, plan.bounded.tick_s))
        return joined(task, packed, schema if operator is plan.root else None)

    schema = result_schema(query)
    if result_id:
        schema = schema.add(RESULT_ID, StringType())
    if set_aside:
        schema = schema.add(SET_ASIDE, from_arrow_type(STRUCT))
    return finished(query, output(plan.root), set_aside=set_aside, result_id=result_id)


def placed(task: Task, spark: SparkSession) -> Task:
    """A task of a streaming query, with what it has to know about where it runs."""
    notes = notes_folder(spark)
    return replace(
        task,
        one_host=on_one_host(spark.conf),
        notes=None if notes is None else str(notes),
        retained=int(spark.conf.get(_RETAINED, "100") or 100),
    )


def finished(
    query: JoinQuery, results: DataFrame, *, set_aside: bool = False, result_id: bool = False
) -> DataFrame:
    """Results as the user wants them, from one struct per stream: Spark judges what is left to it."""
    for rest in query.afterwards:
        condition = F.expr(rest.text)
        results = results.filter(condition | F.col(SET_ASIDE).isNotNull() if set_aside else condition)
    more = [RESULT_ID] * result_id + [SET_ASIDE] * set_aside
    return results.select(*result_columns_of(query), *more)


def _refuse_taken_name(query: JoinQuery, name: str, what: str) -> None:
    taken = query.names if query.outputs is None else [output.name or "" for output in query.outputs]
    if name in map(str.lower, taken):
        raise InvalidQuery(
            f'the result has a column "{name}" already',
            f"{what} in a column of that name.",
            f"rename that stream or column, or leave {name}=True out.",
        )


def _refuse_ids(plan: Plan) -> None:
    """Which results of a join without windows come in a batch depends on what had to leave memory before."""
    if plan.endless:
        raise InvalidQuery(
            "results of a join without windows have no ids",
            "a batch that runs again may find other results first, and these later.",
            "leave result_id=True out, and write to a sink that takes every batch once: "
            "Parquet files, or a Delta table.",
        )


def _all_streaming_or_none(streams: Sequence[Stream]) -> bool:
    kinds = {stream.name: bool(stream.source.isStreaming) for stream in streams}
    if len(set(kinds.values())) > 1:
        raise InvalidQuery(
            "streaming and plain DataFrames cannot be mixed in one join",
            ", ".join(f"{name} is {'streaming' if kind else 'plain'}" for name, kind in kinds.items()) + ".",
            "read all inputs with readStream, or all with read.",
        )
    return next(iter(kinds.values()))


def _refuse_distant(spark: SparkSession) -> None:
    """Notes about silent streams are left in a folder, which a client far away does not share."""
    host = distant_server(spark)
    if host is not None:
        raise InvalidQuery(
            "streams cannot be idle over Spark Connect to another machine",
            f"the server is at {host}, and has to be told from here which streams are silent.",
            "leave idle= out, or start the query on the machine of the server.",
        )


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


def _row_times(plan: Plan, operator: Operator, task: Task, stream: int) -> DataFrame:
    number = times_input(plan, operator, stream)
    assert number is not None
    settings = plan.query.streams[stream]
    columns = [column_named(settings.time).alias("time")]
    if guarded(plan, settings):
        columns.append(believed_time(settings).alias("believed"))
    source = settings.source
    if settings.problem is not None:
        source = source.filter(column_named(settings.problem).isNull())
    return packed_times(source.select(*columns), task, number)


def result_schema(query: JoinQuery) -> StructType:
    """Results as operators give them: one struct per stream, and what a join adds."""
    returned = result_columns(query)
    output = []
    for number, stream in enumerate(query.streams):
        types = {field.name: field.dataType for field in stream.source.schema.fields}
        fields = [
            StructField(ref.column, types[ref.column], True) for ref in returned if ref.stream == number
        ]
        if fields:
            output.append(StructField(stream.name, StructType(fields)))
    added = [StructField(name, TimestampType()) for name in added_columns(query.streams)]
    return StructType([*output, *added])


def result_columns_of(query: JoinQuery) -> list[Column]:
    """What the user sees of results that have one struct per stream."""
    if query.outputs is None:
        there = [name for name, kept in zip(query.names, query.kept, strict=True) if kept]
        return [F.col(name) for name in (*there, *added_columns(query.streams))]
    columns = [(F.expr(output.text), output.name) for output in query.outputs]
    return [column if name is None else column.alias(name) for column, name in columns]
