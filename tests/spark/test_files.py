"""Files that the workers open themselves: the same rows as Spark reads, wherever a query needs no more.

Would catch: a column found under another name, a type read as another, a missing column that is no null, old
timestamps shifted by a time zone, times far ahead that are believed, files read twice or never after a
restart.
"""

import datetime as dt
import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows, to_memory, to_sink
from oracles.reference import assert_same_rows
from watersmeet.spark.endpoints import InvalidEndpoint
from watersmeet.spark.files import source_of

START = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
SCHEMA = (
    "k INT, ts TIMESTAMP, b BYTE, s SHORT, n BIGINT, f FLOAT, d DOUBLE, t STRING, raw BINARY, yes BOOLEAN, "
    "day DATE, price DECIMAL(20, 4)"
)


def joined(left: DataFrame, right: DataFrame, **settings: Any) -> Any:
    streams = [wm.stream(name, df, time="ts", window="1 hour") for name, df in (("a", left), ("b", right))]
    return wm.join(*streams, **({"on": "k", "buckets": 2} | settings))


def rows(
    spark: SparkSession, folder: Path, schema: str, **settings: Any
) -> tuple[list[bool], list[Any], list[Any]]:
    """Of which streams the workers opened the files; what came; and what comes when Spark reads them."""
    by_spark = spark.readStream.schema(schema).parquet(str(folder))
    found, opened = [], []
    for source in (lambda: wm.files(spark, str(folder), schema=schema), lambda: by_spark):
        query, memory = to_memory(joined(source(), source(), **settings).to_dataframe())
        batch = next(one for one in query.recentProgress if one.numInputRows)
        # Java sees a row of each file, or all of them.
        files = len(list(folder.glob("*.parquet")))
        opened.append([one.numInputRows == files for one in batch.sources])
        found.append(sorted(memory.drop("result_time").collect(), key=str))
    assert not any(opened[1])
    return opened[0], found[0], found[1]


def test_every_type_is_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    """Written by Spark, whose timestamps are of the old kind, and by Arrow, in wider and narrower types."""
    values = """SELECT id AS k, timestamp_seconds(1777636800 + id * 60 + 0.000001) AS ts,
        CAST(id AS BYTE) AS b, CAST(id AS SHORT) AS s, id * 5000000000 AS n,
        CAST(id / 3 AS FLOAT) AS f, id / 3D AS d,
        IF(id = 3, NULL, concat('ä', id)) AS t, CAST(concat('x', id) AS BINARY) AS raw, id % 2 = 0 AS yes,
        date_add(DATE '2026-05-01', CAST(id AS INT)) AS day, CAST(id / 7 AS DECIMAL(20, 4)) AS price
        FROM (SELECT CAST(id AS INT) AS id FROM range(8))"""
    spark.sql(values).coalesce(1).write.parquet(str(tmp_path / "files"))
    table = pa.table(
        {
            "K": pa.array([1, 2], pa.int8()),
            "ts": pa.array([START, START], pa.timestamp("ms", tz="Europe/Berlin")),
            "n": pa.array([7, None], pa.int32()),
            "t": pa.array(["x", "x"]).dictionary_encode(),
            "d": pa.array([0.5, None], pa.float32()),
            "price": pa.array([Decimal("1.2345"), None], pa.decimal128(20, 4)),
            "more": pa.array([1, 2]),
        }
    )
    pq.write_table(table, tmp_path / "files" / "other.parquet")
    table = pa.table(
        {
            "k": pa.array([1, 2], pa.int32()),
            "ts": pa.array([START.replace(tzinfo=None)] * 2, pa.timestamp("us")),
            "n": pa.array([7, 1 << 31], pa.uint32()),
            "d": pa.array([5, None], pa.int32()),
            "t": pa.array(["ä", None], pa.string_view()),
            "raw": pa.array([b"y", None], pa.binary_view()),
            "price": pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)),
        }
    )
    pq.write_table(table, tmp_path / "files" / "third.parquet")
    table = pa.table(
        {
            "k": pa.array([1, 2], pa.int32()),
            "ts": pa.array([START] * 2, pa.timestamp("us", tz="UTC")),
            "t": pa.array(["ö".encode(), None], pa.binary()),
            "raw": pa.array(["ü", None]),
        }
    )
    pq.write_table(table, tmp_path / "files" / "fourth.parquet")
    opened, ours, theirs = rows(spark, tmp_path / "files", SCHEMA)
    assert opened == [True, True]
    assert ours == theirs
    assert len(ours) > 10


