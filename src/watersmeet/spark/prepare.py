"""From a plan to what the workers are told: the columns each operator needs of each stream, and the tasks.

Packing hands whole rows to Python, which ends Spark's own pruning, so streams are filtered and reduced to the
columns somebody needs before it, and values of key expressions are computed there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.dealing import may_deal
from watersmeet.plan.identity import identity
from watersmeet.plan.layout import InputLayout, OperatorLayout, Ref, layouts, presence, value_ref
from watersmeet.plan.plan import operators
from watersmeet.query import JoinQuery, Stream
from watersmeet.query.function import Function
from watersmeet.query.kind import OUTER
from watersmeet.spark.buckets import OperatorBuckets, ProgressiveBuckets
from watersmeet.spark.host.task import (
    CLOSINGS,
    Aligned,
    InputTask,
    NextOperator,
    ResultField,
    ResultRows,
    ResultStruct,
    Task,
    next_number,
)
from watersmeet.spark.problem import reason_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Stands for the closings of results among their columns.
_CLOSING = Ref(-1, "")
# Spark would leave out microseconds.
_JSON_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


# Columns that follow those of a prepared source, where they are needed; see `InputTask`.
CONTENT, PROBLEM, BELIEVED, WANTED = "content", "problem", "believed", "wanted"


def prepared_sources(plan: Plan, *, streaming: bool = False, set_aside: bool = False) -> list[DataFrame]:
    """Per stream the DataFrame to pack."""
    streams = enumerate(plan.query.streams)
    return [
        prepared_source(plan, number, stream.source, streaming=streaming, set_aside=set_aside)
        for number, stream in streams
    ]


def prepared_source(
    plan: Plan,
    number: int,
    source: DataFrame,
    *,
    streaming: bool = False,
    set_aside: bool = False,
    left: Column | None = None,
    beside: Iterable[Column] = (),
) -> DataFrame:
    """The DataFrame of a stream to pack, with columns c0, c1, ... as `source_columns` lists them.

    Further columns follow: the whole row as JSON, if rows that are set aside are asked for; why a row cannot
    be used, where its source says so; whether a time is believed, where not every one is; and whether the
    filters hold. Only where a watermark follows the newest row, rows that fail them have to be seen: of them
    only the time is left. Elsewhere they are gone. Filters say nothing about rows that cannot be used.
    Columns `beside` these come last. Rows that are `left` to the workers have no values yet: they are judged
    there.
    """
    stream = plan.query.streams[number]
    source = source.alias(stream.name)
    refs = source_columns(plan, number)
    columns = {f"c{i}": _left_out(value_column(plan.query, ref), ref, left) for i, ref in enumerate(refs)}
    if set_aside:
        columns[CONTENT] = _as_json(stream)
    filters = [F.expr(condition.text) for condition in plan.query.filters if condition.stream == number]
    if filters and streaming and not plan.endless:
        wanted = F.coalesce(reduce(and_, filters), F.lit(False))
        # Nothing is judged of rows without values: it could fail.
        wanted = wanted if left is None else F.when(left, F.lit(True)).otherwise(wanted)
        time = f"c{refs.index(Ref(number, stream.time))}"
        told = wanted if stream.problem is None else wanted | column_named(stream.problem).isNotNull()
        columns = {
            name: one if name == time else F.when(told if name == CONTENT else wanted, one)
            for name, one in columns.items()
        }
    else:
        wanted = None
        source = filtered(source, stream, filters)
    if stream.problem is not None:
        columns[PROBLEM] = reason_of(stream.problem)
    if guarded(plan, stream):
        columns[BELIEVED] = believed_time(stream)
    if wanted is not None:
        columns[WANTED] = wanted
    return source.select(*[column.alias(name) for name, column in columns.items()], *beside)


def _left_out(value: Column, ref: Ref, left: Column | None) -> Column:
    """A value, where no row without values is computed with: that could fail."""
    return value if left is None or ref.attribute is None else F.when(~left, value)


def filtered(source: DataFrame, stream: Stream, filters: Iterable[Column]) -> DataFrame:
    """The rows for which all filters hold, and those that cannot be used: they are told whatever is asked."""
    for condition in filters:
        passes = condition if stream.problem is None else condition | column_named(stream.problem).isNotNull()
        source = source.filter(passes)
    return source


def _as_json(stream: Stream) -> Column:
    """All of a row, to the microsecond, with its nulls, and with what its source says is wrong."""
    names = stream.column_names if stream.problem is None else (*stream.column_names, stream.problem)
    whole = F.struct(*[column_named(name) for name in names])
    return F.to_json(whole, {"timestampFormat": _JSON_TIME, "ignoreNullFields": "false"})


def guarded(plan: Plan, stream: Stream) -> bool:
    """Whether times far ahead are set aside; where no watermark follows the newest time they do no harm."""
    return stream.max_future is not None and not plan.endless


def believed_time(stream: Stream) -> Column:
    """Whether a time is not too far ahead of the clock.

    The clock is that of the batch, which Spark keeps: a batch that runs again later decides the same. Nearly
    all times are compared with one that is the same all day, and only what is later with the latest itself.
    """
    time = column_named(stream.time)
    midnight = F.unix_micros(F.current_date().cast("timestamp"))
    since_midnight = F.timestamp_micros(midnight + _ahead_us(stream))
    return (time <= since_midnight) | (time <= latest_time(stream))


def latest_time(stream: Stream) -> Column:
    """The latest time of a stream that is believed in a batch."""
    return F.timestamp_micros(latest_micros(stream))


def latest_micros(stream: Stream) -> Column:
    """The same in microseconds.

    Spark writes a time that it knows into the code it generates, which would have to be compiled, and to
    become fast, anew in every batch. It generates none for this way to sort, even if there is but one value.
    """
    return F.get(F.array_sort(F.array(F.unix_micros(F.current_timestamp()) + _ahead_us(stream))), F.lit(0))


def _ahead_us(stream: Stream) -> int:
    assert stream.max_future is not None
    return stream.max_future // timedelta(microseconds=1)


def source_columns(plan: Plan, stream: int) -> tuple[Ref, ...]:
    """What packing needs of a stream: what is stored, then the key, the time, and what must not be null."""
    layout = next(
        found.inputs[number]
        for operator, found in layouts(plan).items()
        for number, part in enumerate(operator.inputs)
        if part == Source(stream)
    )
    time = Ref(stream, plan.query.streams[stream].time)
    return tuple(dict.fromkeys([*layout.stored, *layout.key, time, *_required(plan, stream)]))


def task_tree(plan: Plan, schemas: Sequence[StructType], *, result_id: bool = False) -> dict[Operator, Task]:
    """The task of every operator.

    Args:
        plan: The plan.
        schemas: The schemas of the prepared sources.
        result_id: Whether every result has an id.
    """
    query = plan.query
    types: dict[Ref, DataType] = {}
    for stream, schema in enumerate(schemas):
        for ref, field in zip(source_columns(plan, stream), schema.fields, strict=False):
            types[ref] = field.dataType
    found = layouts(plan)
    bare = replace(plan, query=without_sources(query))
    tasks: dict[Operator, Task] = {}
    # From the last operator down, since an operator has to know the one above.
    links: dict[Operator, NextOperator] = {}
    for operator in reversed(operators(plan.root)):
        inputs = tuple(
            _input_task(plan, operator, number, layout, types, schemas)
            for number, layout in enumerate(found[operator].inputs)
        )
        alone = not any(isinstance(part, Source) for part in operator.inputs)
        for number, part in enumerate(operator.inputs):
            if isinstance(part, Operator):
                positions = _positions(found[part])
                if brings_closings(part):
                    stored = len(found[operator].inputs[number].stored)
                    positions = (*positions[:stored], CLOSINGS, *positions[stored:])
                links[part] = NextOperator(number, inputs[number], positions, heartbeat=alone)
        tasks[operator] = Task(
            identity=json.dumps(identity(plan, operator, found[operator])),
            maker=_maker(bare, operator, found[operator], inputs),
            buckets=tuple(map(str, range(plan.buckets))),
            inputs=inputs,
            output=links.get(operator)
            or replace(
                _result_rows(plan, found[operator], inputs),
                set_aside=any(CONTENT in schema.names for schema in schemas),
                result_id=result_id,
            ),
            functions=functions_of(query, operator.conditions),
            memory=plan.bounded,
            spreads_keys=bool(may_deal(plan)),
        )
    # Those below are the first.
    return {operator: replace(tasks[operator], number=next_number()) for operator in operators(plan.root)}


def brings_closings(part: Source | Operator) -> bool:
    """Whether rows of an input say when they close (`kernel.closing`), because they may lack others."""
    return isinstance(part, Operator) and part.kind == OUTER


def without_sources(query: JoinQuery) -> JoinQuery:
    """The query as plain data."""
    return replace(query, streams=tuple(replace(stream, source=None) for stream in query.streams))


def functions_of(query: JoinQuery, conditions: Iterable[int]) -> tuple[Function, ...]:
    """The Python functions among some conditions."""
    found = (query.conditions[number].function for number in conditions)
    return tuple(function for function in found if function is not None)


def _maker(
    plan: Plan, operator: Operator, layout: OperatorLayout, inputs: tuple[InputTask, ...]
) -> OperatorBuckets | ProgressiveBuckets:
    if plan.endless:
        return ProgressiveBuckets(plan, layout, tuple(spec.kept for spec in inputs))
    # Of rows that every bucket gets, keys say nothing about a bucket.
    key_types = tuple(() if spec.replicated else spec.key_types for spec in inputs)
    return OperatorBuckets(plan, operator, layout, key_types, tuple(spec.kept for spec in inputs))


def _leaving(layout: OperatorLayout) -> dict[Ref, tuple[int, int]]:
    """Where blocks of results have the columns that leave an operator: the part, and the position there."""
    return {
        ref: (part, position)
        for part, spec in enumerate(layout.inputs)
        for position, ref in enumerate(ref for ref in spec.stored if ref in layout.output)
    }


def _positions(layout: OperatorLayout) -> tuple[tuple[int, int], ...]:
    places = _leaving(layout)
    return tuple(places[ref] for ref in layout.output)


def _result_rows(plan: Plan, layout: OperatorLayout, inputs: tuple[InputTask, ...]) -> ResultRows:
    types = {
        ref: spec.kept.field(position).type
        for spec, part in zip(inputs, layout.inputs, strict=True)
        for position, ref in enumerate(part.stored)
    }
    return result_rows(plan.query, types, _leaving(layout), layout.output)


def result_rows(
    query: JoinQuery,
    types: Mapping[Ref, pa.DataType],
    places: Mapping[Ref, tuple[int, int]],
    refs: Sequence[Ref],
) -> ResultRows:
    """Results as the user sees them: one struct per stream of which the query keeps something.

    Args:
        query: What is joined.
        types: The types of the columns.
        places: Where blocks of results have them.
        refs: The columns that are kept.
    """
    structs = []
    tell = {ref.stream: places[ref] for ref in presence(query)}
    for number, stream in enumerate(query.streams):
        kept = [ref for ref in refs if ref.stream == number]
        if kept:
            fields = tuple(ResultField(ref.column, types[ref], *places[ref]) for ref in kept)
            structs.append(ResultStruct(stream.name, fields, tell.get(number)))
    return ResultRows(tuple(structs), query.slots)


def _input_task(
    plan: Plan,
    operator: Operator,
    number: int,
    layout: InputLayout,
    types: dict[Ref, DataType],
    schemas: Sequence[StructType],
) -> InputTask:
    part = operator.inputs[number]
    replicated = operator.sliced or (number in operator.replicated and operator.segment is None)
    aligned = _aligned(plan, operator, number)
    kept = pa.schema(
        [
            (f"{plan.query.streams[ref.stream].name}.{ref.column}", to_arrow_type(types[ref], timezone="UTC"))
            for ref in layout.stored
        ]
    )
    key_types = tuple(to_arrow_type(types[ref], timezone="UTC") for ref in layout.key)
    unkeyed = unkeyed_input(plan, operator, number)
    if isinstance(part, Source):
        columns = source_columns(plan, part.stream)
        stream = plan.query.streams[part.stream]
        names = schemas[part.stream].names
        further = {
            what: place for place, what in enumerate(names) if what in (CONTENT, PROBLEM, BELIEVED, WANTED)
        }
        return InputTask(
            name=plan.input_name(part),
            kept=kept,
            key=tuple(columns.index(ref) for ref in layout.key),
            time=columns.index(Ref(part.stream, stream.time)),
            content=further.get(CONTENT),
            problem=further.get(PROBLEM),
            believed=further.get(BELIEVED),
            wanted=further.get(WANTED),
            required=tuple(columns.index(ref) for ref in _required(plan, part.stream)),
            replicated=replicated,
            aligned=aligned,
            stream=part.stream,
            lateness=stream.lateness_us,
            row_times=times_input(plan, operator, part.stream),
            unkeyed=unkeyed,
            key_types=key_types,
        )
    columns = tuple(dict.fromkeys([*layout.stored, *layout.key]))
    if brings_closings(part):
        kept = kept.append(pa.field("__closing", pa.int64()))
        stored = len(layout.stored)
        columns = (*columns[:stored], _CLOSING, *columns[stored:])
    return InputTask(
        name=plan.input_name(part),
        kept=kept,
        key=tuple(columns.index(ref) for ref in layout.key),
        time=len(columns),
        end=len(columns) + 1,
        replicated=replicated,
        aligned=aligned,
        unkeyed=unkeyed,
        key_types=key_types,
    )


def _aligned(plan: Plan, operator: Operator, number: int) -> Aligned | None:
    """The first input lies in segments, and the others go to the segments they can meet."""
    if operator.segment is None:
        return None
    part = operator.inputs[number]
    if number == 0:
        return Aligned(operator.segment)
    first = plan.reach(operator.inputs[0])
    return Aligned(operator.segment, first, plan.reach(part) if isinstance(part, Source) else None)


def times_input(plan: Plan, operator: Operator, stream: int) -> int | None:
    """As which input an operator gets the times of a stream; None where it does not count them."""
    counted = plan.counted_whole(operator)
    return len(operator.inputs) + counted.index(stream) if stream in counted else None


def unkeyed_input(plan: Plan, operator: Operator, number: int) -> int | None:
    """As which input rows of another come that have no key; None where such rows are dropped."""
    if number not in operator.preserved or not operator.key:
        return None
    return len(operator.inputs) + len(plan.counted_whole(operator)) + operator.preserved.index(number)


def _required(plan: Plan, stream: int) -> list[Ref]:
    """Without a value that has to equal another, a row can never be in a result."""
    return [
        value_ref(plan.query, number, Source(stream))
        for number, attribute in enumerate(plan.query.attributes)
        if stream in attribute.streams and plan.query.must_have(stream, attribute)
    ]


def value_column(query: JoinQuery, ref: Ref) -> Column:
    """A column of a stream, or the expression that gives its part of an attribute."""
    return column_named(ref.column) if ref.attribute is None else F.expr(ref.text(query))


def column_named(name: str) -> Column:
    """A column by its whole name, whatever characters are in it."""
    return F.col(f"`{name.replace('`', '``')}`")
