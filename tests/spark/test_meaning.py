"""A condition means what Spark makes of its text: which rows it keeps, and whether it is one at all.

Would catch: sqlglot's order of operators where Spark has another, words that are passed over (SYMMETRIC),
numbers and strings read as other values, types brought together in another way, conditions that Spark
refuses. Spark judges every text over all pairs of awkward values, all at once; ours are the parts a
condition is sorted into, each judged by whoever judges it in a query.
"""

from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.conditions import KERNEL, REFUSED_ALTHOUGH_SPARK_TAKES_IT, REFUSED_BY_SPARK, SPARK, TYPES, VALUES
from watersmeet.errors import InvalidQuery
from watersmeet.kernel.evaluate import where_true
from watersmeet.query import Stream
from watersmeet.query.predicate import Predicates, sort_predicates
from watersmeet.spark.types import SparkTypes

ALL = [text for group in (KERNEL, SPARK) for texts in group.values() for text in texts]
# These are joined from end to end.
JOINED = [
    "a.b < b.b = b.b < a.b",
    "a.i = b.d",
    "a.l BETWEEN b.i AND b.d AND a.s <= b.s",
    "a.ts >= b.ts + INTERVAL -1 MINUTE AND NOT a.s IS NULL AND b.i % 2 <> 0",
]


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> list[DataFrame]:
    """Every value of every type, on the two sides not in the same rows together."""

    def side(*steps: int) -> DataFrame:
        # Prime to the number of values of every type, so that all of them come.
        strides = steps * len(VALUES)
        rows = [
            ", ".join([str(i), *(v[i * strides[n] % len(v)] for n, v in enumerate(VALUES.values()))])
            for i in range(22)
        ]
        columns = [f"CAST(col{n} AS {kind}) AS `{name}`" for n, (name, kind) in enumerate(TYPES.items(), 2)]
        table = spark.sql(f"VALUES ({'), ('.join(rows)})")
        return table.selectExpr("col1 AS n", *columns).cache()

    return [side(1), side(1, 7, 13, 17, 19)]


@pytest.fixture(scope="module")
def streams(sides: list[DataFrame]) -> list[Stream]:
    """With windows of rows, conditions on a single stream are judged by the kernel too."""
    return [wm.stream(name, df, time="ts", window=wm.rows(100)) for name, df in zip("ab", sides, strict=True)]


@pytest.fixture(scope="module")
def pairs(sides: list[DataFrame]) -> DataFrame:
    left, right = (df.select(F.struct("*").alias(name)) for name, df in zip("ab", sides, strict=True))
    return left.crossJoin(right).coalesce(1).cache()


@pytest.fixture(scope="module")
def found(streams: list[Stream]) -> dict[str, Predicates | InvalidQuery]:
    """What is made of every condition when a query is built."""

    types = SparkTypes(streams)

    def read(text: str) -> Predicates | InvalidQuery:
        try:
            return sort_predicates(streams, [text], types)
        except InvalidQuery as refused:
            return refused

    return {text: read(text) for text in [*ALL, *REFUSED_BY_SPARK, *REFUSED_ALTHOUGH_SPARK_TAKES_IT]}


