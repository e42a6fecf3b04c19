"""Streams that may be idle do not hold the others back; nothing is lost that was not late.

Would catch: a watermark that waits for ever, one that overtakes a stream that is awake, a batch that tells
something else when it runs again, rows that are lost without being counted, a join that says nothing.
"""

import datetime as dt
import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from harness.scenario import SECOND, START
from harness.streaming import Feed, sink_rows, start_sink
from watersmeet.errors import InvalidQuery, InvalidStream
from watersmeet.spark.host.idle import Heard, IdleReader, Patience, Told, others_reached

A = {"a": Patience(2, None), "b": Patience(5, 10.0), "c": Patience(0, 20.0)}


@pytest.mark.parametrize(
    ("now", "heard", "reached"),
    [
        # Not yet silent for long enough, counted from the last rows or from the start.
        (109, {"a": Heard(50, 109), "b": Heard(10, 100), "c": Heard(60, 109)}, None),
        (109, {"a": Heard(50, 109), "c": Heard(60, 109)}, None),
        # The slowest of the others, less its lateness.
        (110, {"a": Heard(50, 109), "b": Heard(10, 100), "c": Heard(60, 109)}, 48),
        (110, {"a": Heard(50, 109), "c": Heard(40, 109)}, 40),
        # One that has sent nothing yet, and need not.
        (110, {"a": Heard(50, 109), "b": Heard(10, 100)}, None),
        (120, {"a": Heard(50, 119), "b": Heard(10, 100)}, 48),
        # One that is awake for ever counts, however long it is silent; one that is idle does not.
        (999, {"a": Heard(50, 100), "b": Heard(10, 100), "c": Heard(40, 100)}, 48),
        (110, {}, None),
    ],
)
def test_what_the_others_have_reached(now: float, heard: dict[str, Heard], reached: int | None) -> None:
    assert others_reached("b", A, heard, since=100, now=now) == reached


def test_if_all_are_idle_the_furthest_counts() -> None:
    both = {name: Patience(0, 10.0) for name in "ab"}
    heard = {"a": Heard(70, 100), "b": Heard(10, 100)}
    assert others_reached("b", both, heard, since=0, now=200) == 70


def test_what_was_told_is_told_again_and_never_taken_back(tmp_path: Path) -> None:
    streams = json.dumps({name: {"lateness_us": 3, "idle_s": 0.0} for name in "ab"})
    options = {"stream": "b", "streams": streams, "folder": str(tmp_path), "label": "7", "input": "1"}
    tmp_path.chmod(0o700)
    reader = IdleReader(options)
    start = reader.initialOffset()
    told = Told.read(start)
    assert told is not None
    told.note.write_text('{"a": [100, 0.0], "b": [10, 0.0]}')
    later = reader.latestOffset(start, None)
    assert later["reached"] == 97
    told.note.write_text('{"a": [50, 0.0], "b": [10, 0.0]}')
    assert reader.latestOffset(later, None) == later
    # Another reader, after a restart, reads the same from the same offsets.
    again = IdleReader(options)
    (part,) = again.partitions(start, later)
    (row,) = [row for some in again.read(part) for row in some.to_pylist()]
    assert (row["label"], row["input"]) == (7, 1)
    assert row["newest"] == dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=100)
    assert again.partitions(later, later) == []
    # A note that others could have written is not read.
    told.note.write_text('{"a": [900, 0.0], "b": [10, 0.0]}')
    tmp_path.chmod(0o755)
    assert reader.latestOffset(later, None) == later
    # All that is there is read at once: nobody waits.
    tmp_path.chmod(0o700)
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset(later, None) == later


SCHEMA = "k bigint, ts timestamp, value bigint"
ARROW = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.int64())])


