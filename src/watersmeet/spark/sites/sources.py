"""The streams of a join between sites as their sites take them: filtered, and reduced to what is needed."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from watersmeet.plan.layout import value_ref
from watersmeet.plan.plan import Source
from watersmeet.plan.sites.columns import source_refs
from watersmeet.query import JoinQuery
from watersmeet.spark.prepare import column_named, value_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def prepared_source(query: JoinQuery, stream: int) -> DataFrame:
    """The columns of a stream, then its time, whether that is believed, and whether the row can join at all.

    The clock is that of the batch, which Spark keeps: a batch that runs again later decides the same.
    """
    settings = query.streams[stream]
    source: DataFrame = settings.source.alias(settings.name)
    columns = [value_column(query, ref).alias(f"c{i}") for i, ref in enumerate(source_refs(query, stream))]
    values = [
        value_column(query, value_ref(query, number, Source(stream))).isNotNull()
        for number, attribute in enumerate(query.attributes)
        if stream in attribute.streams
    ]
    kept = [F.expr(condition.text) for condition in query.filters if condition.stream == stream]
    usable = reduce(lambda left, right: left & right, [*values, *kept], F.lit(True))
    time = column_named(settings.time)
    believed = time.isNotNull()
    if settings.max_future is not None:
        ahead = F.make_dt_interval(secs=F.lit(settings.max_future.total_seconds()))
        believed = believed & (time <= F.current_timestamp() + ahead)
    return source.select(*columns, time.alias("time"), believed.alias("believed"), usable.alias("usable"))
