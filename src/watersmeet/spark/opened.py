"""Which sources the workers open or decode themselves, and what they are told: files, and records of Kafka.

Everything else, and whatever a query needs Spark for, comes as Spark reads it. The results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type

from watersmeet.kernel.evaluate import COLUMN_TYPES
from watersmeet.plan.layout import Ref
from watersmeet.plan.plan import operators
from watersmeet.query.expression import Expression, call
from watersmeet.spark.files import LATEST, LINE_FORMATS, listed, source_of
from watersmeet.spark.host.computed import Computed, Packed, columns_in
from watersmeet.spark.host.open_files import FileColumns
from watersmeet.spark.host.open_lines import LineColumns
from watersmeet.spark.host.open_records import RecordColumns
from watersmeet.spark.kafka_records import SIMPLE, RecordSource, records_of
from watersmeet.spark.opened_lines import opened_lines
from watersmeet.spark.prepare import (
    BELIEVED,
    WANTED,
    guarded,
    latest_micros,
    prepared_source,
    source_columns,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from watersmeet.plan import Plan
    from watersmeet.query import Stream

Opened = tuple["DataFrame", FileColumns | LineColumns | RecordColumns]


def opened_by_workers(plan: Plan, number: int, *, set_aside: bool) -> Opened | None:
    """What goes to the workers instead of rows, and what they make of it; None where Spark has to read.

    Args:
        plan: The plan.
        number: The stream.
        set_aside: Whether rows that are set aside are asked for, which Spark writes as JSON.
    """
    stream = plan.query.streams[number]
    refs = source_columns(plan, number)
    filters = [one.expression for one in plan.query.filters if one.stream == number]
    left_to_spark = (
        set_aside
        or (filters and (None in filters or plan.endless))
        # Its times are read a second time.
        or any(number in plan.counted_whole(operator) for operator in operators(plan.root))
    )
    packed = None if left_to_spark else _packed(plan, refs)
    if packed is None:
        return None
    time = refs.index(Ref(number, stream.time)) if guarded(plan, stream) else None
    condition = reduce(partial(call, "and"), filters) if filters else None
    source = source_of(stream.source)
    if source is not None and source.format in LINE_FORMATS:
        return opened_lines(plan, number, source, packed, time, condition)
    if source is not None:
        return _files(stream, packed, time, condition)
    records = records_of(stream.source)
    return None if records is None else _records(plan, number, records, packed, time, condition)


def _packed(plan: Plan, refs: tuple[Ref, ...]) -> list[Packed] | None:
    """What is packed of a stream; None if only Spark can compute some of it."""
    packed: list[Packed] = []
    for ref in refs:
        if ref.attribute is None:
            packed.append(ref.column)
            continue
        attribute = plan.query.attributes[ref.attribute]
        member = attribute.members[ref.stream]
        assert member is not None
        expression, kind = member.expression, COLUMN_TYPES.get(attribute.type)
        if expression is None or expression.type != attribute.type or kind is None:
            return None
        packed.append(Computed(expression, kind))
    return packed


def _files(
    stream: Stream, packed: Sequence[Packed], time: int | None, condition: Expression | None
) -> Opened:
    types = {field.name: field.dataType for field in stream.source.schema.fields}
    names = columns_in(packed, condition)
    latest = None if time is None else latest_micros(stream)
    return listed(stream.source.sparkSession, stream.source, latest), FileColumns(
        tuple((name, to_arrow_type(types[name], timezone="UTC")) for name in names),
        tuple(names.index(one) if isinstance(one, str) else one for one in packed),
        None if time is None else names.index(stream.time),
        condition,
    )


def _records(
    plan: Plan,
    number: int,
    records: RecordSource,
    packed: Sequence[Packed],
    time: int | None,
    condition: Expression | None,
) -> Opened | None:
    places = {field.name: place for place, field in enumerate(records.fields)}
    computed = [one for one in packed if isinstance(one, Computed)]
    taken = [places.get(one) if isinstance(one, str) else one for one in packed]
    if all(one is None for one in taken) or not places.keys() >= {*columns_in(computed, condition)}:
        return None
    stream = plan.query.streams[number]
    beside = [F.col(SIMPLE)]
    if time is not None and taken[time] is None:
        # Spark knows the time, and whether it is believed.
        time = None
    elif time is not None:
        beside.append(latest_micros(stream).alias(LATEST))
    left = F.col(SIMPLE).isNotNull()
    source = prepared_source(plan, number, records.left, streaming=True, left=left, beside=beside)
    names = source.columns[: -len(beside)]
    believed = None if time is None else names.index(BELIEVED)
    wanted = None if condition is None else names.index(WANTED)
    taken += [None] * (len(names) - len(taken))
    return source, RecordColumns(records.fields, tuple(taken), time, believed, condition, wanted)
