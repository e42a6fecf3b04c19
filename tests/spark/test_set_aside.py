"""Rows that can never join come beside the results, whole and once.

Would catch: a late row of a lower operator that is lost, a row told by every bucket that gets it, Spark
dropping what is older than its watermark, a condition on results that swallows them, content without some
columns, a filter that makes its stream look silent.
"""

import datetime as dt
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.scenario import SECOND, START
from harness.streaming import Feed, start_sink, to_memory
from watersmeet.errors import InvalidQuery
from watersmeet.plan.plan import operators
from watersmeet.query import Stream

SCHEMA = "k bigint, j bigint, ts timestamp, note string"
ARROW = pa.schema(
    [("k", pa.int64()), ("j", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("note", pa.string())]
)
FAR = 10**9
# Stream, row (key, other key, seconds, note), and why it is set aside; batch by batch.
A, B, C = "abc"
STORY: list[list[tuple[str, tuple[Any, ...], str | None]]] = [
    [
        (A, (1, 1, 0, "a0"), None),
        (B, (1, 1, 0, "b0"), None),
        (C, (1, 1, 0, "c0"), None),
        (A, (None, 1, 1, "no key"), "null key"),
        (B, (1, None, 1, "no second key"), "null key"),
        (C, (1, 1, None, "no time"), "null time"),
        (A, (None, None, None, "nothing"), "null time"),
        (B, (1, 1, FAR, "far"), "dated ahead"),
        (A, (1, 1, 2, "filtered"), None),
        (A, (1, 1, None, "filtered"), None),
    ],
    [(stream, (1, 1, 100, f"{stream}100"), None) for stream in "abc"],
    [
        (A, (1, 1, 50.000001, "late"), "late"),
        (B, (1, 1, 99, "late too"), "late"),
        (C, (1, 1, 60, "late as well"), "late"),
        (B, (1, 1, 101, "b101"), None),
        (B, (None, 1, 50, "no key, and late"), "null key"),
    ],
]


def row(k: int | None, j: int | None, seconds: float | None, note: str) -> dict[str, Any]:
    ts = None if seconds is None else START + round(seconds * SECOND)
    return {"k": k, "j": j, "ts": ts, "note": note}


def feeds(folder: Path) -> dict[str, Feed]:
    made = {name: Feed(folder / name, SCHEMA, ARROW) for name in "abc"}
    for batch in STORY:
        for name, feed in made.items():
            feed.add([row(*values) for stream, values, _ in batch if stream == name])
    return made


def streams(frames: dict[str, DataFrame]) -> list[Stream]:
    return [wm.stream(name, frame, time="ts", window="1 second") for name, frame in frames.items()]


# By two keys, so as a tree of two operators; Spark itself judges the last condition. And without a key.
TREE = ["a.k = b.k", "b.j = c.j", "a.note <> 'filtered'", "reverse(a.note) <> c.note"]
CROSS = ["a.note <> 'filtered'", "a.k >= b.k", "b.j >= c.j", "a.k >= c.k"]


def expected(*, late: bool) -> Counter[tuple[str, str, str]]:
    told = [(s, values[3], reason) for batch in STORY for s, values, reason in batch if reason]
    return Counter(one for one in told if late or one[2] != "late")


def told(results: DataFrame) -> Counter[tuple[str, str, str]]:
    rows = results.filter("set_aside IS NOT NULL").collect()
    found = []
    for one in rows:
        content = json.loads(one.set_aside.content)
        assert list(content) == ["k", "j", "ts", "note"]
        assert one.result_time is None
        time = content["ts"] and dt.datetime.fromisoformat(content["ts"])
        assert one.set_aside.time == (time and time.replace(tzinfo=None))
        found.append((one.set_aside.stream, content["note"], one.set_aside.reason))
    return Counter(found)


def results_in(results: DataFrame) -> list[tuple[str, ...]]:
    rows = results.filter("set_aside IS NULL").select("a.note", "b.note", "c.note", "result_time").collect()
    assert all(one.result_time is not None for one in rows)
    return sorted(tuple(one)[:3] for one in rows)


def test_rows_of_a_tree_come_beside_its_results(spark: SparkSession, tmp_path: Path) -> None:
    made = feeds(tmp_path)
    query = wm.join(*streams({name: feed.stream(spark) for name, feed in made.items()}), on=TREE, buckets=2)
    assert len(operators(query.plan.root)) == 2
    running, rows = to_memory(query.to_dataframe(set_aside=True))
    assert told(rows) == expected(late=True)
    assert results_in(rows) == [("a0", "b0", "c0"), ("a100", "b100", "c100"), ("a100", "b101", "c100")]
    late: Counter[str] = Counter()
    for progress in running.recentProgress:
        for one in wm.metrics(progress):
            late.update({name: stream.late for name, stream in one.streams.items()})
    assert {name: late[name] for name in "abc"} == {"a": 1, "b": 1, "c": 1}


def test_plain_frames_have_no_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    made = feeds(tmp_path)
    frames = {name: feed.plain(spark) for name, feed in made.items()}
    rows = wm.join(*streams(frames), on=TREE, buckets=2).to_dataframe(set_aside=True).cache()
    assert told(rows) == expected(late=False)
    selected = wm.join(*streams(frames), on=TREE, select=["a.note", "c.k"]).to_dataframe(set_aside=True)
    assert selected.columns == ["note", "k", "result_time", "set_aside"]


@pytest.mark.parametrize("routing", [pytest.param("replicated", marks=pytest.mark.soak), "aligned"])
def test_rows_that_several_buckets_get_are_told_once(
    spark: SparkSession, tmp_path: Path, routing: str
) -> None:
    made = feeds(tmp_path)
    query = wm.join(*streams({name: feed.stream(spark) for name, feed in made.items()}), on=CROSS, buckets=3)
    planned = query.plan_with(routing=routing, segment="1 second" if routing == "aligned" else None)
    _, rows = to_memory(planned.to_dataframe(set_aside=True))
    # Without keys a null is no reason by itself.
    late = [(s, values[3]) for s, values, reason in STORY[2] if reason]
    assert sorted(one[:2] for one in told(rows).elements() if one[2] == "late") == sorted(late)


@pytest.mark.soak
def test_rows_after_the_end_of_a_join_without_windows(spark: SparkSession, tmp_path: Path) -> None:
    made = [Feed(tmp_path / name, SCHEMA, ARROW) for name in "ab"]
    inputs = [
        wm.stream(name, feed.stream(spark), time="ts", window=wm.UNBOUNDED)
        for name, feed in zip("ab", made, strict=True)
    ]
    query = wm.join(*inputs, on="k", memory="64 MB", buckets=1).plan_memory(tick="100 ms")
    for feed in made:
        feed.add([row(1, 1, 0, "first"), row(None, 1, 0, "no key")])
    running = start_sink(query.to_dataframe(set_aside=True), tmp_path)
    try:
        query.finish(running, "a", timeout="2 minutes")
        for feed in made:
            feed.add([row(1, 1, 1, "after")])
        query.finish(running, timeout="2 minutes")
    finally:
        running.stop()
    rows = spark.read.parquet(str(tmp_path / "out"))
    assert told(rows) == Counter(
        [("a", "no key", "null key"), ("b", "no key", "null key"), ("a", "after", "late")]
    )


def test_a_filter_does_not_make_its_stream_look_silent(spark: SparkSession, tmp_path: Path) -> None:
    """The watermark follows all rows; those that fail are neither counted nor judged further."""
    made = {name: Feed(tmp_path / name, SCHEMA, ARROW) for name in "ab"}
    for seconds in (0, 100, 200):
        made["a"].add([row(1, 1, seconds, "")])
        made["b"].add([row(1, 0 if seconds else 1, seconds, "")])
    inputs = streams({name: feed.stream(spark) for name, feed in made.items()})
    running, rows = to_memory(wm.join(*inputs, on=["a.k = 1 / b.j", "b.j <> 0"], buckets=1).to_dataframe())
    found = [wm.metrics(progress)[0] for progress in running.recentProgress]
    assert rows.count() == 1
    assert sum(one.streams["b"].rows for one in found) == 1
    # Were b silent after its first row, all rows of a would be held.
    assert next(live for one in reversed(found) if (live := one.streams["a"].live) is not None) == 1
    newest = [one.streams["b"].newest for one in found if one.streams["b"].newest is not None]
    assert max(newest) == dt.datetime.fromtimestamp(START / SECOND + 200, dt.UTC)


def test_a_name_that_is_taken_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], SCHEMA)
    inputs = streams({"a": frame, "Set_aside": frame})
    with pytest.raises(InvalidQuery, match='a column "set_aside" already'):
        wm.join(*inputs, on="k").to_dataframe(set_aside=True)
    columns = wm.join(*inputs, on="k").to_dataframe().select(F.col("Set_aside.k")).columns
    assert columns == ["k"]
