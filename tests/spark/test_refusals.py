"""What only shows on Spark: settings, mixed inputs, workers without the package, others' checkpoints.

Would catch: a query that starts though it would lose rows, an error that reaches the user as a stack trace
without a hint, state of one query read by another, a refused start that spoils the checkpoint.
"""

import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows, to_sink
from oracles.reference import assert_same_rows
from watersmeet.errors import InvalidQuery, InvalidSettings, InvalidStream


def rates(spark: SparkSession) -> DataFrame:
    """A stream that is never started."""
    return spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")


def plain(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT 1L AS value, TIMESTAMP'2026-01-01 00:00:00' AS ts")


def stream(name: str, df: DataFrame, **options: Any) -> Any:
    return wm.stream(name, df, **{"time": "ts", "window": "1 minute"} | options)


def test_streaming_and_plain_inputs_do_not_mix(spark: SparkSession) -> None:
    query = wm.join(stream("a", rates(spark)), stream("b", plain(spark)), on="value")
    with pytest.raises(InvalidQuery) as caught:
        query.to_dataframe()
    assert caught.value.fact == "streaming and plain DataFrames cannot be mixed in one join"
    assert caught.value.detail == "a is streaming, b is plain."
    assert "readStream" in caught.value.hint


def test_an_input_with_a_watermark_of_its_own_is_refused(spark: SparkSession) -> None:
    """Spark would start such a query and fail in its second batch."""
    marked = rates(spark).withWatermark("ts", "5 seconds")
    joined = wm.join(stream("a", rates(spark)), stream("b", rates(spark)), on="value").to_dataframe()
    again = joined.selectExpr("a.value AS value", "result_time AS ts")
    for df in (marked, again):
        query = wm.join(stream("marked", df), stream("other", rates(spark)), on="value")
        with pytest.raises(InvalidStream) as caught:
            query.to_dataframe()
        assert caught.value.fact == 'stream "marked" already has a watermark'
        assert "column ts" in caught.value.detail
        assert "lateness=" in caught.value.hint


@pytest.mark.parametrize(
    ("setting", "value", "fact", "detail"),
    [
        (
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
            "the configured state store cannot hold the join's state",
            "HDFSBackedStateStoreProvider",
        ),
        (
            "spark.sql.streaming.multipleWatermarkPolicy",
            "max",
            "spark.sql.streaming.multipleWatermarkPolicy is max",
            "expire rows",
        ),
    ],
)
def test_settings_that_would_lose_rows(
    spark: SparkSession, setting: str, value: str, fact: str, detail: str
) -> None:
    query = wm.join(stream("a", rates(spark)), stream("b", rates(spark)), on="value")
    before = spark.conf.get(setting)
    spark.conf.set(setting, value)
    try:
        with pytest.raises(InvalidSettings) as caught:
            query.to_dataframe()
    finally:
        spark.conf.set(setting, before)
    assert caught.value.fact == fact
    assert detail in caught.value.detail
    assert f'spark.conf.set("{setting}"' in caught.value.hint


def test_a_setting_under_which_spark_refuses_our_texts(spark: SparkSession) -> None:
    setting = "spark.sql.execution.arrow.useLargeVarTypes"
    query = wm.join(stream("a", plain(spark)), stream("b", plain(spark)), on="value")
    spark.conf.set(setting, "true")
    try:
        with pytest.raises(InvalidSettings) as caught:
            query.to_dataframe()
    finally:
        spark.conf.unset(setting)
    assert caught.value.fact == f"{setting} is true"
    assert f'spark.conf.set("{setting}", "false")' in caught.value.hint


def test_what_is_not_a_dataframe_is_not_a_stream() -> None:
    with pytest.raises(InvalidStream) as caught:
        stream("a", [1, 2])
    assert caught.value.fact == 'stream "a" is not a DataFrame'
    assert "list" in caught.value.detail


def test_a_column_that_appears_twice_is_ambiguous(spark: SparkSession) -> None:
    twice = spark.sql("SELECT 1 AS x, 2 AS x, TIMESTAMP'2026-01-01 00:00:00' AS ts")
    with pytest.raises(InvalidStream) as caught:
        stream("a", twice)
    assert caught.value.fact == 'column "x" of stream "a" is ambiguous'


def test_a_window_that_is_not_a_duration(spark: SparkSession) -> None:
    with pytest.raises(InvalidStream) as caught:
        stream("a", plain(spark), window="ten minutes")
    assert caught.value.fact == 'window of stream "a" is not a duration'
    assert "ten minutes" in caught.value.detail
    assert "10 minutes" in caught.value.hint


def test_time_that_is_text_is_refused_with_the_way_to_convert_it(spark: SparkSession) -> None:
    text = plain(spark).withColumn("ts", F.col("ts").cast("string"))
    with pytest.raises(InvalidStream) as caught:
        stream("a", text)
    assert caught.value.fact == 'time column "ts" of stream "a" is not a timestamp'
    assert "to_timestamp" in caught.value.hint


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("map('a', 1)", "map"),
        ("array(map('a', 1))", "map"),
        ("struct(1, parse_json('1'))", "variant"),
        ("'a' COLLATE UTF8_LCASE", "collation"),
        ("array('a' COLLATE UTF8_LCASE)", "collation"),
    ],
)
def test_keys_that_cannot_be_compared(spark: SparkSession, key: str, reason: str) -> None:
    df = spark.sql(f"SELECT {key} AS k, TIMESTAMP'2026-01-01 00:00:00' AS ts")
    with pytest.raises(InvalidQuery) as caught:
        wm.join(stream("a", df), stream("b", df), on="k")
    assert caught.value.fact == 'key column "a.k" cannot be compared'
    assert dict(df.dtypes)["k"] in caught.value.detail
    assert reason in caught.value.detail


