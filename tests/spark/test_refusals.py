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
from harness import programs
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


def test_keys_under_a_collation_are_refused(spark: SparkSession) -> None:
    df = spark.sql("SELECT 'a' COLLATE UTF8_LCASE AS k, TIMESTAMP'2026-01-01 00:00:00' AS ts")
    with pytest.raises(InvalidQuery) as caught:
        wm.join(stream("a", df), stream("b", df), on="k")
    assert caught.value.fact == 'key column "a.k" has a collation'
    assert "string collate UTF8_LCASE" in caught.value.detail
    assert "lower" in caught.value.hint


class Changed(Scenario):
    """The scenario's query with something changed that its state depends on."""

    def join(self, spark: SparkSession, change: str) -> wm.Query:
        names = ["s0", "s1", "renamed" if change == "name" else "s2"]
        windows = [*self.windows[:2], self.windows[2] + (change == "window")]
        frames = [feed.stream(spark) for feed in self.feeds]
        if change == "column removed":
            frames[0] = frames[0].drop("value")
        if change == "column of another type":
            frames[0] = frames[0].withColumn("value", F.col("value").cast("string"))
        if change == "column in front":
            frames[0] = frames[0].select(F.lit(1).alias("first"), "*")
        if change == "key of another type":
            frames = [frame.withColumn("h", F.col("h").cast("bigint")) for frame in frames]
        if change == "other time":
            frames[0] = frames[0].withColumnRenamed("ts", "moment")
        streams = [
            wm.stream(
                name,
                frame,
                time="moment" if change == "other time" and name == "s0" else "ts",
                window=f"{window} us",
                lateness=f"{late} us",
            )
            for name, frame, window, late in zip(names, frames, windows, self.lateness, strict=True)
        ]
        key = "h" if change == "key" else ["h", "k"]
        return wm.join(*streams, on=key, buckets=3 if change == "buckets" else 2)


CHANGES = {
    "name": "the streams were s0, s1, s2 and are now s0, s1, renamed",
    "window": 'the window of stream "s2" was 10000000 us and is now 10000001 us',
    "key": 'the key of stream "s0" was h int, k string and is now h int',
    "key of another type": 'the key of stream "s0" was h int, k string and is now h bigint, k string',
    "buckets": "the number of buckets was 2 and is now 3",
    "column removed": 'the stored columns of stream "s0" were h int, k string, ts timestamp, value bigint',
    "column of another type": "and are now h int, k string, ts timestamp, value string",
    "column in front": "and are now first int, h int, k string, ts timestamp, value bigint",
    "other time": 'the time column of stream "s0" was ts and is now moment',
}


def test_the_checkpoint_of_another_query_is_refused_and_stays_good(
    spark: SparkSession, tmp_path: Path
) -> None:
    scenario = Changed(tmp_path)
    scenario.feed(2)
    to_sink(scenario.join(spark, "nothing").to_dataframe(), tmp_path)
    scenario.feed(2)
    for change, reason in CHANGES.items():
        with pytest.raises(StreamingQueryException) as caught:
            to_sink(scenario.join(spark, change).to_dataframe(), tmp_path)
        text = str(caught.value)
        assert "the checkpoint was written by a different query" in text, change
        assert reason in text, change
        assert "hint: start with a new checkpoint location, or restore the query as it was." in text
    to_sink(scenario.join(spark, "nothing").to_dataframe(), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())


def test_what_may_change_between_two_starts(spark: SparkSession, tmp_path: Path) -> None:
    """Lateness and the order of rows in time are no part of the state."""
    scenario = Scenario(tmp_path)
    scenario.feed(2)
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


@pytest.mark.slow
@pytest.mark.parametrize("daemon", ["watersmeet.spark.daemon", "pyspark.daemon"])
def test_workers_without_the_package_are_told_what_to_do(tmp_path: Path, daemon: str) -> None:
    """With the recommended settings, and with Spark's own daemon."""
    scenario = Scenario(tmp_path)
    scenario.feed(1)
    python = python_without_the_package(tmp_path)
    log = tmp_path / "application.log"
    with pytest.raises(AssertionError):
        programs.run(
            "harness.application",
            tmp_path,
            "8,5,10",
            "2,0,3",
            "local[1]",
            f"spark.python.daemon.module={daemon}",
            log=log,
            PYSPARK_PYTHON=str(python),
        )
    output = log.read_text()
    assert "a Python worker cannot import watersmeet" in output
    assert "set the environment variable PYSPARK_PYTHON" in output
    assert sys.executable in output
