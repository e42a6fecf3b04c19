"""What users call: `stream`, `join` and the query they build. Loads Spark when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from watersmeet.errors import InvalidQuery, InvalidStream, choices
from watersmeet.optimize.planning import Planning
from watersmeet.query import Stream, Window
from watersmeet.query.duration import duration
from watersmeet.query.join import On, join_query
from watersmeet.query.memory import parse_bytes
from watersmeet.query.network import Network
from watersmeet.query.selection import select_items
from watersmeet.query.sql import SqlStream, read_sql
from watersmeet.query.sql_kind import sql_kind
from watersmeet.query.syntax import point_at
from watersmeet.query.using import without_using
from watersmeet.query.window import WindowLike, window_of
from watersmeet.spark.kafka import RECORD_TIME
from watersmeet.spark.query import Query
from watersmeet.spark.types import SparkTypes, column_of
from watersmeet.stats import NOTHING_KNOWN, Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stream(
    name: str,
    df: DataFrame,
    *,
    time: str,
    window: WindowLike = None,
    lateness: str | timedelta = "0 seconds",
    max_future: str | timedelta | None = "1 day",
    site: str | None = None,
    idle: str | timedelta | None = None,
) -> Stream:
    """Name a DataFrame as a stream of a join.

    Args:
        name: How the stream is called in the query and in its result.
        df: The rows, streaming or plain.
        time: The column with the event time, a timestamp.
        window: How long a row waits for partners, for example ``"10 minutes"``; both ends count, and
            ``"0 seconds"`` is the same instant. A number of rows is written ``wm.rows(1000)``, the newest of
            each key ``wm.latest()``, slots of time ``wm.tumbling("10 minutes")``, slots that overlap
            ``wm.hopping("10 minutes", every="5 minutes")``, sessions ``wm.session("5 minutes")``, and
            ``wm.UNBOUNDED`` waits for ever. It may be left out where conditions on time say how far apart
            the rows of a result can be.
        lateness: How far behind the newest row of this stream a row may arrive and still be joined.
        max_future: Rows dated further ahead of the clock than this are set aside and counted, because one
            of them would move the watermark past everything; None trusts every timestamp.
        site: Where its rows arrive, if streams of the query arrive at different places. Several streams may
            share a site.
        idle: After how long a silence, on the clock, the other streams go on without this one, for example
            ``"5 minutes"``. Rows that come later may be late. None always waits for it.

    Example:
        >>> orders = wm.stream("orders", orders_df, time="ts", window="10 minutes", lateness="30 seconds")
        >>> orders.window
        TimeWindow(length=datetime.timedelta(seconds=600))
    """
    if not hasattr(df, "schema") or not hasattr(df, "isStreaming"):
        raise InvalidStream(
            f'stream "{name}" is not a DataFrame',
            f"it is {type(df).__name__}.",
            "pass a DataFrame made with spark.readStream or spark.read.",
        )
    from watersmeet.spark.problem import problem_column

    problem = problem_column(df.schema)
    fields = [field for field in df.schema.fields if field.name != problem]
    columns = tuple(column_of(field.name, field.dataType) for field in fields)
    return Stream(
        name=str(name),
        columns=columns,
        time=time,
        window=_window(name, window),
        lateness=_duration(name, "lateness", lateness),
        max_future=None if max_future is None else _duration(name, "max_future", max_future),
        source=df,
        site=site,
        idle=None if idle is None else _duration(name, "idle", idle),
        problem=problem,
    )


def join(
    *streams: Stream,
    on: On = None,
    select: Sequence[str] | None = None,
    how: str = "inner",
    cross: bool = False,
    buckets: int | None = None,
    statistics: Statistics | None = None,
    network: Network | None = None,
    memory: str | int | None = None,
) -> Query:
    """Join two or more streams inside their windows.

    A result is one row of every stream that together fulfil every condition, and whose alive intervals
    ``[time, time + window]`` share an instant. A null key matches nothing. Where a stream is optional,
    ``wm.optional(payments)``, results go on with nulls in its place; they leave when the watermark has passed
    the end of the others.

    Args:
        streams: The streams, each with a name of its own.
        on: What they are joined on. A shared key: a column name, or names per stream where they differ,
            ``{"orders": "id", "payments": "order_id"}``. Or conditions in SQL over ``stream.column``,
            ``["a.x = b.x", "b.y = c.y", "abs(a.v - c.v) < 3"]``. Or Python functions, made with `predicate`.
            A list may hold all of these.
        select: The columns to keep, written ``"stream.column"`` or ``"stream.*"``; what is left out takes
            no room in the state. Without it the result has one struct column per stream.
        how: ``"inner"``; for two streams ``"left"``, ``"right"`` or ``"full"``; ``"semi"`` returns rows of
            the first stream that have partners in all others together, ``"anti"`` those that have none.
        cross: Allow streams that no condition connects: each of their rows meets every other that is alive.
        buckets: How many parts the keys are split into, which bounds the parallelism. It is fixed for the
            life of a checkpoint.
        statistics: What is known about the data, from `wm.statistics`; the order of the windows, and where
            keys differ the tree of operators, follow from it.
        network: What lies between the sites of the streams, from `wm.network`; without it all sites are
            linked, and all links are alike.
        memory: How much memory the join may take on every executor, for example ``"512 MB"``. What does not
            fit waits on disk, the rows that are least likely to find partners first.

    Example:
        >>> query = wm.join(orders, payments, on="order_id")
        >>> result = query.to_dataframe()
        >>> result.columns
        ['orders', 'payments', 'result_time']
    """
    limit = None if memory is None else parse_bytes(memory)
    query = join_query(streams, on, select, how, SparkTypes(streams), cross=cross, memory=limit)
    return Query.of(query, buckets, Planning(statistics or NOTHING_KNOWN), network)


def sql(
    text: str,
    sources: Mapping[str, DataFrame | Stream] | None = None,
    /,
    *,
    buckets: int | None = None,
    network: Network | None = None,
    memory: str | int | None = None,
    **more: DataFrame | Stream,
) -> Query:
    """Join streams with a query in SQL.

    A stream is followed by its settings in brackets: ``[RANGE 10 MINUTES]``, ``[TUMBLING 1 HOUR]``,
    ``[HOPPING 10 MINUTES EVERY 5 MINUTES]``, ``[SESSION 5 MINUTES]``, ``[LATEST]``, ``[ROWS 1000]`` or
    ``[ROWS 10 PER KEY]`` for the window, ``[LATENESS 30 SECONDS]``, ``[IDLE 5 MINUTES]``, and
    ``[TIME ts]`` for the event-time column, which may be left out where there is only one timestamp.
    ``SELECT *`` returns one struct per stream.

    Args:
        text: The query.
        buckets: As in `join`.
        network: As in `join`; streams with a site are made with `stream`.
        memory: As in `join`; streams without windows are made with `stream`.
        sources: DataFrames by the names the query calls them, or streams made with `stream`, whose settings
            hold where the query has none. They may also be given by name.
        more: Further sources.

    Example:
        >>> query = wm.sql(
        ...     "SELECT o.amount, p.method FROM orders [RANGE 1 HOUR] o, payments [ROWS 100] p "
        ...     "WHERE o.order_id = p.order_id",
        ...     orders=orders_df,
        ...     payments=payments_df,
        ... )
        >>> query.to_dataframe().columns
        ['amount', 'method']
    """
    parts = read_sql(text)
    given = {**(sources or {}), **more}
    streams = [_sql_stream(text, part, given) for part in parts.streams]
    parts = without_using(parts, streams)
    types = SparkTypes(streams)
    selected = select_items(streams, parts.items)
    for output in () if selected is None else selected.outputs:
        types.refuse_untyped_value(output.text)
    limit = None if memory is None else parse_bytes(memory)
    streams, how, conditions = sql_kind(parts, streams)
    query = join_query(streams, conditions, selected, how, types, cross=parts.cross, memory=limit)
    return Query.of(query, buckets, Planning(), network)


def _sql_stream(text: str, part: SqlStream, sources: Mapping[str, DataFrame | Stream]) -> Stream:
    source = sources.get(part.source)
    if source is None:
        raise InvalidQuery(
            f'the query reads "{part.source}", which was not given',
            point_at(text, part.place),
            f"pass it by name; given are {choices(sources) or 'none'}.",
        )
    if isinstance(source, Stream):
        return replace(
            source,
            name=part.name,
            time=part.time or source.time,
            window=source.window if part.window is None else part.window,
            lateness=_duration(part.name, "lateness", part.lateness) if part.lateness else source.lateness,
            idle=_duration(part.name, "idle", part.idle) if part.idle else source.idle,
        )
    time = part.time or _only_timestamp(part.source, source)
    lateness = part.lateness or "0 seconds"
    return stream(part.name, source, time=time, window=part.window, lateness=lateness, idle=part.idle)


def _only_timestamp(name: str, df: DataFrame) -> str:
    timestamps = [field.name for field in df.schema.fields if field.dataType.simpleString() == "timestamp"]
    # The time that Kafka has for a record is meant only where the record has none of its own.
    own = [one for one in timestamps if one != RECORD_TIME] or timestamps
    if len(own) == 1:
        return own[0]
    raise InvalidStream(
        f'cannot tell which column of stream "{name}" is its time',
        f"it has {choices(timestamps) or 'no timestamp'}.",
        f"say it in the query: {name} [TIME column].",
    )


def _window(stream_name: str, value: Any) -> Window:
    ready = value is None or isinstance(value, Window)
    return window_of(value if ready else _duration(stream_name, "window", value))


def _duration(stream_name: str, what: str, value: Any) -> timedelta:
    return duration(value, f'{what} of stream "{stream_name}"', InvalidStream, "10 minutes")
