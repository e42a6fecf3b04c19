"""Each row in Flink SQL: tables, statement and settings. `flink_java.py` runs them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from watersmeet_lab.peers.data import Data
from watersmeet_lab.peers.flink_java import run_job
from watersmeet_lab.peers.outcome import Outcome
from watersmeet_lab.peers.query import Query, Side, between, rewritten
from watersmeet_lab.peers.rows import Row

# What is set beside the parallelism; printed with the results.
TUNING = {
    "pipeline.object-reuse": "true",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    # Spark and we make every batch durable, which takes a second or two.
    "execution.checkpointing.interval": "5 s",
    "execution.checkpointing.unaligned.enabled": "true",
}
STATE = {
    "flink": {"state.backend.type": "hashmap"},
    "flink-rocksdb": {
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
        "taskmanager.memory.managed.size": "2g",
    },
}
_FORMATS = {
    "parquet": "'connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'parquet'",
    "kafka": (
        "'connector' = 'kafka', 'properties.bootstrap.servers' = '{servers}', 'topic' = '{path}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', "
        "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'"
    ),
}


def flink(row: Row, data: Data, cores: int, scratch: Path) -> Outcome:
    """Interval joins and window joins, as Flink plans them, with the state on Java's heap."""
    return _run("flink", row, data, cores, scratch)


def flink_rocksdb(row: Row, data: Data, cores: int, scratch: Path) -> Outcome:
    """The same with the state in RocksDB."""
    return _run("flink-rocksdb", row, data, cores, scratch)


def _run(name: str, row: Row, data: Data, cores: int, scratch: Path) -> Outcome:
    settings = {
        **TUNING,
        **STATE[name],
        "parallelism.default": str(cores),
        "execution.checkpointing.dir": f"file://{scratch}/checkpoints",
        "io.tmp.dirs": str(scratch),
    }
    tables = [table(side, data) for side in row.query.sides]
    job = run_job(tables, statement(row.query), settings, reads_topics=bool(data.servers))
    return Outcome(job.found, job.seconds, [(seconds, int(part * data.rows)) for seconds, part in job.read])


def table(side: Side, data: Data) -> str:
    """The table of a stream. Its event time is a column of its own: Flink compares only one pair of them."""
    columns = [
        f"`{name}` {'TIMESTAMP_LTZ(3)' if kind == 'TIMESTAMP' else kind}" for name, kind in side.columns
    ]
    columns.append("event_time AS ts")
    columns.append("WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND")
    path = side.name if data.servers else data.whole(side.name)
    source = _FORMATS["kafka" if data.servers else "parquet"].format(path=path, servers=data.servers)
    return f"CREATE TABLE {side.name} ({', '.join(columns)}) WITH ({source})"


def statement(query: Query) -> str:
    """The join, with its results counted; every column is counted too, so that none can be skipped."""
    counts = ", ".join(["COUNT(*)", *(f"COUNT({_named(name)})" for name in query.select)])
    joined = _in_slots(query) if query.slot_s else _in_intervals(query)
    return f"SELECT {counts} FROM {joined}"  # noqa: S608


def _in_intervals(query: Query) -> str:
    first, *others = query.sides
    joined = first.name
    for side in others:
        on = [_named(text) for text in query.equalities(side)]
        for number, near in enumerate(side.near):
            time = "ts" if number else "event_time"
            on.append(_named(between(f"{side.name}.{time}", f"{near.other}.{time}", near, _interval)))
        joined += f" JOIN {side.name} ON {' AND '.join(on)}"
    where = " AND ".join(_named(text) for text in query.conditions)
    return f"{joined} WHERE {where}" if where else joined


def _in_slots(query: Query) -> str:
    first, second = query.sides
    slots = {
        side.name: f"(SELECT * FROM TABLE(TUMBLE(TABLE {side.name}, DESCRIPTOR(event_time), "  # noqa: S608
        f"{_interval(query.slot_s or 0)}))) {side.name}"
        for side in (first, second)
    }
    on = [_named(text) for text in (*query.equalities(second), *query.conditions)]
    on += [f"{first.name}.{end} = {second.name}.{end}" for end in ("window_start", "window_end")]
    return f"{slots[first.name]} WHERE EXISTS (SELECT * FROM {slots[second.name]} WHERE {' AND '.join(on)})"  # noqa: S608


def _named(text: str) -> str:
    """Quoted, since some names of columns are words of SQL."""
    return rewritten(text, lambda stream, name: f"`{stream}`.`{name}`")


def _interval(seconds: int) -> str:
    # It counts at most 99 of a unit that stands alone.
    return f"INTERVAL '0 {timedelta(seconds=seconds)}' DAY TO SECOND"