@pytest.fixture(scope="module")
def judged(found: dict[str, Predicates | InvalidQuery], pairs: DataFrame) -> dict[str, tuple[Any, Any]]:
    """Per condition what Spark makes of every pair, and what the parts it was sorted into make of it."""
    read = {text: made for text in ALL if isinstance(made := found[text], Predicates)}
    asked: list[Column] = []
    for text, made in read.items():
        equal = [" = ".join(f"({m.text})" for m in part.members if m) for part in made.attributes]
        left = [F.expr(rest) for rest in (*(part.text for part in (*made.filters, *made.afterwards)), *equal)]
        asked += [F.expr(text), reduce(and_, left, F.lit(True))]
    holds = [F.coalesce(column, F.lit(False)).alias(f"c{n}") for n, column in enumerate(asked)]
    fields = [F.col(f"{name}.`{c}`").alias(f"{name}.{c}") for name in "ab" for c in TYPES]
    table = pairs.select(*fields, *holds).toArrow().combine_chunks()

    def by_kernel(made: Predicates) -> Any:
        """One after the other, each for the pairs that are left: what is written first guards the rest."""
        left = np.arange(len(table))
        for part in made.conditions:

            def column(field: Any, rows: Any = left) -> pa.Array:
                return table.column(f"{'ab'[field.stream]}.{field.column}").take(rows).combine_chunks()

            left = left[where_true(part.expression, column, len(left))]
        return np.isin(np.arange(len(table)), left)

    def by_spark(number: int) -> Any:
        return table.column(f"c{number}").to_numpy()

    return {
        text: (by_spark(2 * n), by_spark(2 * n + 1) & by_kernel(made))
        for n, (text, made) in enumerate(read.items())
    }


def test_conditions_keep_the_pairs_spark_keeps(
    found: dict[str, Predicates | InvalidQuery], judged: dict[str, tuple[Any, Any]]
) -> None:
    refused = {text: str(found[text]) for text in ALL if text not in judged}
    assert refused == {}
    wrong = {
        text: (spark.sum(), ours.sum()) for text, (spark, ours) in judged.items() if (spark != ours).any()
    }
    assert wrong == {}
    same_for_all = [text for text, (spark, _) in judged.items() if spark.all() or not spark.any()]
    assert same_for_all == ["true"], "a condition that is the same for every pair shows nothing"


def test_the_kernel_judges_what_it_can(found: dict[str, Predicates | InvalidQuery]) -> None:
    """Being careful must not mean that everything is left to Spark."""
    left = {
        text: [rest.reason for rest in made.afterwards]
        for texts in KERNEL.values()
        for text in texts
        if isinstance(made := found[text], Predicates) and made.afterwards
    }
    assert left == {}


def test_what_spark_refuses_is_refused_when_the_query_is_built(
    found: dict[str, Predicates | InvalidQuery], pairs: DataFrame
) -> None:
    for text in REFUSED_BY_SPARK:
        with pytest.raises(PySparkException):
            pairs.filter(text)
    accepted = [text for text in REFUSED_BY_SPARK if isinstance(found[text], Predicates)]
    assert accepted == []
    for text in REFUSED_BY_SPARK:
        refusal = found[text]
        assert isinstance(refusal, InvalidQuery)
        assert refusal.hint, text


def test_what_is_refused_although_spark_takes_it(
    found: dict[str, Predicates | InvalidQuery], pairs: DataFrame
) -> None:
    for text, reason in REFUSED_ALTHOUGH_SPARK_TAKES_IT.items():
        pairs.filter(text)
        assert isinstance(found[text], InvalidQuery), text
        assert reason in str(found[text])


@pytest.mark.parametrize("text", JOINED)
def test_a_join_keeps_the_pairs_sparks_join_keeps(text: str, sides: list[DataFrame]) -> None:
    minutes = F.timestamp_seconds(F.lit(1_600_000_000) + F.col("n") * 240)
    left, right = (df.withColumn("ts", minutes) for df in sides)
    streams = [
        wm.stream(name, df, time="ts", window="10 minutes") for name, df in (("a", left), ("b", right))
    ]
    results = wm.join(*streams, on=[text], select=["a.n", "b.n"]).to_dataframe()
    alive = "a.ts <= b.ts + INTERVAL 10 MINUTES AND b.ts <= a.ts + INTERVAL 10 MINUTES"
    expected = left.alias("a").join(right.alias("b"), F.expr(f"({text}) AND {alive}")).select("a.n", "b.n")
    found = sorted((row.a_n, row.b_n) for row in results.collect())
    assert found == sorted(tuple(row) for row in expected.collect())
    assert found
