"""Join graphs on Spark against DuckDB: streaming, plain, and after a restart.

Would catch: a watermark that does not reach the second operator or reaches it too early, intermediate results
taken for late, an operator whose state is not restored, results that depend on the batches.
"""

import os
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness.graphs import (
    SECOND,
    START,
    GraphQuery,
    band,
    equality,
    in_batches,
    near,
    not_after_all_others,
    on_time,
    random_events,
    window_of,
)
from harness.streaming import Feed, result_values, sink_rows, to_sink
from oracles import graph
from oracles.graph import Event, Events, LastRows
from oracles.reference import Result, Slots, assert_same_rows, watermarks

SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))
LATENESS = 2
SCHEMA = "ts timestamp, x bigint, y bigint, z bigint, v bigint, value bigint"
ARROW = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), *((name, pa.int64()) for name in ("x", "y", "z", "v", "value"))]
)

QUERIES = {
    "chain of four, windows from bands": GraphQuery(
        (None, None, None, None),
        (
            equality(0, "x", 1, "y"),
            band(0, 1, 0, 4),
            equality(1, "x", 2, "x"),
            band(1, 2, 3, 0),
            equality(2, "z", 3, "x"),
            band(2, 3, 2, 2, strict=True),
        ),
    ),
    "two pairs that meet": GraphQuery(
        (4, 6, 5, 4),
        (equality(0, "x", 1, "x"), equality(2, "y", 3, "y"), equality(1, "z", 2, "z"), near(0, 3, 1)),
    ),
    "cycle with a check": GraphQuery(
        (5, None, 4),
        (
            equality(0, "x", 1, "x"),
            equality(1, "x", 2, "x"),
            equality(0, "y", 2, "y"),
            band(0, 1, 2, 3),
            band(1, 2, 3, 3),
        ),
    ),
    "a stream without a key": GraphQuery(
        (4, 4, 3),
        (equality(0, "x", 1, "x"), not_after_all_others(2, 3), near(1, 2, 0)),
    ),
    "windows of rows, all and per key": GraphQuery(
        (LastRows(60), LastRows(1, "x"), 4), (equality(0, "x", 1, "x"), equality(1, "x", 2, "x"))
    ),
    "windows of rows below another operator": GraphQuery(
        (5, LastRows(70), LastRows(90)), (equality(0, "x", 1, "x"), equality(1, "y", 2, "z"), near(0, 2, 2))
    ),
    "slots, and a window of time above them": GraphQuery(
        (Slots(5), Slots(5), 4), (equality(0, "x", 1, "x"), equality(1, "y", 2, "z"), near(0, 2, 2))
    ),
}
# To start a query takes seconds per operator, and what these store is stored by others as well.
WITHOUT_RESTART = {"two pairs that meet"}
# Many rows of few keys, so that those of a key are found by what they share besides.
CROWDED = {"cycle with a check"}


class Story:
    """Random rows of many histories at once, told apart by their keys."""

    def __init__(self, query: GraphQuery, folder: Path, groups: int, rows_of_group: int = 6) -> None:
        random = Random(SEED)  # noqa: S311
        self.query = query
        self.folder = folder
        streams = len(query.windows)
        rows: list[list[Event]] = [[] for _ in range(streams)]
        for group in range(groups):
            for stream, events in enumerate(random_events(random, streams, rows_of_group, span=24)):
                rows[stream] += [_moved(event, group) for event in events]
        self.batches = in_batches(random, rows, 4, disorder=6)
        self.feeds = [Feed(folder / f"s{i}", SCHEMA, ARROW) for i in range(streams)]

    def feed(self, batches: list[list[list[Event]]]) -> None:
        for batch in batches:
            for feed, events in zip(self.feeds, batch, strict=True):
                feed.add([event._replace(ts=START + event.ts * SECOND)._asdict() for event in events])

    def join(self, spark: SparkSession, *, plain: bool = False) -> wm.Query:
        streams = [
            wm.stream(
                f"s{i}",
                feed.plain(spark) if plain else feed.stream(spark),
                time="ts",
                window=window_of(window),
                lateness=f"{LATENESS} seconds",
            )
            for i, (feed, window) in enumerate(zip(self.feeds, self.query.windows, strict=True))
        ]
        return wm.join(*streams, on=self.query.texts, buckets=3)

    def expected(self) -> list[Result]:
        return _results(on_time(self.batches, LATENESS, self.query.windows), self.query)

    def last_watermark(self) -> int:
        scaled = [[[e._replace(ts=START + e.ts * SECOND) for e in rows] for rows in b] for b in self.batches]
        silent = [[] for _ in self.feeds]
        reached = watermarks([*scaled, silent], [LATENESS * SECOND] * len(self.feeds), unit=1000)[-1]
        assert reached is not None
        return reached

    def everything(self) -> list[Result]:
        rows = [[event for batch in self.batches for event in batch[i]] for i in range(len(self.feeds))]
        return _results([Events(w, r) for w, r in zip(self.query.windows, rows, strict=True)], self.query)


def _moved(event: Event, group: int) -> Event:
    """The same event in a history of its own."""
    keys = {k: None if (v := getattr(event, k)) is None else v + 10 * group for k in ("x", "y", "z")}
    return event._replace(value=event.value + 100_000 * group, **keys)


def _results(tables: list[Events], query: GraphQuery) -> list[Result]:
    found = graph.duck_join(tables, query.conditions)
    return [(*values, START + time * SECOND) for *values, time in found]


@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize("name", QUERIES)
def test_streaming_with_a_restart_and_plain_equal_the_oracle(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    query = QUERIES[name]
    keyed = sum(" = " in text for text in query.texts) >= len(query.windows) - 1
    groups, rows = (4, 40) if name in CROWDED else (40 if keyed else 12, 6)
    story = Story(query, tmp_path, groups, rows)
    expected, everything = story.expected(), story.everything()
    if any(isinstance(window, LastRows) for window in query.windows):
        # These are known up to the last watermark only.
        reached = story.last_watermark()
        expected = [row for row in expected if row[-1] <= reached]
    assert len(expected) > 20
    assert len(everything) > len(expected), "no row is late, so lateness shows nothing"
    # The first query ends in the middle; the second goes on from its checkpoint.
    middle = 4 if name in WITHOUT_RESTART else 2
    for some in filter(None, (story.batches[:middle], story.batches[middle:])):
        story.feed(some)
        to_sink(story.join(spark).to_dataframe(), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), expected)
    assert_same_rows(result_values(story.join(spark, plain=True).to_dataframe()), everything)
