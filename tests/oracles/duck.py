"""The same join once more, as SQL for DuckDB: another definition, another engine, another author of loops.

Would catch a mistake in `reference` that the product shares.
"""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from oracles.reference import Result, Slots, Table


def join(tables: Sequence[Table]) -> list[Result]:
    """Every result, as often as it occurs, in no particular order."""
    # A table without rows takes the types of its keys from the others.
    example = next((row.key for table in tables for row in table.rows if None not in row.key), ())
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        names = [f"t{i}" for i in range(len(tables))]
        for name, table in zip(names, tables, strict=True):
            connection.register(name, _arrow(table, example))
        return connection.execute(_sql(names, tables, len(example))).fetchall()


def _sql(names: Sequence[str], tables: Sequence[Table], key_columns: int) -> str:
    first = names[0]
    values = ", ".join(f"{name}.value" for name in names)
    starts = ", ".join(f"{name}.ts" for name in names)
    ends = ", ".join(_end(name, table) for name, table in zip(names, tables, strict=True))
    equal_keys = [f"{first}.k{i} = {name}.k{i}" for name in names[1:] for i in range(key_columns)]
    condition = " AND ".join([*equal_keys, f"greatest({starts}) <= least({ends})"])
    return f"SELECT {values}, greatest({starts}) FROM {', '.join(names)} WHERE {condition}"  # noqa: S608


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
