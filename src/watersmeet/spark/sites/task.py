"""From a wiring to what the workers are told: every site is a bucket, streams go to where they arrive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from watersmeet.kernel.sites.packet import USABLE
from watersmeet.plan.layout import result_columns, value_ref
from watersmeet.plan.plan import Source
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.plan.sites.wiring import MJoinSpec, Wiring
from watersmeet.query import JoinQuery
from watersmeet.spark.buckets import SiteBuckets
from watersmeet.spark.host.task import InputTask, Task
from watersmeet.spark.prepare import (
    believed_time,
    column_named,
    filtered,
    functions_of,
    result_rows,
    value_column,
    without_sources,
)
from watersmeet.spark.problem import reason_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The state of a site is written in this form; changing it needs a new number.
_FORMAT = 3


def prepared_source(query: JoinQuery, stream: int) -> DataFrame:
    """The columns of a stream as its site takes them, its time, whether that is believed, what is wrong.

    Where all rows are counted, those that can never join travel too; a column tells them apart.
    """
    settings = query.streams[stream]
    source: DataFrame = settings.source.alias(settings.name)
    columns = [value_column(query, ref) for ref in source_refs(query, stream)]
    kept = [F.expr(condition.text) for condition in query.filters if condition.stream == stream]
    if _counted(query, stream):
        values = [
            value_column(query, value_ref(query, number, Source(stream))).isNotNull()
            for number, attribute in enumerate(query.attributes)
            if stream in attribute.streams
        ]
        usable = reduce(lambda left, right: left & right, [*values, *kept], F.lit(True))
        columns.append(F.coalesce(usable, F.lit(False)))
    else:
        source = filtered(source, settings, kept)
    columns.append(column_named(settings.time))
    if settings.max_future is not None:
        columns.append(believed_time(settings))
    if settings.problem is not None:
        columns.append(reason_of(settings.problem))
    return source.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)])


def site_task(query: JoinQuery, wiring: Wiring, sources: Sequence[StructType], here: Sequence[str]) -> Task:
    """The task of a join between sites.

    Args:
        query: What is joined.
        wiring: What runs where.
        sources: The schemas of the prepared sources.
        here: The sites that run in this application.
    """
    bare = without_sources(query)
    parts = tuple(
        replace(part, plan=replace(part.plan, query=bare)) if isinstance(part, MJoinSpec) else part
        for part in wiring.parts
    )
    wiring = replace(wiring, parts=parts)
    inputs = tuple(_input_task(query, wiring, stream, schema, here) for stream, schema in enumerate(sources))
    types = {
        ref: spec.kept.field(position).type
        for stream, spec in enumerate(inputs)
        for position, ref in enumerate(source_refs(query, stream))
    }
    refs = result_columns(query)
    places = {ref: (0, wiring.columns.index(named(ref))) for ref in refs}
    return Task(
        identity=json.dumps({"deployment": _deployment(bare, wiring, inputs)}),
        maker=SiteBuckets(wiring, tuple(stream.lateness_us for stream in query.streams)),
        buckets=wiring.sites,
        inputs=inputs,
        output=result_rows(query, types, places, refs),
        functions=functions_of(query, range(len(query.conditions))),
    )


def _deployment(query: JoinQuery, wiring: Wiring, inputs: Sequence[InputTask]) -> str:
    """Short, and different for different queries, plans, types and formats; the same at all sites."""
    said = [repr(query), repr(wiring), [str(spec.kept) for spec in inputs], _FORMAT]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def _input_task(
    query: JoinQuery, wiring: Wiring, stream: int, schema: StructType, here: Sequence[str]
) -> InputTask:
    settings = query.streams[stream]
    refs = source_refs(query, stream)
    kept = [
        (named(ref), to_arrow_type(field.dataType, timezone="UTC"))
        for ref, field in zip(refs, schema.fields, strict=False)
    ]
    required = {
        refs.index(value_ref(query, number, Source(stream)))
        for number, attribute in enumerate(query.attributes)
        if stream in attribute.streams
    }
    if _counted(query, stream):
        kept.append((USABLE, pa.bool_()))
        required = set()
    homes = [
        number
        for number, site in enumerate(wiring.sites)
        if site in here and stream in wiring.streams_at(site)
    ]
    return InputTask(
        name=settings.name,
        kept=pa.schema(kept),
        key=(),
        time=len(kept),
        believed=None if settings.max_future is None else len(kept) + 1,
        problem=None if settings.problem is None else len(schema.fields) - 1,
        required=tuple(sorted(required)),
        replicated=True,
        homes=tuple(homes),
        stream=stream,
        lateness=settings.lateness_us,
    )


def _counted(query: JoinQuery, stream: int) -> bool:
    """Whether the rows of a stream are counted, those that cannot join too."""
    return query.streams[stream].window.counts_rows
