"""Columns of any type go through the join, its state and a restart, and come back as they were.

Would catch: a value changed by Arrow, pandas or Spark on the way (maps, nested nulls, time zones, scale of
decimals), a type that works for plain rows and fails for stored ones.
"""

import operator
from pathlib import Path

import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.streaming import sink_rows, to_sink
from watersmeet.errors import InvalidQuery

# One full value per type; its column also holds nulls, and `empty` where a type has an empty value.
VALUES = {
    "boolean": "true",
    "tinyint": "tinyint(-128)",
    "smallint": "smallint(-32768)",
    "int": "-2147483648",
    "bigint": "9223372036854775807L",
    "float": "float('NaN')",
    "double": "-0D",
    "decimal(10,2)": "12345678.90BD",
    "decimal(38,10)": "-1234567890123456789012345678.0123456789BD",
    "string": "'ü, and a text longer than eight bytes'",
    "char(5)": "'abc'",
    "varchar(9)": "'abc'",
    "binary": "X'00FF00'",
    "date": "DATE'1582-10-15'",
    "timestamp": "TIMESTAMP'1969-12-31 23:59:59.999999'",
    "timestamp_ntz": "TIMESTAMP_NTZ'2026-03-29 02:30:00.000001'",
    "time(6)": "TIME'23:59:59.999999'",
    "interval day to second": "INTERVAL '-1 02:03:04.000005' DAY TO SECOND",
    "interval hour": "INTERVAL '5' HOUR",
    "array<int>": "array(1, null, 3)",
    "array<string>": "array('a', null, '')",
    "array<array<double>>": "array(array(1.5D), null, array(), array(double(null)))",
    "map<string,int>": "map('a', 1, 'b', null)",
    "map<int,array<string>>": "map(1, array('x', null), 2, null)",
    "struct<a:int,b:struct<c:string,d:array<int>>>": "struct(1, struct('x', array(1, null)))",
    "array<struct<a:int,m:map<string,int>>>": "array(struct(1, map('k', 2)), null, struct(3, null))",
    "map<string,struct<t:timestamp,b:binary>>": "map('k', struct(TIMESTAMP'2026-01-01 00:00:00', X'01'))",
}
EMPTY = {
    "string": "''",
    "binary": "X''",
    "array<int>": "array()",
    "map<string,int>": "map()",
    "array<struct<a:int,m:map<string,int>>>": "array()",
    "struct<a:int,b:struct<c:string,d:array<int>>>": "struct(null, struct(null, null))",
}


def rows(spark: SparkSession, first_id: int) -> DataFrame:
    """Rows with a full, an absent and an empty value of every type, in a column each."""
    variants = []
    for number, values in enumerate((VALUES, {}, VALUES | EMPTY)):
        columns = [f"CAST({values.get(kind, 'null')} AS {kind}) AS c{i}" for i, kind in enumerate(VALUES)]
        variants.append(f"SELECT {first_id + number} AS id, {', '.join(columns)}")
    df = spark.sql(" UNION ALL ".join(variants))
    return df.selectExpr("id % 3 AS k", "timestamp_seconds(1700000000 + id) AS ts", "*")


def comparable(df: DataFrame) -> list[str]:
    """Rows as text: all values, in full, in an order of their own, NaN equal to NaN."""
    return sorted(map(str, df.collect()))


def test_values_come_back_as_they_were_from_a_plain_join(spark: SparkSession) -> None:
    left, right = rows(spark, 0), rows(spark, 3)
    streams = [wm.stream(name, df, time="ts", window="1 hour") for name, df in (("l", left), ("r", right))]
    joined = wm.join(*streams, on="k").to_dataframe()
    assert [field.dataType for field in joined.schema["l"].dataType] == [f.dataType for f in left.schema]
    assert comparable(joined.select("l.*")) == comparable(left)
    assert comparable(joined.select("r.*")) == comparable(right)


