"""Joins in which rows come out without partners, as their definition reads: once in loops, once in SQL.

alive(row)   =  [ts, end], both included
required     =  one row of every required stream, all conditions among them, an instant at which all live
then, stream by stream: every row that fulfils the conditions of its stream and lives at an instant of the
interval so far is added and narrows the interval; if there is none, null is, and the interval stays
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from oracles.duck import slot
from oracles.graph import Event, LastRows
from oracles.reference import Hops, Sessions, Slots

# Later than all times.
_NEVER_ENDS = 10**9

Result = tuple[int | None, ...]
"""The value of one row per stream, or null, then the result time."""


class Test(NamedTuple):
    """A condition: its text for us and for DuckDB, the streams it names, and what it says of their rows."""

    text: str
    streams: tuple[int, ...]
    says: Callable[..., bool | None]

    def holds(self, rows: Sequence[Event | None]) -> bool:
        """Null is not true, and a row that is missing has only nulls."""
        named = [rows[stream] for stream in self.streams]
        return None not in named and self.says(*named) is True


class Ends(NamedTuple):
    """A window of rows as what it comes to: when each of its rows ends."""

    rows: LastRows
    of: dict[Event, int]


class Until(NamedTuple):
    """A window of which all rows end together."""

    end: int


class Kind(NamedTuple):
    """What is joined: a kind, windows by stream, which streams are optional, and conditions with owners."""

    name: str
    windows: tuple[int | Slots | Hops | Sessions | LastRows | Ends | Until, ...]
    optional: tuple[int, ...]
    conditions: tuple[tuple[Test, int | None], ...]

    def end(self, stream: int, row: Event) -> int:
        """The last instant at which a row is alive."""
        window = self.windows[stream]
        if isinstance(window, Slots):
            return (row.ts // window.size + 1) * window.size - 1
        if isinstance(window, Until):
            return window.end
        if isinstance(window, Ends):
            return window.of[row]
        assert isinstance(window, int)
        return row.ts + window

    def of(self, owner: int | None) -> list[Test]:
        """The conditions of an optional stream, or of all results."""
        return [test for test, owned_by in self.conditions if owned_by == owner]


class Part(NamedTuple):
    """Rows that are joined apart from the rest, what results say of them, and their time if it is theirs."""

    kind: Kind
    streams: list[list[Event]]
    says: tuple[int, ...] = ()
    time: int | None = None


def apart(kind: Kind, streams: Sequence[Sequence[Event]]) -> list[Part]:
    """The rows of every slot, or of every session."""
    window = kind.windows[0]
    if isinstance(window, Hops):
        times = [row.ts for rows in streams for row in rows]
        first = (min(times, default=0) - window.size) // window.every * window.every
        return [
            Part(
                kind._replace(windows=(Until(begin + window.size - 1),) * len(streams)),
                [[row for row in rows if begin <= row.ts < begin + window.size] for rows in streams],
                says=(begin, begin + window.size),
            )
            for begin in range(first, max(times, default=0) + 1, window.every)
        ]
    if isinstance(window, Sessions):
        return [
            Part(
                kind._replace(windows=(Until(end),) * len(streams)),
                [[row for row in rows if row in members] for rows in streams],
                time=end,
            )
            for end, members in _sessions(streams, window.gap)
        ]
    windows = tuple(
        Ends(window, {row: _followed(row, rows, window) for row in rows})
        if isinstance(window, LastRows)
        else window
        for window, rows in zip(kind.windows, streams, strict=True)
    )
    return [Part(kind._replace(windows=windows), [list(rows) for rows in streams])]


def _followed(row: Event, rows: Sequence[Event], window: LastRows) -> int:
    """The last instant at which fewer rows than a number have come after one."""
    later = sorted(
        one.ts
        for one in rows
        if one.ts > row.ts and (window.per is None or getattr(one, window.per) == getattr(row, window.per))
    )
    return later[window.count - 1] - 1 if len(later) >= window.count else _NEVER_ENDS


def _sessions(streams: Sequence[Sequence[Event]], gap: int) -> list[tuple[int, list[Event]]]:
    """When every session ends, and its rows; a row without a key is one of its own."""
    rows = sorted({row for rows in streams for row in rows}, key=lambda row: row.ts)
    found = [(row.ts + gap, [row]) for row in rows if row.x is None]
    for key in {row.x for row in rows if row.x is not None}:
        session: list[Event] = []
        for row in [row for row in rows if row.x == key]:
            if session and row.ts > session[-1].ts + gap:
                found.append((session[-1].ts + gap, session))
                session = []
            session = [*session, row]
        found.append((session[-1].ts + gap, session))
    return found


def join(kind: Kind, streams: Sequence[Sequence[Event]]) -> list[Result]:
    """Every result, as often as it occurs."""
    return _together_again(kind, streams, _join)


def _together_again(kind: Kind, streams: Sequence[Sequence[Event]], how: Any) -> list[Result]:
    return [
        (*result[:-1], *part.says, result[-1] if part.time is None else part.time)
        for part in apart(kind, streams)
        for result in how(part.kind, part.streams)
    ]


def _join(kind: Kind, streams: Sequence[Sequence[Event]]) -> list[Result]:
    if kind.name == "full":
        return [*_outer(kind, streams, (1,)), *(r for r in _outer(kind, streams, (0,)) if r[0] is None)]
    if kind.name in ("semi", "anti"):
        return list(_first_alone(kind, streams))
    return list(_outer(kind, streams, kind.optional))


def _outer(kind: Kind, streams: Sequence[Sequence[Event]], optional: Sequence[int]) -> list[Result]:
    everything = range(len(streams))
    required = [s for s in everything if s not in optional]
    found: list[Result] = []
    for chosen in product(*(streams[s] for s in required)):
        rows: list[Event | None] = [None] * len(streams)
        for s, row in zip(required, chosen, strict=True):
            rows[s] = row
        start = max(row.ts for row in chosen)
        closes = min(kind.end(s, row) for s, row in zip(required, chosen, strict=True))
        among = [
            t for t in kind.of(None) if kind.name in ("inner", "outer") and not set(t.streams) & {*optional}
        ]
        if start > closes or not all(test.holds(rows) for test in among):
            continue
        partial = [(rows, start, closes)]
        for s in optional:
            partial = [more for one in partial for more in _extended(kind, streams, s, *one)]
        for bound, last_start, _ in partial:
            time = closes if None in bound else last_start
            found.append((*(None if row is None else row.value for row in bound), time))
    return found


def _extended(
    kind: Kind, streams: Sequence[Sequence[Event]], s: int, rows: list[Any], start: int, end: int
) -> list[tuple[list[Any], int, int]]:
    tests = kind.of(s) if kind.name != "full" else kind.of(None)
    found = []
    for row in streams[s]:
        bound = [*rows[:s], row, *rows[s + 1 :]]
        if row.ts <= end and kind.end(s, row) >= start and all(test.holds(bound) for test in tests):
            found.append((bound, max(start, row.ts), min(end, kind.end(s, row))))
    return found or [(rows, start, end)]


def _first_alone(kind: Kind, streams: Sequence[Sequence[Event]]) -> list[Result]:
    found: list[Result] = []
    for row in streams[0]:
        moments = []
        for others in product(*streams[1:]):
            rows = [row, *others]
            start = max(one.ts for one in rows)
            if start <= min(kind.end(s, one) for s, one in enumerate(rows)) and all(
                test.holds(rows) for test in kind.of(None)
            ):
                moments.append(start)
        if kind.name == "semi" and moments:
            found.append((row.value, min(moments)))
        if kind.name == "anti" and not moments:
            found.append((row.value, kind.end(0, row)))
    return found


def duck_join(kind: Kind, streams: Sequence[Sequence[Event]]) -> list[Result]:
    """The same as SQL: a chain of LEFT JOINs with the overlap as one more condition."""
    return _together_again(kind, streams, _duck_join)


def _duck_join(kind: Kind, streams: Sequence[Sequence[Event]]) -> list[Result]:
    if not any(streams):
        return []
    with _database().cursor() as connection:
        for s, rows in enumerate(streams):
            columns = list(zip(*rows, strict=True)) or [[]] * len(Event._fields)
            table = pa.table([pa.array(c, pa.int64()) for c in columns], list(Event._fields))
            connection.register(f"t{s}", table)
            window = kind.windows[s]
            end = f"{window.end}" if isinstance(window, Until) else f"ts + {window}"
            if isinstance(window, Ends):
                same = "" if window.rows.per is None else f"AND o.{window.rows.per} = t{s}.{window.rows.per}"
                later = f"SELECT list_sort(list(o.ts))[{window.rows.count}] FROM t{s} o WHERE o.ts > t{s}.ts {same}"  # noqa: E501, S608
                end = f"coalesce(({later}) - 1, {_NEVER_ENDS})"
            if isinstance(window, Slots):
                end = f"({slot('ts', window.size)} + 1) * {window.size} - 1"
            connection.execute(f"CREATE OR REPLACE TEMP VIEW s{s} AS SELECT *, {end} AS e FROM t{s}")  # noqa: S608
        return connection.execute(_SQL.get(kind.name, _chain)(kind)).fetchall()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all histories: opening one takes longer than to answer."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


def _where(tests: Sequence[Test]) -> str:
    return " AND ".join(["true", *(f"({test.text})" for test in tests)])


def _chain(kind: Kind) -> str:
    """Required rows with their interval, then one LEFT JOIN after the other around it."""
    everything = range(len(kind.windows))
    required = [s for s in everything if s not in kind.optional]
    starts, ends = (", ".join(f"s{s}.{c}" for s in required) for c in ("ts", "e"))
    rows = ", ".join(f"s{s}" for s in required)
    among = [test for test in kind.of(None) if not set(test.streams) & {*kind.optional}]
    sql = (
        f"SELECT {rows}, greatest({starts}) AS a, least({ends}) AS b, b AS closes, false AS lacks "  # noqa: S608
        f"FROM {rows} WHERE greatest({starts}) <= least({ends}) AND {_where(among)}"
    )
    for s in kind.optional:
        on = f"s{s}.ts <= q.b AND s{s}.e >= q.a AND {_where(kind.of(s))}"
        kept = ", ".join(f"q.s{other}" for other in [*required, *kind.optional[: kind.optional.index(s)]])
        sql = (
            f"SELECT {kept}, s{s}, greatest(q.a, coalesce(s{s}.ts, q.a)) AS a, "  # noqa: S608
            f"least(q.b, coalesce(s{s}.e, q.b)) AS b, closes, lacks OR s{s}.ts IS NULL AS lacks "
            f"FROM ({sql}) q LEFT JOIN s{s} ON {on}"
        )
    values = ", ".join(f"s{s}.value" for s in everything)
    return f"SELECT {values}, CASE WHEN lacks THEN closes ELSE a END FROM ({sql}) q"  # noqa: S608


def _full(kind: Kind) -> str:
    on = f"s0.ts <= s1.e AND s1.ts <= s0.e AND {_where(kind.of(None))}"
    time = "CASE WHEN s0.ts IS NULL THEN s1.e WHEN s1.ts IS NULL THEN s0.e ELSE greatest(s0.ts, s1.ts) END"
    return f"SELECT s0.value, s1.value, {time} FROM s0 FULL JOIN s1 ON {on}"  # noqa: S608


def _together(kind: Kind) -> str:
    """What the first stream and all others make together, by the number of its row."""
    names = [f"s{s}" for s in range(len(kind.windows))]
    starts, ends = (", ".join(f"{name}.{c}" for name in names) for c in ("ts", "e"))
    first = "(SELECT *, row_number() OVER () AS n FROM s0) s0"
    where = f"greatest({starts}) <= least({ends}) AND {_where(kind.of(None))}"
    found = f"SELECT n, min(greatest({starts})) AS moment FROM {', '.join([first, *names[1:]])} WHERE {where} GROUP BY n"  # noqa: E501, S608
    return f"SELECT value, e, moment FROM {first} LEFT JOIN ({found}) USING (n)"  # noqa: S608


_SQL: dict[str, Callable[[Kind], str]] = {
    "full": _full,
    "semi": lambda kind: f"SELECT value, moment FROM ({_together(kind)}) WHERE moment IS NOT NULL",  # noqa: S608
    "anti": lambda kind: f"SELECT value, e FROM ({_together(kind)}) WHERE moment IS NULL",  # noqa: S608
}
