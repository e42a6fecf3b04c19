"""A job file: where streams come from, what joins them, where the results go.

[streams.orders]                      one table per stream
format = "json"                       any format Spark reads as a stream; of "kafka" see `jobs.kafka`
path = "orders"                       relative to the job file
schema = "id BIGINT, ts TIMESTAMP"
time = "ts"
window = "10 minutes"                 or another of `query.window`, such as { rows = 100, per_key = true }
lateness = "30 seconds"
idle = "5 minutes"                    after how long a silence the others go on without it
optional = true                       results go on with nulls in its place
site = "tokyo"                        where its rows arrive, if streams arrive at different places
statistics = { rate = 100, distinct = 5000 }   what is known about it

[query]
on = ["orders.id = payments.order_id"]     or sql = "SELECT ..."
how = "left"                          or "right", "full", "semi", "anti"; in SQL it says so itself
memory = "512 MB"                     what rows may take on an executor; the others go to disk
result_id = true                      results have ids, by which a sink can drop repeats

[[query.predicates]]                  conditions that are Python functions, see `jobs.functions`
function = "matching.py:similar"
columns = ["orders.text", "payments.text"]

[planning]                            as `Query.plan_with`
batch = "10 seconds"                  the event time of a batch, for predictions

[planning.sites]                      as `Query.plan_sites`
method = "sequences"                  how streams at different sites are joined

[planning.memory]                     as `Query.plan_memory`, of streams without windows
algorithm = "rpj"                     who decides what goes to disk
tick = "1 second"                     how long a silence must be to be used

[network]                             what lies between sites
latency = "25 ms"
links = [{ between = ["tokyo", "oslo"], price = 0.09 }]

[sink]
format = "parquet"                    any format Spark writes as a stream, or "console"
path = "results"

[set_aside]                           rows that can never join, if somebody wants them
format = "json"
path = "set aside"

[run]
checkpoint = "checkpoint"
trigger = "10 seconds"                or "available now", or "to the end" for streams without windows
mailbox = "mail"                      a folder that all sites can reach
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watersmeet.errors import WatersmeetError, choices
from watersmeet.jobs.functions import predicates_of
from watersmeet.jobs.kafka import FORMAT as KAFKA
from watersmeet.jobs.kafka import KafkaSettings, kafka_settings
from watersmeet.jobs.planning import planning_of
from watersmeet.jobs.settings import Table, read_table, refuse_mistakes
from watersmeet.jobs.windows import read_window
from watersmeet.optimize.planning import Planning
from watersmeet.query import Window
from watersmeet.query.function import Function
from watersmeet.query.kind import HOW
from watersmeet.query.memory import parse_bytes
from watersmeet.query.network import Network
from watersmeet.query.network import network as make_network
from watersmeet.spark.endpoints import Endpoint

AVAILABLE_NOW = "available now"
TO_THE_END = "to the end"


@dataclass(frozen=True)
class StreamSettings:
    """One stream of a job."""

    name: str
    source: Endpoint
    schema: str | None
    time: str | None
    window: Window
    lateness: str
    max_future: str | None
    statistics: dict[str, Any]
    site: str | None = None
    idle: str | None = None
    optional: bool = False
    kafka: KafkaSettings | None = None


@dataclass(frozen=True)
class Job:
    """A job as its file says."""

    name: str
    streams: tuple[StreamSettings, ...]
    on: list[str] | None
    sql: str | None
    select: list[str] | None
    cross: bool
    buckets: int | None
    planning: Planning
    sink: Endpoint
    checkpoint: str | None
    trigger: str | None
    cores: int | None
    spark: dict[str, str]
    network: Network | None = None
    mailbox: str | None = None
    predicates: tuple[Function, ...] = ()
    memory: str | int | None = None
    how: str = "inner"
    set_aside: Endpoint | None = None
    result_id: bool = False

    @property
    def endpoints(self) -> list[Endpoint | None]:
        """All that it reads from and writes to."""
        return [*(stream.source for stream in self.streams), self.sink, self.set_aside]

    @property
    def endless(self) -> bool:
        """Whether streams have no windows."""
        return any(stream.window.endless for stream in self.streams)

    @property
    def sites(self) -> list[str]:
        """The sites of its streams."""
        return sorted({stream.site for stream in self.streams if stream.site is not None})


def read_job(path: Path) -> Job:
    """Read a job file.

    Raises:
        InvalidJob: The file is missing, is not TOML, or says something that makes no sense; all of it.
    """
    table, mistakes = read_table(path, "a job file", "examples/")
    job = _job(table, path.resolve())
    refuse_mistakes(path, mistakes, "examples/")
    return job


def _job(root: Table, path: Path) -> Job:
    streams = _streams(root.table("streams", needed=True), path.parent)
    query = root.table("query", needed=True)
    on, sql = query.texts("on"), query.text("sql")
    select, cross, buckets = query.texts("select"), query.flag("cross"), query.number("buckets")
    predicates = predicates_of(query, path.parent)
    memory = _memory(query)
    how = _how(query)
    result_id = query.flag("result_id")
    conditions = on or query.raw("predicates")
    if sql is not None and predicates:
        query.wrong('"predicates" belong to "on"; a SQL query has no place for them')
    elif query.given and ((conditions and sql) or not (conditions or sql or cross)):
        query.wrong('needs either "on" or "sql"')
    if sql is not None and select is not None:
        query.wrong('"select" belongs to "on"; a SQL query has its own list')
    if sql is not None and cross:
        query.wrong('"cross" belongs to "on"; in SQL write CROSS JOIN')
    if sql is not None and (how != "inner" or any(stream.optional for stream in streams)):
        query.wrong('"how" and "optional" belong to "on"; in SQL write LEFT JOIN')
    query.refuse_others()
    known = {stream.name: stream.statistics for stream in streams if stream.statistics}
    planning = planning_of(root.table("planning"), known)
    sink_table = root.table("sink", needed=True)
    sink = _endpoint(sink_table, path.parent) if sink_table.given else Endpoint("console", None, {})
    sink_table.refuse_others()
    aside_table = root.table("set_aside")
    aside = _endpoint(aside_table, path.parent) if aside_table.given else None
    aside_table.refuse_others()
    run = root.table("run")
    checkpoint, trigger = run.text("checkpoint"), run.text("trigger")
    endless = any(stream.window.endless for stream in streams)
    if trigger == TO_THE_END and not endless:
        run.wrong(f'trigger "{TO_THE_END}" is for streams without windows; say "{AVAILABLE_NOW}"')
    if trigger not in (None, AVAILABLE_NOW, TO_THE_END):
        run.duration("trigger", trigger, positive=True)
    cores, spark = run.number("cores"), run.options("spark")
    mailbox = run.text("mailbox")
    network = _network(root.table("network"))
    sited = any(stream.site is not None for stream in streams)
    if not checkpoint and (sited or sink.format != "console"):
        run.wrong('"checkpoint" is missing: without one a job cannot go on after a stop')
    if sited and not mailbox:
        run.wrong('"mailbox" is missing: sites exchange messages through a folder all of them can reach')
    if mailbox and not (sited or checkpoint):
        run.wrong('"checkpoint" is missing: with a mailbox the join is deployed')
    if mailbox and aside is not None:
        aside_table.wrong("a join with a mailbox counts rows that are set aside and does not return them")
    if mailbox and result_id:
        query.wrong('"result_id" is for joins without a mailbox')
    run.refuse_others()
    root.refuse_others()
    return Job(
        name=path.stem,
        streams=streams,
        on=on,
        sql=sql,
        select=select,
        cross=cross,
        buckets=buckets,
        planning=planning,
        sink=sink,
        checkpoint=_located(checkpoint, path.parent) if checkpoint else None,
        trigger=trigger,
        cores=cores,
        spark=spark,
        network=network,
        mailbox=_located(mailbox, path.parent) if mailbox else None,
        predicates=tuple(predicates),
        memory=memory,
        how=how,
        set_aside=aside,
        result_id=result_id,
    )


def _how(query: Table) -> str:
    how = query.text("how") or "inner"
    if how not in HOW:
        query.wrong(f'there is no join "{how}"; "how" is one of {choices(HOW)}')
        return "inner"
    return how


def _memory(query: Table) -> str | int | None:
    value = query.raw("memory")
    if value is None:
        return None
    try:
        parse_bytes(value)
    except WatersmeetError as error:
        query.wrong(str(error).replace("\n", " "))
    return value if isinstance(value, str | int) else None


def _streams(table: Table, folder: Path) -> tuple[StreamSettings, ...]:
    found = []
    for name in table.names():
        stream = table.table(name)
        source = _endpoint(stream, folder)
        settings = StreamSettings(
            name=name,
            source=source,
            schema=stream.text("schema"),
            time=stream.text("time"),
            window=read_window(stream),
            lateness=stream.text("lateness") or "0 seconds",
            max_future=stream.text("max_future") or "1 day",
            statistics=stream.raw("statistics") or {},
            site=stream.text("site"),
            idle=stream.text("idle"),
            optional=stream.flag("optional"),
            kafka=kafka_settings(stream) if source.format == KAFKA else None,
        )
        for what, value in (("lateness", settings.lateness), ("max_future", settings.max_future)):
            if value is not None and value != "none":
                stream.duration(what, value)
        if settings.idle is not None:
            stream.duration("idle", settings.idle, positive=True)
        stream.refuse_others()
        found.append(settings)
    if table.given and len(found) < 2:
        table.wrong(f"a join needs at least two streams, not {len(found)}")
    return tuple(found)


def _network(table: Table) -> Network | None:
    """The links between sites; each names the two it is between."""
    if not table.given:
        return None
    general = {name: table.raw(name) for name in ("latency", "bandwidth", "price")}
    links: dict[tuple[str, str], Any] = {}
    for link in table.raw("links") or ():
        between = link.get("between") if isinstance(link, dict) else None
        if not isinstance(between, list) or len(between) != 2:
            table.wrong('every link must say between = ["tokyo", "oslo"]')
            continue
        links[between[0], between[1]] = {name: value for name, value in link.items() if name != "between"}
    table.refuse_others()
    try:
        return make_network(**general, links=links or None)
    except WatersmeetError as error:
        table.wrong(str(error).replace("\n", " "))
        return None


def _endpoint(table: Table, folder: Path) -> Endpoint:
    kind, path = table.text("format", needed=True), table.text("path")
    return Endpoint(kind or "", None if path is None else _located(path, folder), table.options("options"))


def _located(path: str, folder: Path) -> str:
    """Relative to the job file, unless it is absolute or says where it is, as in s3://..."""
    return path if "://" in path or Path(path).is_absolute() else str(folder / path)
