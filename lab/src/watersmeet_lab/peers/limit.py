"""Each row on DuckDB, which has all rows at once."""

from __future__ import annotations

import time
from pathlib import Path

from watersmeet_lab.peers.data import Data
from watersmeet_lab.peers.outcome import Outcome
from watersmeet_lab.peers.query import Query, Side, between
from watersmeet_lab.peers.rows import Row


def duckdb(row: Row, data: Data, cores: int, scratch: Path) -> Outcome:
    """Read, join and count; every column of a result goes into a checksum, so that none can be skipped."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {cores}")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET temp_directory = '{scratch}'")
    for side in row.query.sides:
        connection.execute(f"CREATE VIEW {side.name} AS SELECT * FROM {_source(data, side)}")  # noqa: S608
    start = time.perf_counter()
    found = connection.execute(_sql(row.query)).fetchone()
    assert found is not None
    return Outcome(found[0], time.perf_counter() - start)


def _source(data: Data, side: Side) -> str:
    if not data.servers:
        return f"'{data.whole(side.name)}/*.parquet'"
    kinds = {"TIMESTAMP": "TIMESTAMPTZ", "STRING": "VARCHAR"}
    columns = ", ".join(f"{name}: '{kinds.get(kind, kind)}'" for name, kind in side.columns)
    return f"read_json('{data.records(side.name)}', columns = {{{columns}}})"


def _sql(query: Query) -> str:
    conditions = [*query.conditions]
    for side in query.sides:
        conditions += query.equalities(side)
        conditions += [between(f"{side.name}.ts", f"{near.other}.ts", near, _interval) for near in side.near]
    first, *others = [side.name for side in query.sides]
    results = f"SELECT count(*), bit_xor(hash({', '.join(query.select)})) FROM {first}"  # noqa: S608
    if not query.slot_s:
        return f"{results}, {', '.join(others)} WHERE {' AND '.join(conditions)}"
    conditions += [
        f"epoch_ms({first}.ts) // {query.slot_s * 1000} = epoch_ms({name}.ts) // {query.slot_s * 1000}"
        for name in others
    ]
    partners = f"SELECT 1 FROM {', '.join(others)} WHERE {' AND '.join(conditions)}"  # noqa: S608
    return f"{results} WHERE EXISTS ({partners})"


def _interval(seconds: int) -> str:
    return f"INTERVAL '{seconds}' SECOND"
