"""What users do with a join and what it tells them.

Would catch: a result that Spark's own operators cannot go on with, a batch evaluated twice that corrupts
state, columns under the wrong name, counts that do not add up, state that stays when its bucket falls silent.
"""

import datetime as dt
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.scenario import SECOND, START, Scenario
from harness.streaming import (
    Feed,
    result_values,
    sink_rows,
    start_sink,
    to_memory,
    to_sink,
)
from oracles import reference
from oracles.reference import Result, assert_same_rows
from watersmeet.errors import InvalidProgress
from watersmeet.spark.host.metrics import metric_names

SCHEMA = "k bigint, ts timestamp, value bigint"
ARROW = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.int64())])


def row(k: int | None, seconds: float | None, value: int = 0) -> dict[str, Any]:
    """A row whose time is given in seconds after the start of the story."""
    return {"k": k, "ts": None if seconds is None else START + round(seconds * SECOND), "value": value}


def plain(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), ARROW))


def instant(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp((START + round(seconds * SECOND)) / SECOND, dt.UTC)


class Story:
    """Two streams, a with some lateness and b without, whose batches are written down row by row."""

    def __init__(self, spark: SparkSession, folder: Path, **options: Any) -> None:
        self.feeds = [Feed(folder / name, SCHEMA, ARROW) for name in ("a", "b")]
        self.a, self.b = (
            wm.stream(name, feed.stream(spark), time="ts", window="10 seconds", lateness=lateness)
            for name, feed, lateness in zip(("a", "b"), self.feeds, ("2 seconds", "0 seconds"), strict=True)
        )
        self.join = wm.join(self.a, self.b, on="k", **options)

    def batch(self, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> None:
        for feed, rows in zip(self.feeds, (a, b), strict=True):
            feed.add(rows)


def test_a_windowed_aggregation_can_follow_the_join(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, late_rows=True)
    scenario.feed(4)
    results = scenario.query(spark).to_dataframe()
    counts = results.groupBy(F.window("result_time", "2 seconds")).count()
    _, rows = to_memory(counts)
    found = {r[0]: r[1] for r in rows.selectExpr("unix_micros(window.end)", "count").collect()}

    # A window appears, complete, once the watermark has passed its end.
    final = reference.watermarks([*scenario.batches, [[], [], []]], scenario.lateness, unit=1000)[-1]
    width = 2 * SECOND
    complete = Counter((result[-1] // width + 1) * width for result in scenario.expected())
    assert len(found) > 3
    assert found == {end: count for end, count in complete.items() if end <= final}


def test_two_actions_in_one_foreach_batch_agree_and_harm_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Each action evaluates the batch again, from the same version of the state."""
    scenario = Scenario(tmp_path, late_rows=True)
    scenario.feed(3)
    collected: list[Result] = []
    counted = []

    def twice(batch: DataFrame, _: int) -> None:
        counted.append(batch.count())
        collected.extend(result_values(batch))

    writer = scenario.query(spark).to_dataframe().writeStream.foreachBatch(twice)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert_same_rows(collected, scenario.expected())
    assert sum(counted) == len(collected)


def test_functions_may_come_and_go_between_starts(spark: SparkSession, tmp_path: Path) -> None:
    """What is known about a function is kept by its text, whatever others there are."""
    story = Story(spark, tmp_path)
    found: list[tuple[int, int]] = []

    def keep(batch: DataFrame, _: int) -> None:
        found.extend((one.a.value, one.b.value) for one in batch.collect())

    calls = [wm.predicate(lambda x, y: x <= y, "a.value", "b.value", name=name) for name in ("one", "two")]
    for at, functions in enumerate(([], calls, calls[::-1], calls[1:], [])):
        story.batch([row(1, at, at)], [row(1, at, at)])
        results = wm.join(story.a, story.b, on=["a.k = b.k", *functions]).to_dataframe()
        writer = results.writeStream.foreachBatch(keep).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    pairs = [(x, y) for x in range(5) for y in range(5)]
    # A pair is judged when its later row comes; functions that are there then refuse the larger first.
    assert sorted(found) == [(x, y) for x, y in pairs if x <= y or max(x, y) in (0, 4)]


def test_the_same_dataframe_under_two_names_meets_itself(spark: SparkSession, tmp_path: Path) -> None:
    """Every row meets itself and each of its neighbours, both ways round."""
    feed = Feed(tmp_path / "rows", SCHEMA, ARROW)
    feed.add([row(1, 0, 1), row(2, 0, 9)])
    feed.add([row(1, 4, 2), row(1, 20, 3)])
    for streaming in (True, False):
        df = feed.stream(spark) if streaming else feed.plain(spark)
        earlier = wm.stream("earlier", df, time="ts", window="5 seconds")
        later = wm.stream("later", df, time="ts", window="5 seconds")
        results = wm.join(earlier, later, on="k").to_dataframe()
        rows = to_memory(results)[1] if streaming else results
        pairs = sorted((r.earlier.value, r.later.value) for r in rows.collect())
        assert pairs == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (9, 9)]


def test_keys_may_have_other_names_in_other_streams(spark: SparkSession) -> None:
    orders = plain(spark, row(1, 0, 10), row(2, 0, 20)).withColumnRenamed("k", "id")
    payments = plain(spark, row(1, 1, 11), row(2, 1, 22)).withColumnRenamed("k", "order id")
    joined = wm.join(
        wm.stream("orders", orders, time="ts", window="5 seconds"),
        wm.stream("payments", payments, time="ts", window="5 seconds"),
        on={"orders": "id", "payments": "order id"},
    ).to_dataframe()
    assert joined.columns == ["orders", "payments", "result_time"]
    rows = joined.select("orders.value", "payments.value", "payments.`order id`").collect()
    assert sorted(map(tuple, rows)) == [(10, 11, 1), (20, 22, 2)]
    both = {"orders": ["id", "value"], "payments": ["order id", "value"]}
    no_rows = wm.join(
        wm.stream("orders", orders, time="ts", window="5 seconds"),
        wm.stream("payments", payments, time="ts", window="5 seconds"),
        on=both,
    ).to_dataframe()
    assert no_rows.collect() == []


def test_select_keeps_what_is_asked_for(spark: SparkSession) -> None:
    """A name that two streams share is told apart by the stream's name."""
    a = wm.stream("a", plain(spark, row(1, 0, 10), row(1, 0, 11)), time="ts", window="5 seconds")
    b = wm.stream("b", plain(spark, row(1, 1, 20)), time="ts", window="5 seconds")
    cases: list[tuple[list[str], list[str], list[tuple[Any, ...]]]] = [
        (["a.value"], ["value", "result_time"], [(10,), (11,)]),
        (["b.value", "a.value"], ["b_value", "a_value", "result_time"], [(20, 10), (20, 11)]),
        (["b.*", "a.value"], ["k", "ts", "b_value", "a_value", "result_time"], []),
    ]
    for select, columns, values in cases:
        results = wm.join(a, b, on="k", select=select).to_dataframe()
        assert results.columns == columns
        rows = results.collect()
        assert len(rows) == 2
        assert {r.result_time.astimezone(dt.UTC) for r in rows} == {instant(1)}
        assert not values or sorted(tuple(r)[:-1] for r in rows) == values


def test_select_may_keep_nothing_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Its rows still count, and its state holds key and time only."""
    story = Story(spark, tmp_path, select=["b.value"])
    story.batch([row(1, 0, 10), row(1, 0, 11)], [])
    story.batch([row(2, 0, 12)], [row(1, 1, 20)])
    _, rows = to_memory(story.join.to_dataframe())
    assert [r.value for r in rows.collect()] == [20, 20]


def test_metrics_tell_what_happened_to_every_row(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(spark, tmp_path)
    far = (dt.datetime.now(dt.UTC) + dt.timedelta(days=10)).timestamp() - START / SECOND
    story.batch(
        # A good row, a null key, a null time, a time far ahead of the clock, and two of these at once.
        [row(1, 0), row(None, 1), row(1, None), row(1, far), row(None, None)],
        [row(1, 5), row(1, far)],
    )
    # Had the times far ahead counted, all of these would be late.
    story.batch([row(1, 20)], [row(1, 21), row(1, 6), row(9, -10)])
    story.batch([row(5, 40)], [])
    query, rows = to_memory(story.join.to_dataframe())
    pairs = sorted((r.a.ts.timestamp(), r.b.ts.timestamp()) for r in rows.collect())
    start = START / SECOND
    assert pairs == [(start, start + 5), (start, start + 6), (start + 20, start + 21)]

    first, second, third = [wm.metrics(progress)[0] for progress in query.recentProgress[:3]]
    a, b = first.streams["a"], first.streams["b"]
    assert (a.rows, a.null_keys, a.null_times, a.future_times, a.late, a.live) == (5, 1, 2, 1, 0, 1)
    assert (b.rows, b.null_keys, b.null_times, b.future_times, b.late, b.live) == (2, 0, 0, 1, 0, 1)
    assert (first.batch, first.results, first.watermark_held_by) == (0, 1, "a")
    assert first.rows_examined >= first.results
    assert first.kernel_ms > 0
    assert b.newest == instant(5)
    assert b.behind is None, "there is no watermark yet"

    # The watermark stands two seconds and a millisecond behind the newest row of a.
    a, b = second.streams["a"], second.streams["b"]
    assert (a.rows, a.late, a.live) == (1, 0, 2)
    assert (b.rows, b.late, b.live) == (3, 1, 3)
    assert (second.results, second.watermark_held_by) == (2, "a")
    assert (a.behind, b.behind) == (dt.timedelta(seconds=21.001), dt.timedelta(seconds=22.001))

    # Now at 17.999: the rows of 0, 5 and 6 seconds leave, though nobody of their key has arrived.
    a, b = third.streams["a"], third.streams["b"]
    assert (a.rows, a.live) == (1, 2)
    assert (b.rows, b.live) == (0, 1)
    assert (third.results, third.watermark_held_by) == (0, "b")
    assert a.newest == instant(40)
    assert a.state_bytes > 0


def test_times_before_1970_are_late_from_the_first_batch_on(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's watermark starts at zero, and a result at or before it would end the query for good."""
    story = Story(spark, tmp_path)
    zero = -START / SECOND
    story.batch([row(1, zero), row(1, 0)], [row(1, zero), row(1, zero - 5), row(1, 1)])
    query, rows = to_memory(story.join.to_dataframe())
    assert [r.b.ts.timestamp() for r in rows.collect()] == [START / SECOND + 1]
    first = wm.metrics(query.recentProgress[0])[0]
    assert [stream.late for stream in first.streams.values()] == [1, 2]


def test_a_stream_without_rows_holds_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(spark, tmp_path)
    story.batch([row(1, 0)], [])
    story.batch([row(1, 1000)], [])
    query, rows = to_memory(story.join.to_dataframe())
    reports = [wm.metrics(progress)[0] for progress in query.recentProgress]
    assert [report.watermark_held_by for report in reports][:2] == ["b", "b"]
    assert reports[1].streams["a"].live == 2
    assert rows.count() == 0


def test_the_newest_time_is_the_one_the_watermark_follows(spark: SparkSession, tmp_path: Path) -> None:
    """A row without a key cannot join, but Spark's watermark counts it, and the report must agree."""
    story = Story(spark, tmp_path)
    story.batch([row(1, 0), row(None, 50)], [row(1, 0)])
    query, _ = to_memory(story.join.to_dataframe())
    report = wm.metrics(query.recentProgress[0])[0]
    assert report.streams["a"].newest == instant(50)
    assert report.watermark_held_by == "b"


def test_expired_state_leaves_when_no_more_rows_come(spark: SparkSession, tmp_path: Path) -> None:
    """The second batch moves the watermark; the batch without rows that follows lets go of the first."""
    story = Story(spark, tmp_path, buckets=1)
    story.batch([row(1, 0), row(2, 1)], [row(3, 2)])
    story.batch([row(4, 100)], [row(5, 100)])
    query = start_sink(story.join.to_dataframe(), tmp_path)
    query.processAllAvailable()
    deadline = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)
    while query.lastProgress.batchId < 2 and dt.datetime.now(dt.UTC) < deadline:
        query.processAllAvailable()
    report = wm.metrics(query.lastProgress)[0]
    query.stop()
    assert report.batch >= 2
    assert (report.streams["a"].rows, report.streams["b"].rows) == (0, 0)
    assert (report.streams["a"].live, report.streams["b"].live) == (1, 1)


def test_a_time_far_ahead_is_trusted_when_asked(spark: SparkSession) -> None:
    ahead = 400 * 365 * 86400
    df = plain(spark, row(1, ahead, 1))
    for limit, count in ((None, 1), ("1 day", 0)):
        one = wm.stream("one", df, time="ts", window="5 seconds", max_future=limit)
        two = wm.stream("two", df, time="ts", window="5 seconds", max_future=limit)
        assert wm.join(one, two, on="k").to_dataframe().count() == count


def test_columns_added_at_the_end_read_as_null_in_rows_stored_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    more = pa.schema([*ARROW, ("note", pa.string()), ("tags", pa.list_(pa.int32()))])
    schema = SCHEMA + ", note string, tags array<int>"

    def run(folder: Path, schema: str, arrow: pa.Schema) -> tuple[Feed, Feed, wm.Query]:
        a, b = Feed(folder / "a", schema, arrow), Feed(folder / "b", SCHEMA, ARROW)
        streams = [
            wm.stream(name, feed.stream(spark), time="ts", window="10 seconds")
            for name, feed in (("a", a), ("b", b))
        ]
        return a, b, wm.join(*streams, on="k")

    a, b, before = run(tmp_path, SCHEMA, ARROW)
    a.add([row(1, 0, 10)])
    b.add([row(1, 0, 20)])
    to_sink(before.to_dataframe(), tmp_path)
    a, b, after = run(tmp_path, schema, more)
    # Small runs are merged, old rows with new ones.
    for i in range(1, 5):
        a.add([row(1, i, 10 + i) | {"note": f"n{i}", "tags": [i, None]}])
        b.add([row(1, i, 20 + i)])
    to_sink(after.to_dataframe(), tmp_path)
    rows = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "out"))
    found = {(r.a.value, r.b.value): (r.a.note, r.a.tags) for r in rows.collect()}
    assert len(found) == 25
    assert all(
        extra == ((None, None) if old == 10 else (f"n{old - 10}", [old - 10, None]))
        for (old, _), extra in found.items()
    )


def test_one_query_may_hold_several_joins(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(spark, tmp_path)
    story.batch([row(1, 0, 10)], [row(1, 1, 20)])
    story.batch([row(1, 2, 11)], [row(1, 3, 21)])
    by_key = wm.join(story.a, story.b, on="k", select=["a.value", "b.value"]).to_dataframe()
    by_value = wm.join(story.a, story.b, on="value", select=["a.value", "b.value"]).to_dataframe()
    query, rows = to_memory(by_key.unionAll(by_value))
    assert sorted((r.a_value, r.b_value) for r in rows.collect()) == [(10, 20), (10, 21), (11, 20), (11, 21)]
    assert [len(wm.metrics(progress)) for progress in query.recentProgress[:2]] == [2, 2]


def test_the_metrics_of_joins_come_in_the_order_the_joins_were_made() -> None:
    """As text, "10" would come before "9"."""
    # The year 30000, which Spark has and Python has not.
    numbers = dict.fromkeys(metric_names(2, 0)) | {"newest_us_0": 28_000 * 365 * 86400 * SECOND, "holder": 0}
    said = {"reports": [list(numbers.values())], "buckets": 1, "streams": ["a", "b"], "functions": None}
    report = {"join": said}
    observed = {f"watersmeet {number}: a, b": report for number in (10, 9, 1)}
    progress = SimpleNamespace(batchId=7, observedMetrics=observed | {"somebody else's": {}})
    found = wm.metrics(progress)
    assert [batch.name for batch in found] == [f"watersmeet {number}: a, b" for number in (1, 9, 10)]
    assert {batch.batch for batch in found} == {7}
    assert found[0].streams["a"].newest is None
    assert found[0].watermark_held_by == "a"


def test_metrics_are_read_from_a_progress_and_there_are_none_before_the_first() -> None:
    assert wm.metrics(None) == []
    for other in ([], {}, "a query", SimpleNamespace(lastProgress=None)):
        with pytest.raises(InvalidProgress, match=f"this is a {type(other).__name__}"):
            wm.metrics(other)


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "plain"])
def test_no_rows_at_all_give_no_results(spark: SparkSession, tmp_path: Path, *, streaming: bool) -> None:
    story = Story(spark, tmp_path)
    story.batch([], [])
    if streaming:
        assert to_memory(story.join.to_dataframe())[1].count() == 0
        return
    streams = [wm.stream(name, plain(spark), time="ts", window="1 second") for name in ("a", "b", "c")]
    assert wm.join(*streams, on="k").to_dataframe().count() == 0


def test_results_reach_the_sink_with_their_types(spark: SparkSession, tmp_path: Path) -> None:
    """One struct per stream with the columns it had, then the time."""
    story = Story(spark, tmp_path)
    results = story.join.to_dataframe()
    struct = "struct<k:bigint,ts:timestamp,value:bigint>"
    assert results.schema.simpleString() == f"struct<a:{struct},b:{struct},result_time:timestamp>"
    assert results.isStreaming
    story.batch([row(1, 0, 10)], [row(1, 1, 20)])
    to_sink(results, tmp_path)
    (stored,) = sink_rows(spark, tmp_path).collect()
    assert (stored.a.k, stored.a.value, stored.b.value) == (1, 10, 20)
    assert stored.result_time.astimezone(dt.UTC) == instant(1)
