"""Keys of every type Spark can group by: the join must call equal what Spark's own join calls equal.

Would catch: an encoding in which equal keys differ (NaN, -0.0, scale of decimals, time zones) or different
keys are equal (null elements, empty strings, neighbouring fields).
"""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm

DOUBLES = [
    "0D",
    "-0D",
    "double('NaN')",
    "-double('NaN')",
    "1.5D",
    "double('Infinity')",
    "-double('Infinity')",
]

# Expressions that differ from each other in the ways that matter for the type.
KEYS = {
    "tinyint": ["tinyint(-128)", "tinyint(0)", "tinyint(127)"],
    "smallint": ["smallint(-32768)", "smallint(0)", "smallint(32767)"],
    "int": ["-2147483648", "0", "1", "2147483647"],
    "bigint": ["-9223372036854775808L", "0L", "1L", "9223372036854775807L"],
    "boolean": ["true", "false"],
    "float": [f"float({value})" for value in DOUBLES],
    "double": DOUBLES,
    "decimal(10,2)": ["1.00BD", "1.01BD", "-1.00BD", "0.00BD", "99999999.99BD"],
    "decimal(38,10)": ["1BD", "1.0000000001BD", "-1BD", "1234567890123456789012345678.0123456789BD"],
    "string": ["''", "'a'", "'A'", "'a '", "'ä'", "'a longer text than eight bytes'"],
    "binary": ["X''", "X'00'", "X'0000'", "X'FF'"],
    "date": ["DATE'0001-01-01'", "DATE'1969-12-31'", "DATE'2026-02-28'"],
    "timestamp": [
        "TIMESTAMP'1969-12-31 23:59:59.999999'",
        "TIMESTAMP'2026-01-01 00:00:00'",
        "TIMESTAMP'2026-01-01 01:00:00+01:00'",
    ],
    "timestamp_ntz": ["TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", "TIMESTAMP_NTZ'2026-01-01 00:00:00'"],
    "time(6)": ["TIME'00:00:00'", "TIME'23:59:59.999999'"],
    "interval day to second": ["INTERVAL '1' DAY", "INTERVAL '24' HOUR", "INTERVAL '0.000001' SECOND"],
    "array<int>": ["array()", "array(0)", "array(0, 0)", "array(int(null))", "array(0, null)", "array(1, 2)"],
    "array<string>": ["array()", "array('')", "array('', '')", "array('a', null)", "array(null, 'a')"],
    "array<double>": [f"array({value})" for value in DOUBLES] + ["array(0D, double('NaN'))", "array()"],
    "array<array<string>>": ["array(array('a'), array())", "array(array(), array('a'))", "array(array())"],
    "struct<a:string,b:string>": [
        f"struct({a}, {b})" for a in ("''", "'x'", "'xy'", "null") for b in ("''", "'y'", "null")
    ],
    "struct<d:double,l:array<int>>": [
        f"struct({d}, {items})" for d in ("0D", "-0D", "double('NaN')") for items in ("array(1)", "null")
    ],
}


def table(spark: SparkSession, kind: str, values: list[str]) -> DataFrame:
    """Every value twice and two nulls, an id and a time apart."""
    texts = [*values, *values, "null", "null"]
    rows = ", ".join(f"(CAST({text} AS {kind}), {i})" for i, text in enumerate(texts))
    return spark.sql(f"SELECT col1 AS k, col2 AS id FROM VALUES {rows}").withColumn(  # noqa: S608
        "ts", F.timestamp_seconds(F.lit(1_700_000_000) + F.col("id"))
    )


def pairs(df: DataFrame) -> list[tuple[int, ...]]:
    return sorted(map(tuple, df.collect()))


@pytest.mark.parametrize("kind", KEYS)
def test_keys_are_equal_when_spark_says_so(spark: SparkSession, kind: str) -> None:
    df = table(spark, kind, KEYS[kind])
    assert dict(df.dtypes)["k"] == kind
    streams = [wm.stream(name, df, time="ts", window="1 hour") for name in ("l", "r")]
    ours = wm.join(*streams, on="k").to_dataframe().select("l.id", "r.id")
    spark_says = df.alias("l").join(df.alias("r"), F.expr("l.k = r.k")).select("l.id", "r.id")
    expected = pairs(spark_says)
    # At the least, every value meets itself and its twin.
    assert len(expected) >= 4 * len(KEYS[kind])
    assert pairs(ours) == expected


@pytest.mark.parametrize(
    "kinds",
    [("string", "string"), ("bigint", "string", "double"), ("array<string>", "boolean"), ("int", "date")],
    ids=" + ".join,
)
def test_keys_of_several_columns_are_equal_when_spark_says_so(
    spark: SparkSession, kinds: tuple[str, ...]
) -> None:
    parts = [
        table(spark, kind, KEYS[kind][:3]).select(F.col("k").alias(f"k{i}"), F.col("id").alias(f"id{i}"))
        for i, kind in enumerate(kinds)
    ]
    df = parts[0]
    for part in parts[1:]:
        df = df.crossJoin(part)
    numbered = df.selectExpr("*", " + ".join(f"id{i} * {10**i}" for i in range(len(kinds))) + " AS id")
    rows = numbered.withColumn("ts", F.timestamp_seconds(F.lit(1_700_000_000) + F.col("id"))).cache()
    names = [f"k{i}" for i in range(len(kinds))]
    streams = [wm.stream(name, rows, time="ts", window="10 hours") for name in ("l", "r")]
    ours = wm.join(*streams, on=names).to_dataframe().select("l.id", "r.id")
    same = F.expr(" AND ".join(f"l.{name} = r.{name}" for name in names))
    assert pairs(ours) == pairs(rows.alias("l").join(rows.alias("r"), same).select("l.id", "r.id"))
    rows.unpersist()