def rows(*values: int) -> list[dict[str, Any]]:
    """A row per second; every second row shares a key with those of its neighbourhood."""
    return [{"k": value // 4, "ts": START + value * SECOND, "value": value} for value in values]


def wait(query: StreamingQuery, done: Callable[[], bool]) -> None:
    until = time.monotonic() + 150
    while not done():
        assert query.isActive, query.exception()
        assert time.monotonic() < until, query.lastProgress
        time.sleep(0.1)


@pytest.mark.usefixtures("one_partition")
def test_a_silent_stream_does_not_hold_the_others_back_across_a_restart(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All rows less those that were set aside make the results, whatever was silent or started again."""
    feeds = {name: Feed(tmp_path / name, SCHEMA, ARROW) for name in "ab"}
    given: dict[str, list[int]] = {"a": [], "b": []}
    found: list[Any] = []

    def add(name: str, *values: int) -> None:
        given[name] += values
        feeds[name].add(rows(*values))

    def start() -> StreamingQuery:
        a, b = (
            wm.stream(name, feed.stream(spark), time="ts", window="1 second", idle=idle)
            for (name, feed), idle in zip(feeds.items(), (None, "500 ms"), strict=True)
        )
        results = wm.join(a, b, on="k", buckets=1).to_dataframe(set_aside=True)
        return start_sink(results, tmp_path)

    def held() -> int:
        live = [one.streams["a"].live for one in found if one.streams["a"].live is not None]
        return live[-1] if live else -1

    def batches(query: StreamingQuery) -> list[Any]:
        found[:] = [one for progress in query.recentProgress for one in wm.metrics(progress)]
        return found

    caplog.set_level(logging.WARNING, logger="watersmeet")
    add("a", *range(8))
    add("b", *range(4))
    query = start()
    try:
        wait(query, lambda: any(one.streams["b"].idle for one in batches(query)) and held() == 2)
    finally:
        query.stop()
    # What is said once is in the log, by the name of the stream.
    wait_for_log(caplog, "b is idle")
    add("a", *range(20, 40))
    query = start()
    try:
        wait(query, lambda: any(one.streams["b"].idle for one in batches(query)) and held() == 2)
        # The stream comes again: one row is too late, the other is not.
        add("b", 30, 39, 41)
        add("a", 41)
        wait(query, lambda: sum(one.streams["b"].late for one in batches(query)) == 1)
        assert not found[-1].streams["b"].idle or found[-1].streams["b"].rows == 0
        query.processAllAvailable()
    finally:
        query.stop()
    wait_for_log(caplog, "because it was idle")
    out = sink_rows(spark, tmp_path)
    aside = [json.loads(row[0])["value"] for row in out.select("set_aside.content").collect() if row[0]]
    assert aside == [30]
    kept = {name: [value for value in values if value not in aside] for name, values in given.items()}
    kept["a"] = given["a"]
    pairs = [(x, y) for x in kept["a"] for y in kept["b"] if x // 4 == y // 4 and abs(x - y) <= 1]
    results = out.filter("set_aside IS NULL").select("a.value", "b.value").collect()
    assert Counter((x, y) for x, y in results) == Counter(pairs)


def wait_for_log(caplog: pytest.LogCaptureFixture, text: str) -> None:
    until = time.monotonic() + 10
    while text not in caplog.text:
        assert time.monotonic() < until, caplog.text
        time.sleep(0.05)


def test_what_cannot_be_idle_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], SCHEMA)
    with pytest.raises(InvalidStream, match='idle of stream "a" is not a length of time'):
        wm.stream("a", frame, time="ts", window="1 second", idle="0 seconds")
    with pytest.raises(InvalidStream, match='stream "a" cannot be idle'):
        wm.stream("a", frame, time="ts", window=wm.UNBOUNDED, idle="1 second")
    query = wm.sql(
        "SELECT * FROM a [RANGE 1 HOUR] [IDLE 5 MINUTES], b [RANGE 1 HOUR] WHERE a.k = b.k", a=frame, b=frame
    )
    assert [stream.idle for stream in query.query.streams] == [dt.timedelta(minutes=5), None]
    with pytest.raises(InvalidQuery, match="IDLE 5 MINUTES"):
        wm.sql(
            "SELECT * FROM a [RANGE 1 HOUR] [IDLE soon], b [RANGE 1 HOUR] WHERE a.k = b.k", a=frame, b=frame
        )
    sites = [
        wm.stream(name, frame, time="ts", window="1 second", idle="1 minute", site=name) for name in "ab"
    ]
    with pytest.raises(InvalidQuery, match="deployed join cannot be idle"):
        wm.join(*sites, on="k").deploy("out", mailbox="mail", checkpoint="checkpoint")
