"""Records that the workers decode, and those that Spark decodes, are the same rows.

Would catch: a record that Spark calls malformed and the workers join, or reads as another value; a time that
is believed on one way and not on the other.
"""

import datetime as dt
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.records import SCHEMA, random_records
from watersmeet.kernel.simple_records import simple_columns
from watersmeet.spark.kafka import _decoded
from watersmeet.spark.kafka_decoding import decoder
from watersmeet.spark.kafka_records import SIMPLE, RecordSource, is_simple, note_records, records_of

_numbers = count()


def test_spark_reads_simple_records_as_the_workers_do(spark: SparkSession) -> None:
    made = decoder("json", SCHEMA, {})
    assert made.simple is not None
    texts = random_records(2, 20_000)
    value, record = F.col("value"), F.col("record")
    frame = spark.createDataFrame(pa.table({"value": pa.array(texts, pa.binary())}))
    frame = frame.select(value, made.record(value).alias("record"))
    found = frame.filter(is_simple(value, made.simple)).select(
        value, record, made.malformed(value, record).alias("bad")
    )
    rows = found.toArrow()
    assert 3_000 < rows.num_rows < len(texts)
    assert rows["bad"].to_pylist() == [False] * rows.num_rows
    by_spark = rows["record"].combine_chunks()
    ours = simple_columns(rows["value"].combine_chunks(), made.simple)
    for place, field in enumerate(made.simple):
        theirs = by_spark.field(field.name)
        assert ours[place].cast(theirs.type).equals(theirs), field.name


def test_a_text_that_is_too_long_for_spark_is_not_simple(spark: SparkSession) -> None:
    made = decoder("json", "note STRING", {})
    value = F.concat(F.lit('{"note": "'), F.repeat(F.lit("x"), F.col("n")), F.lit('"}')).cast("binary")
    frame = spark.createDataFrame([(1000,), (20_000_001,)], "n INT").select("n", value.alias("value"))
    bad = made.malformed(F.col("value"), made.record(F.col("value")))
    found = frame.select("n", is_simple(F.col("value"), made.simple), bad).collect()
    assert [tuple(row) for row in found] == [(1000, True, False), (20_000_001, False, True)]


def records(spark: SparkSession, folder: Path, *, noted: bool) -> DataFrame:
    """What `wm.kafka` makes of records, which lie in files here."""
    schema = "value BINARY, key BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
    raw = spark.readStream.schema(schema).parquet(str(folder))
    made = decoder("json", "id BIGINT, ts TIMESTAMP, note STRING", {})
    assert made.simple is not None
    found = _decoded(raw, made)
    if noted:
        note_records(found, RecordSource(_decoded(raw, made, leave_simple=True), made.simple))
    return found


@pytest.mark.parametrize(
    ("time", "on", "left"),
    [
        ("ts", ["a.id = b.id"], True),
        ("kafka_time", ["a.id = b.id"], True),
        ("ts", ["a.id = b.id", "a.id > 1", "a.note <> 'o3'", "b.note <> '7' OR b.id < 5"], True),
        ("ts", ["a.id = b.id", "a.id > 1", "b.id < 5 OR b.kafka_offset > 3"], True),
        ("ts", ["a.id = b.id", "soundex(a.note) <> 'x'", "b.id + b.kafka_offset > 3"], False),
        ("ts", ["a.id % 5 + 1 = b.id", "a.id > 0"], True),
        ("ts", ["a.id = b.kafka_partition + 2"], True),
        ("ts", ["a.id = b.id - b.kafka_partition"], True),
        ("ts", ["abs(a.id) = length(b.note)"], False),
    ],
)
def test_a_join_of_both_kinds(
    spark: SparkSession, tmp_path: Path, time: str, on: list[str], *, left: bool
) -> None:
    """Simple ones, others, malformed ones, tombstones, and times that are null or far ahead."""
    now = dt.datetime.now(dt.UTC)
    texts = [f'{{"id": {n % 7}, "ts": "{now + dt.timedelta(seconds=n):%Y-%m-%dT%H:%M:%S}Z", "note": "{n}"}}'
             for n in range(40)]  # fmt: skip
    texts += [f'{{"note": "o{n}", "id": {n % 7}, "ts": "{now:%Y-%m-%dT%H:%M:%S}Z"}}' for n in range(9)]
    texts += [
        '{"id": 1, "ts": null, "note": "no time"}',
        '{"id": 1, "ts": "2999-01-01T00:00:00Z", "note": "x"}',
    ]
    texts += ['{"id": null, "ts": "2026-05-01T12:00:00Z", "note": "no key"}', '{"id": "1"}', "{"]
    values = [text.encode() for text in texts] + [None]
    n = len(values)
    stamps = pa.array([now] * (n - 1) + [now.replace(year=2999)], pa.timestamp("us", tz="UTC"))
    table = pa.table(
        {
            "value": pa.array(values, pa.binary()),
            "key": pa.array([b"k"] * n),
            "topic": ["t"] * n,
            "partition": pa.array([0] * n, pa.int32()),
            "offset": pa.array(range(n), pa.int64()),
            "timestamp": stamps,
        }
    )
    folder = tmp_path / "records"
    spark.createDataFrame(table).coalesce(1).write.parquet(str(folder))
    found = []
    for noted in (True, False):
        both = [records(spark, folder, noted=noted) for _ in range(2)]
        assert (records_of(both[0]) is not None) == noted
        streams = [
            wm.stream(name, df, time=time, window="1 hour") for name, df in zip("ab", both, strict=True)
        ]
        query = wm.join(*streams, on=on, buckets=2, select=["a.note", "b.note", "b.kafka_offset"])
        frame = query.to_dataframe()
        assert (SIMPLE in frame._jdf.queryExecution().analyzed().toString()) == (noted and left)
        name = f"simple_records_{next(_numbers)}"
        running = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
        running.awaitTermination()
        metrics = [one for progress in running.recentProgress for one in wm.metrics(progress)]
        stream = metrics[0].streams["a"]
        counts = (stream.rows, stream.null_times, stream.future_times, stream.null_keys, stream.malformed)
        rows = sorted(map(tuple, spark.table(name).collect()), key=str)
        found.append((counts, stream.tombstones, stream.newest, rows))
    assert found[0] == found[1]
    assert len(found[0][3]) > 50