def test_values_come_back_as_they_were_from_state_and_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The left rows wait in the state for right rows that come with the next start of the query."""
    source = {name: tmp_path / name for name in ("l", "r")}

    def run() -> None:
        streams = [
            wm.stream(
                name,
                spark.readStream.schema(rows(spark, 0).schema).parquet(str(folder)),
                time="ts",
                window="1 hour",
            )
            for name, folder in source.items()
        ]
        to_sink(wm.join(*streams, on="k").to_dataframe(), tmp_path)

    rows(spark, 0).write.parquet(str(source["l"]))
    rows(spark, 900).write.parquet(str(source["r"]))
    run()
    rows(spark, 3).write.mode("append").parquet(str(source["l"]))
    rows(spark, 903).write.mode("append").parquet(str(source["r"]))
    run()
    joined = sink_rows(spark, tmp_path)
    assert joined.count() == 12
    for name, ids in (("l", (0, 3)), ("r", (900, 903))):
        expected = {text for first in ids for text in comparable(rows(spark, first))}
        assert set(comparable(joined.select(f"{name}.*"))) == expected


def test_values_that_files_cannot_hold_come_back_as_they_were(spark: SparkSession) -> None:
    values = {
        "variant": """parse_json('{"a": [1, null, "x"]}')""",
        "variants": "array(parse_json('1'), null)",
        "variant_inside": "named_struct('v', parse_json('[true]'))",
        "nothing": "null",
        "nothings": "array(null)",
        "no_fields": "named_struct()",
        "collated": "'aB' COLLATE UTF8_LCASE",
        "lists_as_keys": "map_entries(map(array(1), named_struct('x', array(null))))",
        "odd": "named_struct('a', 1, 'A', 2, 'x.y', 3, '', 4)",
        "seconds_of_a_day": "CAST(TIME'12:00:01' AS TIME(0))",
    }
    columns = ", ".join(f"{value} AS {name}" for name, value in values.items())
    plain = spark.sql(f"SELECT 1 AS k, TIMESTAMP'2026-01-01 00:00:00' AS ts, {columns}")
    vectors = spark.createDataFrame([(1, Vectors.dense([3.0, 4.0])), (1, None)], ["k", "user_defined"])
    df = plain.join(vectors, "k").withColumn("many_user_defined", F.array("user_defined"))
    streams = [wm.stream(name, df, time="ts", window="1 hour") for name in ("l", "r")]
    joined = wm.join(*streams, on="k").to_dataframe()
    assert [field.dataType for field in joined.schema["l"].dataType] == [f.dataType for f in df.schema]
    assert sorted(set(comparable(joined.select("l.*")))) == comparable(df)


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        ("INTERVAL '1-3' YEAR TO MONTH", "interval year to month", "does not hand such values to Python"),
        ("make_interval(1)", "interval", "does not hand such values to Python"),
        ("array(INTERVAL '1' MONTH)", "array<interval month>", "does not hand such values to Python"),
        ("map(1, named_struct('a', 1, 'a', 2))", "map<int,struct<a:int,a:int>>", "are called a"),
    ],
)
def test_values_that_cannot_be_kept_are_refused_when_the_query_is_built(
    spark: SparkSession, value: str, kind: str, reason: str
) -> None:
    df = spark.sql(f"SELECT 1 AS k, timestamp_seconds(1) AS ts, {value} AS odd")
    streams = [wm.stream(name, df, time="ts", window="1 hour") for name in ("l", "r")]
    unkept = 'column "odd" of stream "l" cannot be kept'
    for on, select, fact in (
        ("k", None, unkept),
        ("k", ["l.odd"], unkept),
        (["k", "CAST(l.odd AS string) < CAST(r.odd AS string)"], ["l.k"], unkept),
        (["k", wm.predicate(operator.ne, "l.odd", "r.odd")], ["l.k"], unkept),
        ("odd", ["l.k"], 'key column "l.odd" cannot be compared'),
    ):
        with pytest.raises(InvalidQuery) as caught:
            wm.join(*streams, on=on, select=select)
        assert caught.value.fact == fact
        assert kind in caught.value.detail
        assert reason in caught.value.detail
        assert caught.value.hint
    # What is not needed does no harm.
    wm.join(*streams, on=["k", "l.odd IS NOT NULL"], select=["l.k"]).to_dataframe()