def test_keys_are_judged_by_their_types_not_by_the_names_in_them(spark: SparkSession) -> None:
    key = "named_struct('map', 1, 'variant', 'x', 'mapped', 2)"
    df = spark.sql(f"SELECT {key} AS k, TIMESTAMP'2026-01-01 00:00:00' AS ts")
    assert wm.join(stream("a", df), stream("b", df), on="k").to_dataframe().count() == 1


def test_a_key_that_has_a_value_where_its_stream_is_missing(spark: SparkSession) -> None:
    """It would be computed before the join, from rows that are not there."""
    df = spark.sql("SELECT 1 AS k, TIMESTAMP'2026-01-01 00:00:00' AS ts")
    on = ["a.k = b.k", "coalesce(b.k, 0) = c.k"]
    with pytest.raises(InvalidQuery) as caught:
        wm.join(stream("a", df), wm.optional(stream("b", df)), wm.optional(stream("c", df)), on=on)
    assert caught.value.fact == '"coalesce(b.k, 0) = c.k" cannot decide which rows have partners'
    assert (
        len(wm.join(stream("a", df), stream("b", df), wm.optional(stream("c", df)), on=on).query.names) == 3
    )


def changed(scenario: Scenario, spark: SparkSession, change: str) -> DataFrame:
    """The scenario's query with something changed that its state depends on."""
    frames = [feed.stream(spark) for feed in scenario.feeds]
    if change == "column":
        frames[0] = frames[0].withColumn("value", F.col("value").cast("string"))
    streams = [
        wm.stream(f"s{i}", frame, time="ts", window=f"{window} us", lateness=f"{late} us")
        for i, (frame, window, late) in enumerate(
            zip(frames, scenario.windows, scenario.lateness, strict=True)
        )
    ]
    if change == "kind":
        # Optional streams come after the others: Spark's sources must keep their order.
        streams[0] = wm.optional(streams[0])
    return wm.join(*streams, on=["h", "k"], buckets=3 if change == "buckets" else 2).to_dataframe()


# What is stored, and where; the tests of the identity have every other change.
CHANGES = {
    "column": "and are now h int, k string, ts timestamp, value string",
    "kind": "the join was of kind inner and is now of kind outer with s0 optional",
    "buckets": "the number of buckets was 2 and is now 3",
}


def test_the_checkpoint_of_another_query_is_refused_and_stays_good(
    spark: SparkSession, tmp_path: Path
) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed()
    to_sink(changed(scenario, spark, "nothing"), tmp_path)
    scenario.feed(2)
    for change, reason in CHANGES.items():
        with pytest.raises(StreamingQueryException) as caught:
            to_sink(changed(scenario, spark, change), tmp_path)
        text = str(caught.value)
        assert "the checkpoint was written by a different query" in text, change
        assert reason in text, change
        assert "hint: start with a new checkpoint location, or restore the query as it was." in text
    to_sink(changed(scenario, spark, "nothing"), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


def test_what_may_change_between_two_starts(spark: SparkSession, tmp_path: Path) -> None:
    """Lateness is no part of the state."""
    scenario = Scenario(tmp_path)
    scenario.feed()
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    scenario.feed(2)
    scenario.lateness = [late + 5_000_000 for late in scenario.lateness]
    to_sink(scenario.query(spark, buckets=2).to_dataframe(), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


def python_without_the_package(folder: Path) -> Path:
    """An interpreter with every package of this one but ours, as on a node where it was not installed."""
    packages = folder / "packages"
    packages.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(place).iterdir():
            target = packages / entry.name
            if "watersmeet" not in entry.name and entry.suffix != ".pth" and not target.exists():
                target.symlink_to(entry)
    python = folder / "python"
    # -S: no site-packages; the folder of links takes their place.
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


def test_workers_without_the_package_are_told_what_to_do(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Spark's own daemon: ours is part of the package and cannot even start."""
    scenario = Scenario(tmp_path)
    scenario.feed(1)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python_without_the_package(tmp_path)))
    # Read whenever a daemon starts, though a session has no way to change it; a Spark of its own for this
    # test would take half a minute.
    settings = spark.sparkContext._jsc.sc().conf()
    daemon = "spark.python.daemon.module"
    ours = settings.get(daemon)
    settings.set(daemon, "pyspark.daemon")
    try:
        with pytest.raises(StreamingQueryException) as caught:
            to_sink(scenario.query(spark).to_dataframe(), tmp_path)
    finally:
        settings.set(daemon, ours)
    text = str(caught.value)
    assert "a Python worker cannot import watersmeet" in text
    assert "set the environment variable PYSPARK_PYTHON" in text
    assert sys.executable in text
