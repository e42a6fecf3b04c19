"""The DataFrame that runs a task: sources packed, grouped by bucket, joined by a stateful operator, observed.

    source, or a list of files -> mapInArrow(pack) -> withWatermark -+
    results of another operator -----------------+-> union -> groupBy(label) -> stateful operator -> observe
    ticks and end markers, mail -----------------+

The watermark is taken from the packed rows: they carry the newest time among theirs, so Spark looks at a
few of them instead of every row, and times the guard sets aside never reach it.

Plain inputs take the same way with `applyInArrow` in place of the stateful operator. Only DataFrame
methods are used, so a Spark Connect session works like a classic one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from watersmeet.query.stream import RESULT_TIME
from watersmeet.spark.host.blobs import PACKED_SCHEMA
from watersmeet.spark.host.control import FORMAT, ControlSource
from watersmeet.spark.host.idle import FORMAT as IDLE_FORMAT
from watersmeet.spark.host.idle import IdleSource, Patience
from watersmeet.spark.host.metrics import METRICS_COLUMN
from watersmeet.spark.host.open_files import FileColumns
from watersmeet.spark.host.open_lines import LineColumns
from watersmeet.spark.host.open_records import RecordColumns
from watersmeet.spark.host.output import MAIL_COLUMN
from watersmeet.spark.host.pack import NEWEST, SOURCE_SCHEMA
from watersmeet.spark.host.report import observation, observation_name
from watersmeet.spark.host.ship import pack_function, plain_function, stateful_processor, times_function
from watersmeet.spark.host.task import Task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# As in `blobs.PACKED_SCHEMA`, and as in `output`.
PACKED_COLUMNS = [
    StructField("label", IntegerType()),
    StructField("input", IntegerType()),
    StructField("blob", BinaryType()),
]
MAIL_TYPE = StructType(
    [
        StructField("sender", StringType()),
        StructField("receiver", StringType()),
        StructField("number", LongType()),
        StructField("body", BinaryType()),
    ]
)


def joined(
    task: Task,
    packed: Sequence[DataFrame],
    results: StructType | None,
    *,
    running: int | None = None,
) -> DataFrame:
    """The output of a task: its results, and its mail if it sends any. Metrics are observed.

    Args:
        task: The join.
        packed: All that its buckets get.
        results: The columns of its results; None where they go to another operator.
        running: How many of its buckets run here; None for all.
    """
    groups = reduce(lambda left, right: left.unionAll(right), packed).groupBy("label")
    schema = _output_schema(task, results)
    if not packed[0].isStreaming:
        output = groups.applyInArrow(plain_function(task), schema)
    elif task.kind.uses_watermark:
        output = groups.transformWithStateInPandas(
            stateful_processor(task),
            schema,
            "append",
            "eventtime",
            eventTimeColumnName="" if results is None else RESULT_TIME,
        )
    else:
        # Results may be much later than their rows, so no watermark goes with them.
        output = groups.transformWithStateInPandas(stateful_processor(task), schema, "append", "none")
    names = tuple(spec.name for spec in task.inputs)
    texts = tuple(function.text for function in task.functions)
    aggregate = observation(names, texts, len(task.buckets) if running is None else running)
    observed = output.observe(observation_name(task.number, names), aggregate)
    return observed.filter(F.col(METRICS_COLUMN).isNull()).drop(METRICS_COLUMN)


def _output_schema(task: Task, results: StructType | None) -> StructType:
    columns = PACKED_COLUMNS if results is None else results.fields
    mail = [StructField(MAIL_COLUMN, MAIL_TYPE)] if task.kind.sends_messages else []
    return StructType([*columns, StructField(METRICS_COLUMN, ArrayType(LongType())), *mail])


def packed_source(
    source: DataFrame,
    task: Task,
    number: int,
    idle: DataFrame | None = None,
    opened: FileColumns | LineColumns | RecordColumns | None = None,
) -> DataFrame:
    """The rows of a prepared source, packed for the buckets of an input.

    Args:
        source: The rows, a list of files, or records.
        task: The join.
        number: The input.
        idle: Says what it has reached where it has no rows: to Spark's watermark that is the same.
        opened: What the workers make of files or records.
    """
    packed = source.mapInArrow(pack_function(task, number, opened), SOURCE_SCHEMA)
    if idle is not None:
        packed = packed.unionAll(idle)
    if source.isStreaming and task.kind.uses_watermark:
        # One millisecond more than declared: a row as late as allowed must stay ahead of the watermark.
        delay_ms = -(-task.inputs[number].lateness // 1000) + 1
        packed = packed.withWatermark(NEWEST, f"{delay_ms} milliseconds")
    # Gone after this, so that Spark does not judge a whole blob late by its newest row.
    return packed.drop(NEWEST)


def packed_times(times: DataFrame, task: Task, number: int) -> DataFrame:
    """The times of a stream that joins further down. Spark reads the source once for both."""
    return times.mapInArrow(times_function(task, number), PACKED_SCHEMA)


def idle_source(
    spark: SparkSession, task: Task, number: int, streams: Mapping[str, Patience], folder: Path
) -> DataFrame:
    """What the others have reached while an input is idle.

    Args:
        spark: The session.
        task: The join.
        number: The input.
        streams: All streams of the query.
        folder: Where notes about them are left.
    """
    spark.dataSource.register(IdleSource)
    options = {
        "stream": task.inputs[number].name,
        "streams": json.dumps({name: asdict(one) for name, one in streams.items()}),
        "folder": str(folder),
        "label": str(task.ledger),
        "input": str(number),
    }
    return spark.readStream.format(IDLE_FORMAT).options(**options).load()


def control_source(spark: SparkSession, task: Task, folder: Path, tick_s: float) -> DataFrame:
    """Ticks and end markers for every bucket; `folder` is where end markers are left."""
    spark.dataSource.register(ControlSource)
    options = {
        "folder": str(folder),
        "streams": str(len(task.inputs)),
        "labels": ",".join(map(str, task.labels)),
        "seconds": str(tick_s),
    }
    return spark.readStream.format(FORMAT).options(**options).load()
