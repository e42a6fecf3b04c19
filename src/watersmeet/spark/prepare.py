"""What goes into packing: the columns each operator needs of each stream, and the tasks that say where.

Packing hands whole rows to Python, which ends Spark's own pruning, so streams are filtered and reduced to the
columns somebody needs before it, and values of key expressions are computed there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.identity import identity
from watersmeet.plan.layout import InputLayout, Ref, layouts, value_ref
from watersmeet.plan.plan import operators
from watersmeet.query import JoinQuery
from watersmeet.spark.task import Aligned, InputTask, JoinTask, Link

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def prepared_sources(plan: Plan) -> list[DataFrame]:
    """Per stream the DataFrame to pack: filtered, with columns c0, c1, ... as `source_columns` lists them."""
    prepared = []
    for number, stream in enumerate(plan.query.streams):
        source: DataFrame = stream.source.alias(stream.name)
        for condition in plan.query.filters:
            if condition.stream == number:
                source = source.filter(F.expr(condition.text))
        columns = [value_column(plan.query, ref) for ref in source_columns(plan, number)]
        prepared.append(source.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)]))
    return prepared


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


def task_tree(plan: Plan, schemas: Sequence[StructType]) -> dict[Operator, JoinTask]:
    """The task of every operator.

    Args:
        plan: The plan.
        schemas: The schemas of the prepared sources.
    """
    query = plan.query
    types: dict[Ref, DataType] = {}
    for stream, schema in enumerate(schemas):
        for ref, field in zip(source_columns(plan, stream), schema.fields, strict=True):
            types[ref] = field.dataType
    found = layouts(plan)
    without_sources = replace(
        plan, query=replace(query, streams=tuple(replace(stream, source=None) for stream in query.streams))
    )
    tasks: dict[Operator, JoinTask] = {}
    # From the last operator down, since an operator has to know the one above.
    links: dict[Operator, Link] = {}
    for operator in reversed(operators(plan.root)):
        inputs = tuple(
            _input_task(plan, operator, number, layout, types)
            for number, layout in enumerate(found[operator].inputs)
        )
        alone = not any(isinstance(part, Source) for part in operator.inputs)
        for number, part in enumerate(operator.inputs):
            if isinstance(part, Operator):
                links[part] = Link(number, inputs[number], heartbeat=alone)
        tasks[operator] = JoinTask(
            without_sources,
            operator,
            found[operator],
            inputs,
            json.dumps(identity(plan, operator, found[operator])),
            links.get(operator),
        )
    return tasks


def _input_task(
    plan: Plan, operator: Operator, number: int, layout: InputLayout, types: dict[Ref, DataType]
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
    if isinstance(part, Source):
        columns = source_columns(plan, part.stream)
        return InputTask(
            plan.input_name(part),
            kept,
            tuple(columns.index(ref) for ref in layout.key),
            columns.index(Ref(part.stream, plan.query.streams[part.stream].time)),
            required=tuple(columns.index(ref) for ref in _required(plan, part.stream)),
            replicated=replicated,
            aligned=aligned,
            stream=part.stream,
            clock=clock_number(plan, operator, part.stream),
            key_types=key_types,
        )
    columns = tuple(dict.fromkeys([*layout.stored, *layout.key]))
    return InputTask(
        plan.input_name(part),
        kept,
        tuple(columns.index(ref) for ref in layout.key),
        len(columns),
        end=len(columns) + 1,
        replicated=replicated,
        aligned=aligned,
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


def clock_number(plan: Plan, operator: Operator, stream: int) -> int | None:
    """As which input an operator gets the times of a stream; None where it does not count them."""
    clocks = plan.clocks(operator)
    return len(operator.inputs) + clocks.index(stream) if stream in clocks else None


def _required(plan: Plan, stream: int) -> list[Ref]:
    """Without a value that has to equal another, a row can never be in a result."""
    return [
        value_ref(plan.query, number, Source(stream))
        for number, attribute in enumerate(plan.query.attributes)
        if stream in attribute.streams
    ]


def value_column(query: JoinQuery, ref: Ref) -> Column:
    """A column of a stream, or the expression that gives its part of an attribute."""
    return column_named(ref.column) if ref.attribute is None else F.expr(ref.text(query))


def column_named(name: str) -> Column:
    """A column by its whole name, whatever characters are in it."""
    return F.col(f"`{name.replace('`', '``')}`")
