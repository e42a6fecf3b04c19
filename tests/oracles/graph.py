"""Joins under any conditions, as their definition reads: every combination, every condition, one instant.

A second answer comes from DuckDB, which is given the conditions as SQL over plain numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from oracles.duck import in_slots, slot
from oracles.reference import Hops, Result, Slots

COLUMNS = ("x", "y", "z", "v")


class Event(NamedTuple):
    """A row: its time, columns that may be null, and the number the result shows of it."""

    ts: int
    x: int | None
    y: int | None
    z: int | None
    v: int | None
    value: int


class Condition(NamedTuple):
    """A condition three times: for us, as SQL or as a function, for DuckDB, and for the reference."""

    sql: Any
    duck: str
    holds: Callable[[Sequence[Event]], bool]


class LastRows(NamedTuple):
    """A window of rows: of the whole stream, or of the rows with equal values in some column."""

    count: int
    per: str | None = None


class Events(NamedTuple):
    """The rows of one stream; without a window only the conditions limit how long they live."""

    window: int | LastRows | Slots | Hops | None
    rows: Sequence[Event]

    def alive(self, row: Event, time: int) -> bool:
        """Whether a row is alive at a time that is not before its own."""
        if isinstance(self.window, LastRows):
            per = self.window.per
            alike = [r for r in self.rows if per is None or getattr(r, per) == getattr(row, per)]
            return sum(row.ts < other.ts <= time for other in alike) < self.window.count
        if isinstance(self.window, Slots):
            return time // self.window.size == row.ts // self.window.size
        return self.window is None or time <= row.ts + self.window


def join(streams: Sequence[Events], conditions: Sequence[Condition]) -> list[Result]:
    """Every result, as often as it occurs, in no particular order."""
    results: list[Result] = []
    for combination in product(*(stream.rows for stream in streams)):
        last_start = max(row.ts for row in combination)
        if isinstance(slots := streams[0].window, Hops):
            if all(condition.holds(combination) for condition in conditions):
                results += _in_slots(combination, slots)
            continue
        if all(condition.holds(combination) for condition in conditions) and all(
            stream.alive(row, last_start) for row, stream in zip(combination, streams, strict=True)
        ):
            results.append((*(row.value for row in combination), last_start))
    return results


def _in_slots(combination: Sequence[Event], slots: Hops) -> Iterator[Result]:
    """A combination in every slot in which all its rows stand."""
    times = [row.ts for row in combination]
    first = min(times) - min(times) % slots.every
    for start in range(first, first - slots.size, -slots.every):
        if max(times) < start + slots.size:
            yield (*(row.value for row in combination), start, start + slots.size, max(times))


def duck_join(streams: Sequence[Events], conditions: Sequence[Condition]) -> list[Result]:
    """The same in SQL, with a different way to say that all rows are alive at one instant."""
    names = [f"s{i}" for i in range(len(streams))]
    times = ", ".join(f"{name}.ts" for name in names)
    alive = []
    for name, stream in zip(names, streams, strict=True):
        if isinstance(stream.window, LastRows):
            per = stream.window.per
            same = "" if per is None else f" AND o.{per} = {name}.{per}"
            later = f"o.ts > {name}.ts AND o.ts <= greatest({times}){same}"
            counted = f"SELECT count(*) FROM {name} o WHERE {later}"  # noqa: S608
            alive.append(f"({counted}) < {stream.window.count}")
        elif isinstance(stream.window, Slots):
            own, last = slot(f"{name}.ts", stream.window.size), slot(f"greatest({times})", stream.window.size)
            alive.append(f"{own} = {last}")
        elif isinstance(stream.window, Hops):
            alive.append(f"{name}.slot = {names[0]}.slot")
        elif stream.window is not None:
            alive.append(f"greatest({times}) <= {name}.ts + {stream.window}")
    where = " AND ".join([*(f"({condition.duck})" for condition in conditions), *alive, "true"])
    values = ", ".join(f"{name}.value" for name in names)
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        for name, stream in zip(names, streams, strict=True):
            columns = list(zip(*stream.rows, strict=True)) or [[]] * len(Event._fields)
            connection.register(
                name, pa.table([pa.array(c, pa.int64()) for c in columns], list(Event._fields))
            )
        found, sources = f"{values}, greatest({times})", ", ".join(names)
        if isinstance(slots := streams[0].window, Hops):
            start = f"s0.slot * {slots.every}"
            found = f"{values}, {start}, {start} + {slots.size}, greatest({times})"
            sources = ", ".join(f"{in_slots(name, slots)} AS {name}" for name in names)
        sql = f"SELECT {found} FROM {sources} WHERE {where}"  # noqa: S608
        return connection.execute(sql).fetchall()
