"""A kind of bucket the host has never heard of runs on it as the others do.

Would catch: a host that asks which kind of join it runs, state or metrics that only joins can have.
"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import watersmeet as wm
from harness.totals import TotalsMaker
from watersmeet.spark.host.operator import joined, packed_source
from watersmeet.spark.host.processor import counted_once
from watersmeet.spark.host.task import InputTask, ResultField, ResultRows, ResultStruct, Task

SALES = InputTask(
    name="sales",
    kept=pa.schema([("key", pa.string()), ("amount", pa.int64())]),
    key=(0,),
    time=2,
    required=(0,),
    stream=0,
)
TOTALS = ResultRows(
    (ResultStruct("sales", (ResultField("key", pa.string(), 0, 0), ResultField("total", pa.int64(), 0, 1))),)
)
SCHEMA = StructType(
    [
        StructField(
            "sales", StructType([StructField("key", StringType()), StructField("total", LongType())])
        ),
        StructField("result_time", TimestampType()),
    ]
)


def at() -> Column:
    return F.lit("2026-05-01 12:00:00").cast("timestamp")


def totals(source: DataFrame, name: str = "totals") -> DataFrame:
    task = Task(
        identity=json.dumps({"name": name}),
        maker=TotalsMaker(),
        buckets=("0", "1", "2"),
        inputs=(SALES,),
        output=TOTALS,
    )
    return joined(task, [packed_source(source.select("key", "amount", "ts"), task, 0)], SCHEMA)


def test_a_new_kind_of_bucket_has_state_restarts_and_metrics(spark: SparkSession, tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def keep(batch: DataFrame, _number: int) -> None:
        seen.update({row.key: row.total for row in batch.select("sales.*").collect()})

    folder = str(tmp_path / "sales")
    source = spark.readStream.schema("key string, amount long, ts timestamp").parquet

    def sell(sales: list[tuple[str | None, int]]) -> None:
        rows = spark.createDataFrame(sales, "key string, amount long").coalesce(1)
        rows.withColumn("ts", at()).write.mode("append").parquet(folder)

    def run(results: DataFrame) -> StreamingQuery:
        writer = results.writeStream.foreachBatch(keep).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        query.awaitTermination()
        return query

    expected: Counter[str] = Counter()
    for start in range(2):
        for file in range(2):
            sales = [(f"key {n % 7}" if n % 11 else None, 10 * start + file + n) for n in range(50)]
            sell(sales)
            for key, amount in sales:
                expected[key or "none"] += amount
        (report,) = wm.metrics(run(totals(source(folder))).recentProgress[0])
        assert report.results == 7
        assert report.streams["sales"].live == 7
        assert (report.streams["sales"].rows, report.streams["sales"].null_keys) == (100, 10)
    del expected["none"]
    assert seen == expected
    sell([("key 1", 1)])
    with pytest.raises(StreamingQueryException, match="written by a different query"):
        run(totals(source(folder), "other totals"))


def test_rows_that_several_buckets_get_are_counted_by_the_first() -> None:
    everywhere, some = replace(SALES, replicated=True), replace(SALES, replicated=True, homes=(1, 2))
    task = Task(
        identity="{}",
        maker=TotalsMaker(),
        buckets=("0", "1", "2"),
        inputs=(SALES, everywhere, some),
        output=TOTALS,
    )
    values = {"late_0": 1, "late_1": 1, "late_2": 1, "rows_1": 1, "rows_examined": 1}
    reported = [sorted(counted_once(task, number, dict(values))) for number in range(3)]
    assert reported[0] == ["late_0", "late_1", "rows_1", "rows_examined"]
    assert reported[1] == ["late_0", "late_2", "rows_examined"]
    assert reported[2] == ["late_0", "rows_examined"]


def test_it_runs_on_plain_frames_too(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], "key string, amount long")
    source = rows.withColumn("ts", at())
    assert {(row.key, row.total) for row in totals(source).select("sales.*").collect()} == {
        ("a", 4),
        ("b", 2),
    }