def test_types_that_spark_does_not_know_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """Bytes of one length, texts of JSON, and a column in which pandas has found no value."""
    (tmp_path / "files").mkdir()
    table = pa.table(
        {
            "k": pa.array([1, 2], pa.int32()),
            "ts": pa.array([START] * 2, pa.timestamp("us", tz="UTC")),
            "n": pa.nulls(2),
            "raw": pa.array([b"ab", None], pa.binary(2)),
            "t": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None])),
        }
    )
    pq.write_table(table, tmp_path / "files" / "one.parquet")
    opened, ours, theirs = rows(spark, tmp_path / "files", SCHEMA)
    assert opened == [True, True]
    assert ours == theirs
    assert [row.a.t for row in ours] == ['{"a": 1}', None]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"select": ["a.t", "b.k"]}, [True, True], id="some columns"),
        pytest.param({"on": ["a.k = b.k", "a.ts <= b.ts"]}, [True, True], id="a condition between streams"),
        pytest.param({"on": ["a.k = b.k", "a.k > 1", "b.k < 4 OR b.t = 'x'"]}, [True, True], id="filters"),
        pytest.param(
            {"on": ["a.k = b.k", "a.t <> 'x1'", "a.k <> 2"], "select": ["a.k", "b.ts"]},
            [True, True],
            id="a filter on a column that nobody else needs",
        ),
        pytest.param(
            {"on": ["a.k = b.k", "a.k > 1", "soundex(a.t) <> 'X'"]},
            [False, True],
            id="a filter that only Spark can judge",
        ),
        pytest.param({"on": ["a.k + 1 = b.k"]}, [True, True], id="a key that is an expression"),
        pytest.param({"on": ["a.i = b.k"]}, [True, True], id="keys of two types"),
        pytest.param({"on": ["a.i * 2 = b.d"]}, [True, True], id="an expression of another type"),
        pytest.param({"on": ["a.ts + INTERVAL 1 SECOND = b.ts"]}, [True, True], id="a key that is a time"),
        pytest.param(
            {"on": ["12 / a.i = b.d + 1", "a.i <> 0"]}, [True, True], id="a filter keeps zeros from a key"
        ),
        pytest.param(
            {"on": ["a.k = b.k", "(true OR a.k > 1) = (b.k >= 0)"]}, [True, True], id="a key that is known"
        ),
        pytest.param({"on": ["a.k = b.k", "a.i / 3.0 = 0.333333"]}, [False, True], id="a decimal"),
        pytest.param({"on": ["upper(a.t) = b.u"]}, [False, True], id="a key that only Spark can compute"),
    ],
)
def test_what_spark_has_to_do_is_left_to_it(
    spark: SparkSession, tmp_path: Path, settings: Mapping[str, Any], expected: list[bool]
) -> None:
    spark.sql(
        """SELECT id AS k, timestamp_seconds(1777636800 + id) AS ts, concat('x', id) AS t,
        IF(id = 5, NULL, CAST(id AS INT)) AS i, CAST(id AS DOUBLE) AS d, concat('X', id) AS u FROM range(6)"""
    ).write.parquet(str(tmp_path / "files"))
    schema = "k BIGINT, ts TIMESTAMP, t STRING, i INT, d DOUBLE, u STRING"
    opened, ours, theirs = rows(spark, tmp_path / "files", schema, **settings)
    assert opened == expected
    assert ours == theirs
    assert ours


