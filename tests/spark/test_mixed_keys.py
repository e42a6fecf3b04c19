"""Keys of different types: the join must call equal what Spark's `=` calls equal, in either ANSI mode.

Would catch: a comparison in another type than Spark's (2^53 and 2^53 + 1 are one double), a scale of decimals
that cuts digits, dates shifted by a time zone, a type that suits two streams of three and not the third,
result columns that take on the type of the comparison.

Spark judges all pairs of values of all pairs of types in one query per mode; ours are the converted values,
as the kernel encodes them.
"""

from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations

import numpy as np
import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from watersmeet.errors import InvalidQuery
from watersmeet.kernel.keys import encode_keys, same_keys
from watersmeet.query import Stream
from watersmeet.query.predicate import sort_predicates
from watersmeet.spark.types import SparkTypes

# Of every group any two are compared; the values are convertible to every type of their group.
GROUPS = {
    "numbers": {
        "tinyint": ["0", "5", "-128"],
        "int": ["0", "5", "2147483647"],
        "bigint": ["5", "9007199254740992", "9007199254740993", "-9223372036854775808"],
        "float": ["5", "0.1", "-0D", "'NaN'", "9007199254740992"],
        "double": ["5", "0.1D", "0D", "'NaN'", "9007199254740992", "1.5", "9223372036854775807"],
        "decimal(10,2)": ["5", "1.5", "0.10", "99999999.99"],
        "decimal(20,6)": ["5", "1.500000", "0.1", "0.100001"],
        "decimal(38,0)": ["5", "2", "9007199254740993", "-9223372036854775808"],
        "decimal(38,30)": ["5", "1.5", "0.100000000000000000000000000001"],
    },
    "whole numbers as text": {
        "string": ["'5'", "' 5 '", "'-128'", "'007'"],
        "bigint": ["5", "7"],
        "tinyint": ["5"],
    },
    "numbers as text": {
        "string": ["'5'", "'5.0'", "'1.5'", "'0.1'", "'NaN'"],
        "double": ["5", "1.5", "'NaN'"],
        "decimal(20,6)": ["5", "1.5", "0.1"],
        "float": ["0.1", "5"],
    },
    "times": {
        "date": ["'2026-03-29'", "'1582-10-15'", "'1970-01-01'"],
        "timestamp": ["'2026-03-29 00:00:00'", "'2026-03-29 00:00:00.000001'", "'1970-01-01'"],
        "timestamp_ntz": ["'2026-03-29 00:00:00'", "'1970-01-01 12:00:00'", "'1582-10-15'"],
        "string": ["'2026-03-29'", "'1970-01-01'"],
    },
    "texts": {"string": ["'a'", "''", "'ä'"], "binary": ["'a'", "''", "X'C3A4'", "X'00'"]},
    "truth as text": {"string": ["'true'", "'f'", "'no'"], "boolean": ["true", "false"]},
    "times of day": {"time(6)": ["'12:00:00'", "'12:00:00.000001'"], "time(0)": ["'12:00:00'", "'23:59:59'"]},
    "intervals": {
        "interval day to second": ["INTERVAL '1' DAY", "INTERVAL '1' SECOND"],
        "interval day": ["INTERVAL '1' DAY", "INTERVAL '2' DAY"],
    },
    "nested": {
        "array<int>": ["array(1, null)", "array()"],
        "array<bigint>": ["array(1L, null)", "array(1L)"],
    },
    "structs": {
        "struct<x:int,y:string>": ["struct(1, 'a')", "struct(null, 'a')"],
        "struct<x:bigint,y:string>": ["struct(1L, 'a')", "struct(null, 'a')"],
    },
}
# Spark 4.2 does not compare these.
if pyspark.__version__.startswith("4.2."):
    del GROUPS["times of day"]
# ANSI does not compare these.
LOOSE = {"truth as number": {"boolean": ["true", "false"], "int": ["0", "1", "2"], "double": ["1", "0.5"]}}


