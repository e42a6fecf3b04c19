"""Conditions the kernel evaluates mean what they mean in Spark, for every pair of awkward values.

Would catch: null taken for false inside NOT, NaN that is not itself, minus zero that is not zero, whole
numbers that wrap around, times shifted by a time zone, a type converted where Spark converts another one.
"""

from itertools import product

import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from watersmeet.errors import ConditionFailed
from watersmeet.kernel.evaluate import evaluate, is_true, where_true
from watersmeet.query import Column, Stream
from watersmeet.query.compile import compile_tree
from watersmeet.query.expression import Expression, Field, NotCompiled
from watersmeet.query.syntax import read_tree

TYPES = {
    "ts": "timestamp",
    "i": "int",
    "l": "bigint",
    "t": "tinyint",
    "d": "double",
    "f": "float",
    "s": "string",
    "b": "boolean",
    "day": "date",
    "gap": "interval day to second",
}
VALUES = {
    "ts": ["TIMESTAMP'2026-03-29 02:30:00.000001'", "TIMESTAMP'1969-12-31 23:59:59.999999'", "null"],
    "i": ["0", "-3", "5", "2147483646", "null"],
    "l": ["0L", "7L", "-9223372036854775807L", "null"],
    "t": ["tinyint(-60)", "tinyint(5)", "null"],
    "d": ["0D", "-0D", "1.5D", "double('NaN')", "double('Infinity')", "null"],
    "f": ["float(1.1)", "float('NaN')", "float(-0)", "null"],
    "s": ["''", "'a'", "'ä'", "'Z'", "null"],
    "b": ["true", "false", "null"],
    "day": ["DATE'1582-10-15'", "DATE'2026-01-01'", "null"],
    "gap": ["INTERVAL '1' SECOND", "INTERVAL '-1 02:03:04.000005' DAY TO SECOND", "null"],
}
CONDITIONS = [
    *(f"a.{c} {op} b.{c}" for c in ("i", "d", "f", "s", "b", "day", "ts", "gap") for op in ("=", "<", ">=")),
    *(f"a.{c} <=> b.{c}" for c in ("d", "s", "ts")),
    "a.d != b.d",
    "a.i < b.l",
    "a.t = b.i",
    "a.i <= b.d",
    "a.l > b.d",
    "a.f = b.d",
    "a.d > 1.5",
    "a.d * 2 > b.d + 0.25",
    "a.d < 1e0",
    "not (a.b and b.b)",
    "not a.b or b.b",
    "a.b and (b.b or a.d > 1)",
    "a.i is null",
    "a.i is not null and b.s is null",
    "a.b = true",
    "abs(a.t + 0 - b.t) < 10",
    "abs(a.d - b.d) <= 1",
    "-a.d < b.d",
    "a.t - b.t > 0",
    "a.i % 2 = b.t % 3",
    "a.l % -1 = 0 and b.l > -1L",
    "a.t / 2 > b.i",
    "least(a.i, b.i) = -3",
    "greatest(a.d, b.d, 0D) = a.d",
    "least(a.d, b.d) < greatest(a.i, b.i)",
    "greatest(a.s, b.s) = 'ä'",
    "a.ts + INTERVAL 1 HOUR > b.ts",
    "a.ts - b.ts < INTERVAL 30 DAYS",
    "a.ts BETWEEN b.ts - INTERVAL '90 minutes' AND b.ts + a.gap",
    "abs(a.ts - b.ts) <= INTERVAL 1 WEEK",
    "a.gap + b.gap < INTERVAL '0' SECOND",
    "a.i IN (0, -3, 9)",
    "a.s not in ('a', 'b')",
    "a.i BETWEEN -3 AND b.i",
    "a.i <> 0 AND a.s <> b.s OR b.b",
    "a.s = 'ä' OR b.s > 'Y'",
    "b.i = 0 OR a.i / b.i > 0",
    "b.i <> 0 AND 100 % b.i = 1",
    "NOT (b.d = 0 OR b.d IS NULL) AND 1D / b.d > 0",
]


@pytest.fixture(scope="module")
def pairs(spark: SparkSession) -> DataFrame:
    """Every value of every type on either side, the types side by side."""

    def side(name: str) -> DataFrame:
        longest = max(map(len, VALUES.values()))
        rows = [
            ", ".join(
                f"CAST({texts[i % len(texts)]} AS {TYPES[column]}) AS {column}"
                for column, texts in VALUES.items()
            )
            for i in range(longest * 2)
        ]
        df = spark.sql(" UNION ALL ".join(f"SELECT {row}" for row in rows))
        return df.select(F.struct(*[F.col(column) for column in TYPES]).alias(name))

    return side("a").crossJoin(side("b")).cache()


STREAMS = [
    Stream(name, tuple(Column(column, kind) for column, kind in TYPES.items()), "ts") for name in ("a", "b")
]


@pytest.fixture(scope="module")
def columns(pairs: DataFrame) -> dict[tuple[int, str], pa.Array]:
    table = pairs.select(
        *[F.col(f"{name}.{column}").alias(f"{name}_{column}") for name, column in product("ab", TYPES)]
    ).toArrow()
    return {
        (i, column): table.column(f"{name}_{column}").combine_chunks()
        for i, name in enumerate("ab")
        for column in TYPES
    }


