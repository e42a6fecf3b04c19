"""The same join once more, as SQL for DuckDB: another definition, another engine, another author of loops.

Would catch a mistake in `reference` that the product shares.
"""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from oracles.reference import Hops, Latest, Result, Sessions, Slots, Table


def join(tables: Sequence[Table]) -> list[Result]:
    """Every result, as often as it occurs, in no particular order."""
    # A table without rows takes the types of its keys from the others.
    example = next((row.key for table in tables for row in table.rows if None not in row.key), ())
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        names = [f"t{i}" for i in range(len(tables))]
        for name, table in zip(names, tables, strict=True):
            connection.register(name, _arrow(table, example))
        write = {Hops: _hopping_sql, Sessions: _session_sql}.get(type(tables[0].window), _sql)
        return connection.execute(write(names, tables, len(example))).fetchall()


def _sql(names: Sequence[str], tables: Sequence[Table], key_columns: int) -> str:
    first = names[0]
    values = ", ".join(f"{name}.value" for name in names)
    starts = ", ".join(f"{name}.ts" for name in names)
    equal_keys = [f"{first}.k{i} = {name}.k{i}" for name in names[1:] for i in range(key_columns)]
    lasting = [(name, table) for name, table in zip(names, tables, strict=True) if table.window != Latest()]
    alive = [f"greatest({starts}) <= least({', '.join(_end(*each) for each in lasting)})"] if lasting else []
    for name, table in zip(names, tables, strict=True):
        if table.window == Latest():
            same = "".join(f" AND o.k{i} = {name}.k{i}" for i in range(key_columns))
            newest = f"SELECT max(o.ts) FROM {name} o WHERE o.ts <= greatest({starts}){same}"  # noqa: S608
            alive.append(f"{name}.ts = ({newest})")
    condition = " AND ".join([*equal_keys, *alive, "true"])
    return f"SELECT {values}, greatest({starts}) FROM {', '.join(names)} WHERE {condition}"  # noqa: S608


def in_slots(name: str, slots: Hops) -> str:
    """The rows of a table, each once for every slot it stands in, with the number of the slot."""
    number = f"{slot(f'{name}.ts', slots.every)} - n.range AS slot"
    return f"(SELECT {name}.*, {number} FROM {name}, range({slots.size // slots.every}) n)"  # noqa: S608


def _hopping_sql(names: Sequence[str], tables: Sequence[Table], key_columns: int) -> str:
    slots = tables[0].window
    assert isinstance(slots, Hops)
    first = names[0]
    values = ", ".join(f"{name}.value" for name in names)
    starts = ", ".join(f"{name}.ts" for name in names)
    keys = ["slot", *(f"k{i}" for i in range(key_columns))]
    equal = " AND ".join(["true", *(f"{first}.{key} = {name}.{key}" for name in names[1:] for key in keys)])
    sources = ", ".join(f"{in_slots(name, slots)} AS {name}" for name in names)
    start = f"{first}.slot * {slots.every}"
    found = f"{values}, {start}, {start} + {slots.size}, greatest({starts})"
    return f"SELECT {found} FROM {sources} WHERE {equal}"  # noqa: S608


def _session_sql(names: Sequence[str], tables: Sequence[Table], key_columns: int) -> str:
    """Window functions: a row that follows by more than the gap counts up the sessions of its key."""
    sessions = tables[0].window
    assert isinstance(sessions, Sessions)
    keys = [f"k{i}" for i in range(key_columns)]
    of_key = ", ".join(keys) or "true"
    rows = " UNION ALL ".join(f"SELECT {n} AS t, * FROM {name}" for n, name in enumerate(names))  # noqa: S608
    begins = f"ts - lag(ts) OVER (PARTITION BY {of_key} ORDER BY ts) > {sessions.gap}"
    number = f"count(*) FILTER (begins) OVER (PARTITION BY {of_key} ORDER BY ts) AS session"
    last = f"max(ts) OVER (PARTITION BY {', '.join([of_key, 'session'])}) + {sessions.gap} AS ends"
    named = [f"(SELECT * FROM ended WHERE t = {n}) AS {name}" for n, name in enumerate(names)]  # noqa: S608
    equal = [f"{names[0]}.{key} = {name}.{key}" for name in names[1:] for key in ["session", *keys]]
    return f"""
        WITH marked AS (SELECT *, {begins} AS begins FROM ({rows})),
        numbered AS (SELECT *, {number} FROM marked),
        ended AS (SELECT *, {last} FROM numbered)
        SELECT {", ".join(f"{name}.value" for name in names)}, {names[0]}.ends
        FROM {", ".join(named)} WHERE {" AND ".join(["true", *equal])}
    """  # noqa: S608


def slot(time: str, size: int) -> str:
    """The number of the slot a time lies in; it is rounded down first, also before zero."""
    return f"(({time}) - ((({time}) % {size}) + {size}) % {size}) // {size}"


def _end(name: str, table: Table) -> str:
    if isinstance(table.window, Slots):
        return f"({slot(f'{name}.ts', table.window.size)} + 1) * {table.window.size} - 1"
    return f"{name}.ts + {table.window}"


def _arrow(table: Table, example: tuple[Any, ...]) -> pa.Table:
    columns = {
        "ts": pa.array([row.ts for row in table.rows], pa.int64()),
        "value": pa.array([row.value for row in table.rows], pa.int64()),
    }
    for i, value in enumerate(example):
        columns[f"k{i}"] = pa.array([row.key[i] for row in table.rows], pa.scalar(value).type)
    return pa.table(columns)