@pytest.fixture
def modes(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose ANSI mode may be changed."""
    yield spark
    spark.conf.unset("spark.sql.ansi.enabled")


def side(spark: SparkSession, groups: dict[str, dict[str, list[str]]]) -> DataFrame:
    """A column per type of every group; as many rows as the longest has values, and a null at the end."""
    columns = [(kind, values) for types in groups.values() for kind, values in types.items()]
    rows = max(len(values) for _, values in columns) + 1
    listed = (
        ", ".join(
            f"CAST({(values * rows)[i] if i < rows - 1 else 'null'} AS {kind}) AS c{number}"
            for number, (kind, values) in enumerate(columns)
        )
        for i in range(rows)
    )
    df = spark.sql(" UNION ALL ".join(f"SELECT {row}" for row in listed))
    return df.withColumn("ts", F.timestamp_seconds(F.lit(1_700_000_000)))


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "not ansi"])
def test_keys_of_two_types_are_equal_when_spark_says_so(modes: SparkSession, *, ansi: bool) -> None:
    modes.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    groups = GROUPS if ansi else GROUPS | LOOSE
    names, first = [], 0
    for types in groups.values():
        names += [(f"c{first + i}", f"c{first + j}") for i, j in combinations(range(len(types)), 2)]
        first += len(types)
    df = side(modes, groups)
    streams = [wm.stream(name, df, time="ts", window="1 hour") for name in "ab"]
    asked = SparkTypes(streams)
    texts = [f"a.{left} = b.{right}" for left, right in names]
    sorted_by_use = [sort_predicates(streams, [text], asked) for text in texts]
    assert [
        (text, made.afterwards) for text, made in zip(texts, sorted_by_use, strict=True) if made.afterwards
    ] == []
    members = [made.attributes[0].members for made in sorted_by_use]
    pairs = df.alias("a").crossJoin(df.alias("b")).coalesce(1)
    table = pairs.select(
        *[F.expr(text).alias(f"says{n}") for n, text in enumerate(texts)],
        *[
            F.expr(m.text).alias(f"{n}.{s}")
            for n, both in enumerate(members)
            for s, m in enumerate(both)
            if m
        ],
    ).toArrow()
    equal_anywhere = 0
    for n, text in enumerate(texts):
        left, right = (table.column(f"{n}.{stream}").combine_chunks() for stream in range(2))
        valid = np.asarray(left.is_valid()) & np.asarray(right.is_valid())
        found = valid.copy()
        found[valid] = same_keys(*(encode_keys([values.filter(valid)]) for values in (left, right)))
        says = table.column(f"says{n}").fill_null(False).to_numpy()
        types = [df.schema[name].dataType.simpleString() for name in names[n]]
        assert found.tolist() == says.tolist(), (text, types)
        equal_anywhere += bool(says.any())
    assert equal_anywhere >= len(texts) - 12, "pairs of types whose values are never equal show nothing"


def streams_of(spark: SparkSession, kinds: dict[str, str], values: str) -> list[Stream]:
    """Streams that hold the same values, each in a type of its own."""
    return [
        wm.stream(
            name,
            spark.sql(f"SELECT CAST(col1 AS {kind}) AS k, timestamp_seconds(1) AS ts FROM VALUES {values}"),  # noqa: S608
            time="ts",
            window="1 hour",
        )
        for name, kind in kinds.items()
    ]


def test_streams_of_four_types_in_one_join(spark: SparkSession) -> None:
    """One operator, where one type can stand for all of them; every column keeps its own type."""
    kinds = {"a": "int", "b": "decimal(12,4)", "c": "bigint", "d": "decimal(20,2)"}
    query = wm.join(*streams_of(spark, kinds, "(1), (2), (null)"), on="k")
    assert len(query.plan.query.attributes) == 1
    result = query.to_dataframe()
    assert [result.schema[name].dataType["k"].dataType.simpleString() for name in kinds] == [*kinds.values()]
    found = sorted(tuple(row) for row in result.select(*[f"{name}.k" for name in kinds]).collect())
    assert found == [(n, Decimal(n), n, Decimal(n)) for n in (1, 2)]


def test_what_no_type_can_stand_for_is_compared_two_at_a_time(spark: SparkSession) -> None:
    """2^53 and 2^53 + 1 equal the same double, not each other; in Spark's chain of joins both meet it."""
    kinds = {"a": "bigint", "b": "double", "c": "bigint"}
    streams = streams_of(spark, kinds, "(9007199254740992), (9007199254740993), (3)")
    with pytest.raises(InvalidQuery, match="two at a time"):
        wm.join(*streams, on="k")
    conditions = ["a.k = b.k", "b.k = c.k"]
    ours = wm.join(*streams, on=conditions).to_dataframe().select("a.k", "b.k", "c.k")
    a, b, c = (stream.source.alias(stream.name) for stream in streams)
    chain = a.join(b, F.expr(conditions[0])).join(c, F.expr(conditions[1])).select("a.k", "b.k", "c.k")
    assert sorted(map(tuple, ours.collect())) == sorted(map(tuple, chain.collect()))
