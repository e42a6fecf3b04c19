"""Joins on Python functions on Spark end with exactly the rows of the definition.

Would catch: rows lost when the number of slices changes between two starts, a batch half emitted when a
function fails, functions that do not reach the workers, a deployed join that stores or finds rows twice.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness.graphs import SECOND, START
from harness.streaming import Feed, result_values, sink_rows, to_memory, to_sink
from oracles.reference import Result, assert_same_rows
from watersmeet.errors import InvalidQuery

SCHEMA = "ts timestamp, point array<double>, word string, value bigint"
ARROW = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("point", pa.list_(pa.float64())),
        ("word", pa.string()),
        ("value", pa.int64()),
    ]
)
# Histories lie so far apart that their rows never meet; many of them make one query.
HISTORIES, APART, WINDOW = 25, 1000, 6
NEAR = 0.2


def close(left: Any, right: Any) -> Any:
    """Points as rows of an array."""
    return np.sqrt(((left - right) ** 2).sum(axis=1)) < NEAR


def same_letters(left: str, right: str) -> bool:
    """Two words at a time."""
    return sorted(left) == sorted(right)


class Streams:
    """Random rows of three streams, in files of one batch each."""

    def __init__(self, folder: Path, seed: int, batches: int) -> None:
        random = Random(seed)  # noqa: S311
        self.folder = folder
        self.feeds = [Feed(folder / name, SCHEMA, ARROW) for name in "abc"]
        self.rows: list[list[dict[str, Any]]] = [[], [], []]
        self._batches: list[list[list[dict[str, Any]]]] = [[[], [], []] for _ in range(batches)]
        for history in range(HISTORIES):
            for stream in range(3):
                for n in range(8):
                    row = {
                        "ts": START + (history * APART + random.randrange(20)) * SECOND,
                        "point": None if random.random() < 0.05 else [random.random(), random.random()],
                        "word": random.choice(["ab", "ba", "bc", "cb"]),
                        "value": 1000 * history + 100 * stream + n,
                    }
                    self.rows[stream].append(row)
                    self._batches[random.randrange(batches)][stream].append(row)
        # What decides the watermark comes last, so that nothing is late.
        self._batches[0] = [sorted(rows, key=lambda row: row["ts"]) for rows in self._batches[0]]

    def feed(self, batch: int) -> None:
        for feed, rows in zip(self.feeds, self._batches[batch], strict=True):
            feed.add(rows)

    def query(
        self, spark: SparkSession, function: Callable[..., Any] = close, *, plain: bool = False
    ) -> wm.Query:
        streams = [
            wm.stream(
                name,
                feed.plain(spark) if plain else feed.stream(spark),
                time="ts",
                window=f"{WINDOW} seconds",
                lateness="10 hours",
            )
            for name, feed in zip("abc", self.feeds, strict=True)
        ]
        on = [
            wm.predicate(function, "a.point", "b.point", stacked=True, name="close"),
            wm.predicate(same_letters, "b.word", "c.word", vectorized=False),
        ]
        return wm.join(*streams, on=on, select=["a.value", "b.value", "c.value"], buckets=4)

    def expected(self) -> list[Result]:
        """By the definition."""
        found = []
        for a in self.rows[0]:
            for b in self.rows[1]:
                if a["point"] is None or b["point"] is None or abs(a["ts"] - b["ts"]) > WINDOW * SECOND:
                    continue
                if np.hypot(a["point"][0] - b["point"][0], a["point"][1] - b["point"][1]) >= NEAR:
                    continue
                for c in self.rows[2]:
                    times = [row["ts"] for row in (a, b, c)]
                    if sorted(b["word"]) == sorted(c["word"]) and max(times) <= min(times) + WINDOW * SECOND:
                        found.append((a["value"], b["value"], c["value"], max(times)))
        return found


def values(results: Any) -> list[Result]:
    """Flat results, as the oracle gives them."""
    flat = results.selectExpr("*", "unix_micros(result_time) AS at").drop("result_time").toArrow()
    return list(zip(*(column.to_pylist() for column in flat.columns), strict=True))


def flat(query: wm.Query) -> Any:
    return query.to_dataframe().toDF("a", "b", "c", "result_time")


@pytest.mark.slow
def test_plain_inputs_give_the_same_whatever_the_routing(spark: SparkSession, tmp_path: Path) -> None:
    streams = Streams(tmp_path, seed=2, batches=1)
    streams.feed(0)
    query = streams.query(spark, plain=True)
    expected = streams.expected()
    for routing in ("sliced", "aligned"):
        assert_same_rows(values(flat(query.plan_with(routing=routing))), expected)
    analyzed = query.analyze().planning.statistics
    assert 0 < analyzed.costs["close(a.point, b.point)"] < 0.01
    assert analyzed.conditions["same_letters(b.word, c.word)"].number == pytest.approx(0.5, abs=0.1)


@pytest.mark.slow
def test_metrics_tell_what_functions_cost_and_where_rows_are(spark: SparkSession, tmp_path: Path) -> None:
    streams = Streams(tmp_path, seed=3, batches=2)
    for batch in range(2):
        streams.feed(batch)
    query = streams.query(spark)
    ended, results = to_memory(flat(query))
    assert_same_rows(values(results), streams.expected())
    joins = [join for progress in ended.recentProgress if (join := wm.metrics(progress))]
    close_pairs = [join[0].predicates["close(a.point, b.point)"] for join in joins]
    assert sum(one.pairs for one in close_pairs) > sum(one.accepted for one in close_pairs) > 0
    assert all(one.inconsistent == 0 for one in close_pairs)
    # Not of a batch without rows, in which not all slices report.
    live = [join[0].streams["a"] for join in joins if join[0].streams["a"].live is not None][-1]
    assert live.live == len(streams.rows[0])
    # Four slices, and a few rows more in one of them.
    assert live.largest is not None
    assert live.largest <= live.live / 4 * 1.2
    text = query.explain(analyze=ended)
    assert "close(a.point, b.point)  " in text
    replanned = query.analyze(ended).planning.statistics
    assert set(replanned.costs) == {"close(a.point, b.point)", "same_letters(b.word, c.word)"}


@pytest.mark.slow
def test_slices_change_and_a_function_fails_between_starts(spark: SparkSession, tmp_path: Path) -> None:
    """Every start has another number of slices; a batch that fails leaves nothing, and is run again."""
    streams = Streams(tmp_path, seed=4, batches=3)
    expected = streams.expected()
    assert len(expected) > 100
    corrupt = next(row["point"] for row in streams._batches[1][0] if row["point"] is not None)

    def fails(left: Any, right: Any) -> Any:
        if (left == np.array(corrupt)).all(axis=1).any():
            raise ValueError("a corrupt point")
        return close(left, right)

    def run(spread: int, function: Callable[..., Any]) -> list[Result]:
        to_sink(flat(streams.query(spark, function).plan_with(spread=spread)), tmp_path)
        return values(sink_rows(spark, tmp_path))

    streams.feed(0)
    before = run(2, fails)
    streams.feed(1)
    with pytest.raises(Exception, match=r"predicate close\(a.point, b.point\) raised ValueError") as raised:
        run(4, fails)
    assert "for example for a.point = [" in str(raised.value)
    assert_same_rows(values(sink_rows(spark, tmp_path)), before)
    streams.feed(2)
    assert_same_rows(run(1, close), expected)


@pytest.mark.soak
def test_a_deployed_join_stores_every_row_once_and_goes_on_after_a_stop(
    spark: SparkSession, tmp_path: Path
) -> None:
    streams = Streams(tmp_path, seed=5, batches=2)

    def started() -> Any:
        return streams.query(spark).deploy(
            str(tmp_path / "out"), mailbox=tmp_path / "mail", checkpoint=tmp_path / "checkpoint"
        )

    streams.feed(0)
    first = started()
    first.query.processAllAvailable()
    first.stop()
    streams.feed(1)
    second = started()
    second.finish(timeout=240)
    table = ds.dataset(tmp_path / "out", format="parquet", partitioning="hive").to_table()
    times = table.column("result_time").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    found = list(zip(*(table.column(i).to_pylist() for i in range(3)), times, strict=True))
    assert_same_rows(found, streams.expected())
    assert list(second.status) == ["slice-01", "slice-02", "slice-03", "slice-04"]
    assert all(status.held == 0 and status.waiting == 0 for status in second.status.values())
    assert all(status.rows == {"a": 200, "b": 200, "c": 200} for status in second.status.values())


def test_nothing_to_deploy(spark: SparkSession, tmp_path: Path) -> None:
    feeds = [Feed(tmp_path / name, SCHEMA, ARROW) for name in "ab"]
    streams: Sequence[Any] = [
        wm.stream(name, feed.stream(spark), time="ts", window="6 seconds")
        for name, feed in zip("ab", feeds, strict=True)
    ]
    with pytest.raises(InvalidQuery, match="there is nothing to deploy"):
        wm.join(*streams, on="word").deploy("out", mailbox=tmp_path / "mail", checkpoint=tmp_path / "cp")


def test_nested_results_of_functions(spark: SparkSession, tmp_path: Path) -> None:
    """Whole rows come back, with the arrays the function was given."""
    streams = Streams(tmp_path, seed=6, batches=1)
    streams.feed(0)
    a, b = (
        wm.stream(name, feed.plain(spark), time="ts", window="6 seconds")
        for name, feed in zip("ab", streams.feeds, strict=False)
    )
    results = wm.join(a, b, on=wm.predicate(close, "a.point", "b.point", stacked=True)).to_dataframe()
    assert results.columns == ["a", "b", "result_time"]
    some = results.limit(1).collect()[0]
    assert np.hypot(*(np.array(some.a.point) - np.array(some.b.point))) < NEAR
    assert len(result_values(results)) == results.count()
