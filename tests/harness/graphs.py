"""Random join graphs: chains, stars, cycles and cliques of streams, on any columns, with bands and more."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

import pyarrow.compute as pc

from oracles import reference
from oracles.graph import Condition, Event, Events, LastRows
from oracles.reference import Hops, Sessions, Slots
from watersmeet.query import Column, JoinQuery, RowWindow, Stream
from watersmeet.query.common_window import HoppingWindow, SessionWindow
from watersmeet.query.function import Function, predicate
from watersmeet.query.window import TumblingWindow, WindowLike

SHAPES = ("chain", "star", "cycle", "clique")
# The second is what time is made of in these tests: Spark's watermark has steps of a millisecond.
SECOND = 1_000_000
# Far enough from zero for Spark's watermark, which starts there; slots of 2, 5 and 8 seconds begin there too.
START = 1_700_000_000 * SECOND


@dataclass(frozen=True)
class GraphQuery:
    """A query over streams s0, s1, ...; windows and times in seconds."""

    windows: tuple[int | LastRows | Slots | Hops | None, ...]
    conditions: tuple[Condition, ...]

    @property
    def texts(self) -> list[str | Function]:
        return [condition.sql for condition in self.conditions]

    def streams(self, lateness: int = 0) -> list[Stream]:
        """The streams without rows, for plans."""
        kinds = (("ts", "timestamp"), *((name, "bigint") for name in ("x", "y", "z", "v", "value")))
        columns = tuple(Column(name, kind) for name, kind in kinds)
        return [
            Stream(f"s{i}", columns, "ts", window_of(window), timedelta(seconds=lateness))
            for i, window in enumerate(self.windows)
        ]


def window_of(window: int | LastRows | Slots | Hops | Sessions | None) -> WindowLike:
    """The window as the product takes it."""
    if isinstance(window, Sessions):
        return SessionWindow(timedelta(seconds=window.gap))
    if isinstance(window, Slots):
        return TumblingWindow(timedelta(seconds=window.size))
    if isinstance(window, Hops):
        return HoppingWindow(timedelta(seconds=window.size), timedelta(seconds=window.every))
    if isinstance(window, LastRows):
        return RowWindow(window.count, per_key=window.per is not None)
    return None if window is None else timedelta(seconds=window)


def edges(shape: str, streams: int) -> list[tuple[int, int]]:
    """The pairs of streams that conditions link."""
    if shape == "star":
        return [(0, i) for i in range(1, streams)]
    if shape == "clique":
        return [(i, j) for i in range(streams) for j in range(i + 1, streams)]
    chain = [(i, i + 1) for i in range(streams - 1)]
    return [*chain, (streams - 1, 0)] if shape == "cycle" else chain


def random_query(
    random: Random, shape: str, streams: int, functions: float = 0.0, tumbling: float = 0.0
) -> GraphQuery:
    """A query over a graph of this shape, each link of a random kind.

    By chance, some of the links are functions, and some of the windows tumble.
    """
    shared = random.random() < 0.2  # one column everywhere, so that operators merge
    conditions = []
    for i, j in edges(shape, streams):
        kinds = [_random_equality, _random_band, _random_near, _random_less]
        kind = random.choices(kinds, [10, 2, 1, 1])[0]
        if random.random() < functions:
            kind = _random_function
        same = shared and kind is _random_equality
        conditions.append(equality(i, "x", j, "x") if same else kind(random, i, j))
    if random.random() < 0.3:
        conditions.append(not_after_all_others(random.randrange(streams), streams))
    windows: list[int | Slots | None] = [random.choice([2, 5, 9]) for _ in range(streams)]
    if random.random() < 0.5:
        # Bands along a path through all streams bound every window, so any may be left out.
        conditions += [_random_band(random, i, i + 1) for i in range(streams - 1)]
        windows = [window if random.random() < 0.4 else None for window in windows]
    if tumbling:
        slots = [Slots(random.choice([2, 5, 8])) for _ in windows]
        windows = [s if random.random() < tumbling else w for s, w in zip(slots, windows, strict=True)]
    return GraphQuery(tuple(windows), tuple(conditions))


def random_events(random: Random, streams: int, rows: int, span: int = 12) -> list[list[Event]]:
    """Rows per stream, in no order of time, with nulls and equal times."""

    def value() -> int | None:
        return None if random.random() < 0.04 else int(random.random() < 0.2)

    return [
        [
            Event(random.randrange(span), value(), value(), value(), random.randrange(4), 1000 * s + n)
            for n in range(rows)
        ]
        for s in range(streams)
    ]


def in_batches(
    random: Random, rows: Sequence[Sequence[Event]], count: int, disorder: int
) -> list[list[list[Event]]]:
    """The rows in batches, about in the order of their times but for some `disorder`."""
    batches: list[list[list[Event]]] = [[[] for _ in rows] for _ in range(count)]
    latest = max(event.ts for events in rows for event in events) + disorder + 1
    for s, events in enumerate(rows):
        for event in events:
            arrival = event.ts + random.randint(0, disorder)
            batches[arrival * count // latest][s].append(event)
    return batches


def on_time(batches: list[list[list[Event]]], lateness: int, windows: Sequence[int | None]) -> list[Events]:
    """What is not late under Spark's watermark."""
    scaled = [
        [[event._replace(ts=event.ts * SECOND) for event in rows] for rows in batch] for batch in batches
    ]
    under = reference.watermarks(scaled, [lateness * SECOND] * len(windows), unit=1000)
    kept, _ = reference.on_time(scaled, under)
    return [
        Events(window, [event._replace(ts=event.ts // SECOND) for event in rows])
        for window, rows in zip(windows, kept, strict=True)
    ]


def filtered(query: JoinQuery, stream: int, events: Sequence[Event]) -> Sequence[Event]:
    """What the filters of a query leave, as Spark would apply them."""
    for condition in query.filters:
        if condition.stream == stream:
            if above := re.fullmatch(rf"s{stream}\.y > (\d)", condition.text):
                events = [event for event in events if event.y is not None and event.y > int(above[1])]
                continue
            # The other kind that random queries lead to: two columns that equal the same one elsewhere.
            left, right = re.findall(r"\.(\w)\)", condition.text)
            assert condition.text == f"(s{stream}.{left}) = (s{stream}.{right})"
            events = [event for event in events if getattr(event, left) == getattr(event, right)]
    return events


def equality(i: int, left: str, j: int, right: str) -> Condition:
    text = f"s{i}.{left} = s{j}.{right}"
    return Condition(text, text, _both(i, left, j, right, lambda a, b: a == b))


def band(i: int, j: int, before: int, after: int, *, strict: bool = False) -> Condition:
    """Stream j at most `before` earlier and `after` later than stream i."""
    low, high = f"s{i}.ts - INTERVAL {before} SECONDS", f"s{i}.ts + INTERVAL '{after + 1}' SECOND"
    sql = (
        f"s{j}.ts >= {low} AND s{j}.ts < {high}"
        if strict
        else f"s{j}.ts BETWEEN {low} AND s{i}.ts + INTERVAL {after} SECONDS"
    )
    duck = f"s{j}.ts BETWEEN s{i}.ts - {before} AND s{i}.ts + {after}"
    return Condition(sql, duck, lambda rows: rows[i].ts - before <= rows[j].ts <= rows[i].ts + after)


def near(i: int, j: int, most: int) -> Condition:
    text = f"abs(s{i}.v - s{j}.v) <= {most}"
    return Condition(text, text, _both(i, "v", j, "v", lambda a, b: abs(a - b) <= most))


def less(i: int, column: str, j: int) -> Condition:
    text = f"s{i}.{column} < s{j}.v OR s{i}.v = 3"
    smaller = _both(i, column, j, "v", lambda a, b: a < b)
    return Condition(text, text, lambda rows: smaller(rows) or rows[i].v == 3)


def function(i: int, j: int, most: int, *, vectorized: bool = True, arrays: str = "numpy") -> Condition:
    """The distance of two values, as a function of arrays or of single values."""
    call = partial(_within, most) if arrays == "numpy" else partial(_within_arrow, most)
    asked = predicate(call, f"s{i}.v", f"s{j}.v", name=f"within_{most}", vectorized=vectorized, arrays=arrays)
    return near(i, j, most)._replace(sql=asked)


def function_of_three(i: int, j: int, k: int, most: int) -> Condition:
    """A function that no two of its streams can judge."""
    asked = predicate(partial(_sum_within, most), f"s{i}.v", f"s{j}.v", f"s{k}.v", name="sum_within")
    duck = f"s{i}.v + s{j}.v + s{k}.v <= {most}"

    def holds(rows: Sequence[Event]) -> bool:
        values = [rows[n].v for n in (i, j, k)]
        return None not in values and sum(values) <= most

    return Condition(asked, duck, holds)


def _within(most: int, left: Any, right: Any) -> Any:
    return abs(left - right) <= most


def _within_arrow(most: int, left: Any, right: Any) -> Any:
    return pc.less_equal(pc.abs(pc.subtract(left, right)), most)


def _sum_within(most: int, *values: Any) -> Any:
    return sum(values) <= most


def not_after_all_others(i: int, streams: int) -> Condition:
    others = ", ".join(f"s{j}.ts" for j in range(streams) if j != i)
    text = f"s{i}.ts <= greatest({others})" if streams > 2 else f"s{i}.ts <= {others}"
    return Condition(
        text, text, lambda rows: rows[i].ts <= max(row.ts for j, row in enumerate(rows) if j != i)
    )


def _random_equality(random: Random, i: int, j: int) -> Condition:
    return equality(i, random.choice("xyz"), j, random.choice("xyz"))


def _random_band(random: Random, i: int, j: int) -> Condition:
    return band(i, j, random.randint(1, 7), random.randint(0, 7), strict=random.random() < 0.5)


def _random_near(random: Random, i: int, j: int) -> Condition:
    return near(i, j, random.randint(0, 3))


def _random_function(random: Random, i: int, j: int) -> Condition:
    form = random.choice([{}, {"vectorized": False}, {"arrays": "arrow"}])
    return function(i, j, random.randint(0, 2), **form)


def _random_less(random: Random, i: int, j: int) -> Condition:
    return less(i, random.choice("xyv"), j)


def _both(
    i: int, left: str, j: int, right: str, compare: Callable[[int, int], bool]
) -> Callable[[Sequence[Event]], bool]:
    """A comparison that null fails."""

    def holds(rows: Sequence[Event]) -> bool:
        a, b = getattr(rows[i], left), getattr(rows[j], right)
        return a is not None and b is not None and compare(a, b)

    return holds
