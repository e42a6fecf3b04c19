"""Outer, full, semi and anti joins on Spark: every kind with every window, many joins in one query.

Would catch: results that Spark takes for late, a timer that does not fire in a batch without rows, a
watermark that reaches one operator of a tree and not the next, state that is lost between two starts, a null
struct that is a struct of nulls.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.graphs import SECOND, START, in_batches, window_of
from harness.kinds import equality, in_time
from harness.streaming import Feed, sink_rows, to_sink
from oracles import kinds
from oracles.graph import Event, LastRows
from oracles.kinds import Kind, Result
from oracles.reference import Hops, Sessions, Slots, assert_same_rows, on_time, watermarks
from watersmeet.query.stream import ADDED

LATENESS = 2
SCHEMA = "ts timestamp, x bigint, y bigint, z bigint, v bigint, value bigint"
ARROW = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), *((name, pa.int64()) for name in ("x", "y", "z", "v", "value"))]
)


class Case(NamedTuple):
    """A join of some of three streams: how it is asked for, and what it means."""

    how: str
    kind: str
    streams: tuple[int, ...]
    optional: tuple[int, ...]
    links: tuple[tuple[str, int, str, int], ...]


CASES = {
    "left": Case("left", "outer", (0, 1), (1,), (("x", 0, "x", 1),)),
    "right": Case("right", "outer", (0, 1), (0,), (("x", 0, "x", 1),)),
    "two optional streams": Case("inner", "outer", (0, 1, 2), (1, 2), (("x", 0, "x", 1), ("x", 0, "x", 2))),
    "two optional streams with keys of their own": Case(
        "inner", "outer", (0, 1, 2), (1, 2), (("x", 0, "x", 1), ("y", 1, "y", 2))
    ),
    "two required streams": Case("inner", "outer", (0, 1, 2), (2,), (("x", 0, "x", 1), ("y", 1, "y", 2))),
    "full": Case("full", "full", (0, 1), (), (("x", 0, "x", 1),)),
    "semi": Case("semi", "semi", (0, 1, 2), (), (("x", 0, "x", 1), ("y", 1, "y", 2))),
    "anti": Case("anti", "anti", (0, 1, 2), (), (("x", 0, "x", 1), ("x", 0, "x", 2))),
}
# One of each kind, on one key.
SIMPLE = {
    "left": CASES["left"],
    "full": CASES["full"],
    "semi": Case("semi", "semi", (0, 1), (), (("x", 0, "x", 1),)),
    "anti": Case("anti", "anti", (0, 1), (), (("x", 0, "x", 1),)),
}
Windows = tuple[int | Slots | Hops | Sessions | LastRows, ...]
WINDOWS: dict[str, Windows] = {
    "time": (4, 3, 6),
    "slots": (Slots(5),) * 3,
    "hops": (Hops(8, 4),) * 3,
    "sessions": (Sessions(1),) * 3,
    "latest rows": (4, LastRows(1, "x"), 6),
}
# The windows of shapes that have others than time.
OTHERS = {"right": "slots", "two optional streams": "hops", "full": "sessions", "anti": "latest rows"}
SHAPES = {
    f"{name}, {OTHERS.get(name, 'time')}": (case, WINDOWS[OTHERS.get(name, "time")])
    for name, case in CASES.items()
}
# One of each kind: trees of two operators, windows that end by the watermark, and one of rows.
TELLING = (
    "two optional streams with keys of their own, time",
    "full, sessions",
    "semi, time",
    "anti, latest rows",
)
QUERIES = {
    "telling shapes of join": {name: SHAPES[name] for name in TELLING},
    "every shape of join": SHAPES,
    "every window": {
        f"{name}, {window}": (case, WINDOWS[window])
        for name, case in SIMPLE.items()
        for window in WINDOWS
        if (name, window) != ("full", "latest rows")
    },
}


class Rows:
    """Three streams, as files and as the oracles see them; times in seconds."""

    def __init__(self, folder: Path) -> None:
        random = Random(3)  # noqa: S311

        def value() -> int | None:
            return None if random.random() < 0.05 else random.randrange(20)

        rows = [
            [
                Event(random.randrange(40), value(), value(), value(), 0, 1000 * s + n)
                for n in range(60 + 30 * s)
            ]
            for s in range(3)
        ]
        self.batches = in_batches(random, rows, 3, disorder=5)
        self.feeds = [Feed(folder / f"s{s}", SCHEMA, ARROW) for s in range(3)]
        self.fed: list[list[list[Event]]] = []

    def feed(self, count: int) -> None:
        for batch in self.batches[len(self.fed) : len(self.fed) + count]:
            self.fed.append(batch)
            for feed, events in zip(self.feeds, batch, strict=True):
                feed.add([event._asdict() | {"ts": START + event.ts * SECOND} for event in events])

    def expected(self, case: Case, windows: Windows, read: Sequence[int]) -> list[Result]:
        """What has left when all was read; Spark runs a last batch under the last watermark.

        The watermark is that of all streams that the query reads, in this join or in another.
        """
        scaled = [[[e._replace(ts=e.ts * SECOND) for e in batch[s]] for s in read] for batch in self.fed]
        silence: list[list[list[Event]]] = [[[] for _ in read]]
        under = watermarks([*scaled, *silence], [LATENESS * SECOND] * len(read), unit=1000)
        kept, _ = on_time(scaled, under[:-1])
        chosen = [[e._replace(ts=e.ts // SECOND) for e in kept[read.index(s)]] for s in case.streams]
        kind = Kind(
            case.kind,
            tuple(windows[s] for s in case.streams),
            case.optional,
            tuple(
                (equality(*link), max(link[1], link[3]) if {link[1], link[3]} & {*case.optional} else None)
                for link in case.links
            ),
        )
        if case.how == "right":
            kind = kind._replace(conditions=((equality(*case.links[0]), 0),))
        found = kinds.duck_join(kind, chosen)
        assert under[-1] is not None
        # A slot ends a microsecond before the next second; rows of a semi join leave when they meet.
        to_the_end = case.kind != "semi" and any(isinstance(window, Slots | Hops) for window in kind.windows)
        return in_time(kind, found, (under[-1] + 1) // SECOND - 1 if to_the_end else under[-1] // SECOND)

    def query(self, spark: SparkSession, case: Case, windows: Windows, **options: Any) -> Any:
        streams = [
            wm.stream(
                f"s{s}",
                self.feeds[s].stream(spark),
                time="ts",
                window=window_of(windows[s]),
                lateness=f"{LATENESS} seconds",
            )
            for s in case.streams
        ]
        if case.how == "inner":
            streams = [wm.optional(one) if n in case.optional else one for n, one in enumerate(streams)]
        on = [f"s{i}.{a} = s{j}.{b}" for a, i, b, j in case.links]
        return wm.join(*streams, on=on, how=case.how, buckets=2, **options)


def labelled(name: str, results: DataFrame) -> DataFrame:
    """Results of one of several joins: the values, and null where the struct of a stream is null."""
    values = [
        F.when(F.col(stream).isNull(), F.lit(None)).otherwise(F.coalesce(f"{stream}.value", F.lit(-1)))
        for stream in results.columns
        if stream not in ADDED
    ]
    times = [
        F.floor(F.unix_micros(time) / SECOND) - START // SECOND for time in results.columns if time in ADDED
    ]
    return results.select(F.lit(name).alias("name"), F.array(*values, *times).alias("row"))


@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize(
    "query",
    [
        pytest.param("telling shapes of join", marks=pytest.mark.slow),
        # Each of their many operators has processes of its own.
        pytest.param("every shape of join", marks=pytest.mark.soak),
        pytest.param("every window", marks=pytest.mark.soak),
    ],
)
def test_every_kind_with_every_window(spark: SparkSession, tmp_path: Path, query: str) -> None:
    """All in one query, which is stopped in the middle and started again."""
    rows = Rows(tmp_path)
    read = sorted({stream for case, _ in QUERIES[query].values() for stream in case.streams})
    for batches in (2, 1):
        rows.feed(batches)
        joins = [
            labelled(name, rows.query(spark, case, windows).to_dataframe())
            for name, (case, windows) in QUERIES[query].items()
        ]
        to_sink(reduce(DataFrame.unionAll, joins), tmp_path)
        found: dict[str, list[Result]] = defaultdict(list)
        for row in sink_rows(spark, tmp_path).collect():
            found[row.name].append(tuple(row.row))
        for name, (case, windows) in QUERIES[query].items():
            expected = rows.expected(case, windows, read)
            try:
                assert len(expected) > 2
                assert_same_rows(found[name], expected)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from None