@pytest.mark.parametrize("text", CONDITIONS)
def test_the_kernel_keeps_the_rows_spark_keeps(
    text: str, pairs: DataFrame, columns: dict[tuple[int, str], pa.Array]
) -> None:
    expression = compile_tree(read_tree(text), STREAMS, text, ansi=True)
    assert expression.type == "boolean"
    rows = pairs.count()
    kept = is_true(evaluate(expression, lambda field: columns[field.stream, field.column]), rows)
    expected = [row[0] for row in pairs.select(F.coalesce(F.expr(text), F.lit(False))).collect()]
    assert kept.tolist() == expected
    assert len(set(expected)) == 2, "a condition that is the same for every pair shows nothing"


@pytest.mark.parametrize(
    "text", ["a.i + b.i > 0", "a.l * b.l > 0", "a.t * b.t > 0", "a.d / b.d > 1", "a.i % b.i > 0"]
)
def test_what_is_an_error_in_spark_is_an_error_in_the_kernel(
    text: str, pairs: DataFrame, columns: dict[tuple[int, str], pa.Array]
) -> None:
    expression = compile_tree(read_tree(text), STREAMS, text, ansi=True)
    with pytest.raises(ArithmeticException):
        pairs.select(F.expr(text)).collect()
    with pytest.raises(ConditionFailed) as caught:
        evaluate(expression, lambda field: columns[field.stream, field.column])
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "levenshtein(a.s, b.s) < 3",
        "a.s LIKE 'x%'",
        "a.i > 1.5",
        "a.f > a.i",
        "a.day + INTERVAL 1 DAY > b.ts",
        "a.s = a.i",
        "CASE WHEN a.b THEN b.b END",
        "a.ts > b.ts + INTERVAL 1 MONTH",
        "a.i = NULL",
        "a.ts > TIMESTAMP'2026-01-01 00:00:00'",
        "a.i > 99999999999999999999",
    ],
)
def test_what_the_kernel_does_not_know_is_left_to_spark(text: str) -> None:
    with pytest.raises(NotCompiled):
        compile_tree(read_tree(text), STREAMS, text, ansi=True)


WITHOUT_ANSI = [
    "a.i + b.i > 0",
    "a.i + 5 > b.i",
    "a.i * a.i > b.i",
    "a.l * b.l > 0",
    "a.l - 2 < b.i",
    "a.t * b.t > 0",
    "abs(a.l - 1L) > b.i",
    "-(a.l - 1L) < b.t",
    "a.d / b.d > 1",
    "a.i / b.i >= 1",
    "a.i % b.i > 0",
    "NOT a.l % b.i > 0",
    "a.i / b.i IS NULL AND b.t > 0",
    "a.d + b.d * 2 > 1",
    "abs(a.ts - b.ts) <= INTERVAL 1 WEEK",
]


def test_without_ansi_numbers_wrap_around_and_quotients_by_zero_are_null(
    spark: SparkSession, pairs: DataFrame, columns: dict[tuple[int, str], pa.Array]
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        says = pairs.select(*[F.coalesce(F.expr(text), F.lit(False)) for text in WITHOUT_ANSI]).toArrow()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    for text, expected in zip(WITHOUT_ANSI, says.columns, strict=True):
        expression = compile_tree(read_tree(text), STREAMS, text, ansi=False)
        kept = where_true(expression, lambda field: columns[field.stream, field.column], len(expected))
        assert kept.tolist() == expected.to_pylist(), text
        assert len(set(kept.tolist())) == 2, text


# Of a pair in which a.i is null, and b.i and b.t are zero: what Spark computes of a condition alone, and what
# fails. In a join it looks for nulls first.
COMPUTED = ["a.i > 5 % b.i", "a.i IN (1, 5 % b.i)", "a.i / b.t = 1", "a.i IS NOT NULL AND 5 / b.i > 1"]
FAILING = [
    "5 % b.i > a.i",
    "a.b OR 5 % b.i > a.i",
    "a.i % (5 % b.i) = 1",
    "a.i <=> 5 % b.i",
    "greatest(a.i, 5 % b.i) > 1",
]
NULLS_FIRST = ["5 % b.i > a.i", "(5 % b.i) * a.i = 1"]


def test_a_division_by_zero_fails_only_where_spark_divides(spark: SparkSession) -> None:
    left = spark.sql("SELECT nullif(int(id), 0) AS i, id > 0 AS b FROM range(1)")
    right = spark.sql("SELECT int(id) AS i, tinyint(id) AS t FROM range(1)")
    pair = left.select(F.struct("*").alias("a")).crossJoin(right.select(F.struct("*").alias("b")))
    values = {(0, "i"): pa.array([None], pa.int32()), (0, "b"): pa.array([False])}
    values |= {(1, "i"): pa.array([0], pa.int32()), (1, "t"): pa.array([0], pa.int8())}

    def column(field: Field) -> pa.Array:
        return values[field.stream, field.column]

    def read(text: str) -> Expression:
        return compile_tree(read_tree(text), STREAMS, text, ansi=True)

    for text in COMPUTED:
        # One by one: what several have in common, Spark may compute before all of them.
        assert pair.filter(F.coalesce(F.expr(text), F.lit(False))).count() == 0
        assert is_true(evaluate(read(text), column), 1).tolist() == [False]
    for text in FAILING:
        with pytest.raises(ArithmeticException):
            pair.select(F.expr(text)).collect()
        with pytest.raises(ConditionFailed):
            evaluate(read(text), column)
    for text in NULLS_FIRST:
        assert left.alias("a").join(right.alias("b"), F.expr(text)).count() == 0
        assert where_true(read(text), column, 1).tolist() == [False]