def test_rows_that_a_filter_keeps_out_move_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    """Nulls are kept out, and a filter may mention a column that some files lack."""
    instants = [START + dt.timedelta(hours=hours) for hours in (0, 5, 0, 9)]
    columns = {"k": [1, 1, 1, 1], "ts": instants, "n": [5, 1, 6, None]}
    for number, (k, ts, n) in enumerate(zip(*columns.values(), strict=True)):
        table = {"k": pa.array([k], pa.int64()), "ts": pa.array([ts], pa.timestamp("us", tz="UTC"))}
        table |= {} if n is None else {"n": pa.array([n], pa.int64())}
        (tmp_path / "files").mkdir(exist_ok=True)
        pq.write_table(pa.table(table), tmp_path / "files" / f"{number}.parquet")
        os.utime(tmp_path / "files" / f"{number}.parquet", (1e9 + number, 1e9 + number))
    schema, once = "k BIGINT, ts TIMESTAMP, n BIGINT", {"maxFilesPerTrigger": "1"}
    found = []
    for opened in (True, False):
        df = wm.files(spark, tmp_path / "files", schema=schema, options=once)
        df = df if opened else df.select("*")
        assert (source_of(df) is not None) == opened
        query, memory = to_memory(joined(df, df, on=["a.k = b.k", "a.n > 4", "b.n > 4"]).to_dataframe())
        batches = [wm.metrics(one)[0] for one in query.recentProgress]
        late = [batch.streams["a"].late for batch in batches]
        found.append((sorted(memory.collect()), late, [one.eventTime for one in query.recentProgress]))
    assert found[0] == found[1]
    results, late, _ = found[0]
    assert (len(results), sum(one or 0 for one in late)) == (1, 1)


def test_options_and_folders_in_the_ways_python_has_them(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 1 AS k, timestamp_seconds(1777636800) AS ts").write.parquet(str(tmp_path / "files"))
    options = {"maxFilesPerTrigger": None, "latestFirst": True}
    df = wm.files(spark, tmp_path / "files", schema="k INT, ts TIMESTAMP", options=options)
    source = source_of(df)
    assert source is not None
    assert source.options == {"latestFirst": "true"}
    assert to_memory(joined(df, df).to_dataframe())[1].count() == 1


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("k INTT, ts", r"detail: \[PARSE_SYNTAX_ERROR\] Syntax error"),
        ("k INT, ts TIMESTAMP, c CHAR(5)", r"detail: \[UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING\] The char"),
    ],
)
def test_the_error_is_that_of_spark(spark: SparkSession, tmp_path: Path, schema: str, said: str) -> None:
    """And not the last line of its explanation."""
    with pytest.raises(InvalidEndpoint, match=said):
        wm.files(spark, tmp_path, schema=schema)


def test_whatever_is_done_to_it_before_is_sparks(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 1 AS k, timestamp_seconds(1777636800) AS ts").write.parquet(str(tmp_path / "files"))
    schema = "k INT, ts TIMESTAMP"
    df = wm.files(spark, str(tmp_path / "files"), schema=schema)
    assert source_of(df) is not None
    assert source_of(df.filter("k > 1")) is None
    assert source_of(wm.files(spark, str(tmp_path / "files"), schema="k ARRAY<INT>, ts TIMESTAMP")) is None
    (tmp_path / "days").mkdir()
    assert source_of(wm.files(spark, str(tmp_path / "days"), schema=schema)) is not None
    (tmp_path / "days" / "k=7").mkdir()
    for folder in ("days", "days/k=7", "*"):
        assert source_of(wm.files(spark, str(tmp_path / folder), schema=schema)) is None
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert source_of(wm.files(spark, str(tmp_path / "files"), schema=schema)) is None
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    for name, value in (
        ("int96TimestampConversion", "true"),
        ("int96RebaseModeInRead", "LEGACY"),
        ("datetimeRebaseModeInRead", "EXCEPTION"),
    ):
        spark.conf.set(f"spark.sql.parquet.{name}", value)
        try:
            assert source_of(wm.files(spark, str(tmp_path / "files"), schema=schema)) is None
        finally:
            spark.conf.unset(f"spark.sql.parquet.{name}")
    merged = wm.files(spark, str(tmp_path / "files"), schema=schema, options={"mergeSchema": True})
    assert source_of(merged) is None


def test_times_far_ahead_are_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    """And rows without a time, or a key, are counted, as from any source."""
    (tmp_path / "files").mkdir()
    ahead = dt.datetime.now(dt.UTC) + dt.timedelta(days=400)
    table = pa.table(
        {
            "k": pa.array([1, 2, 3, None], pa.int32()),
            "ts": pa.array([START, ahead, None, START], pa.timestamp("us", tz="UTC")),
        }
    )
    pq.write_table(table, tmp_path / "files" / "one.parquet")
    df = wm.files(spark, str(tmp_path / "files"), schema="k INT, ts TIMESTAMP")
    other = wm.files(spark, str(tmp_path / "files"), schema="k INT, ts TIMESTAMP")
    query, memory = to_memory(joined(df, other).to_dataframe())
    assert [row.a.k for row in memory.collect()] == [1]
    counts = wm.metrics(next(one for one in query.recentProgress if one.numInputRows))[0].streams
    for one in counts.values():
        assert (one.rows, one.null_times, one.future_times, one.null_keys) == (4, 1, 1, 1)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array(["1"]), "is string, and should be int32"),
        (pa.array([1 << 40]), "is int64, and should be int32"),
    ],
)
def test_other_types_are_named(spark: SparkSession, tmp_path: Path, column: pa.Array, said: str) -> None:
    (tmp_path / "files").mkdir()
    pq.write_table(
        pa.table({"k": column, "ts": pa.array([START], pa.timestamp("us", tz="UTC"))}),
        tmp_path / "files" / "one.parquet",
    )
    df = wm.files(spark, str(tmp_path / "files"), schema="k INT, ts TIMESTAMP")
    with pytest.raises(Exception, match=said):
        to_memory(joined(df, df).to_dataframe())


@pytest.mark.parametrize(("version", "int96"), [("2.4.8", False), ("3.0.3", True)])
def test_files_of_an_early_spark_are_not_guessed_at(
    spark: SparkSession, tmp_path: Path, version: str, int96: bool
) -> None:
    """Their old dates follow another calendar, and nothing in the file says so but the version."""
    (tmp_path / "files").mkdir()
    old = START.replace(year=1500)
    table = pa.table({"k": pa.array([1], pa.int32()), "ts": pa.array([old], pa.timestamp("us", tz="UTC"))})
    table = table.replace_schema_metadata({"org.apache.spark.version": version})
    path = tmp_path / "files" / "one.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=int96)
    assert spark.read.schema("ts TIMESTAMP").parquet(str(path)).first() != (old.replace(tzinfo=None),)
    df = wm.files(spark, str(tmp_path / "files"), schema="k INT, ts TIMESTAMP")
    with pytest.raises(Exception, match="has dates of an older calendar"):
        to_memory(joined(df, df).to_dataframe())


def test_a_file_that_is_none(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "one.parquet").write_bytes(b"nothing of the kind")
    df = wm.files(spark, str(tmp_path / "files"), schema="k INT, ts TIMESTAMP")
    with pytest.raises(Exception, match=r"one\.parquet cannot be read"):
        to_memory(joined(df, df).to_dataframe())


def test_a_restart_goes_on_with_the_next_file(spark: SparkSession, tmp_path: Path) -> None:
    """And a checkpoint of one way of reading goes on with the other."""
    scenario = Scenario(tmp_path, late_rows=True)
    for number in range(4):
        scenario.feed(1)
        to_sink(scenario.query(spark, opened=number % 2 == 1).to_dataframe(), tmp_path)
    assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
