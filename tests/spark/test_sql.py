"""A query in SQL returns what Spark's own SQL returns, with its names and types.

Would catch: a unit of an interval taken for the name of a column, a function taken for a clause, USING that
joins on the wrong stream or returns the wrong column, words of conditions that are passed over.
"""

from functools import reduce

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm

ITEMS = """
    k, k + 1 next, o.ts + INTERVAL '1:30' MINUTE TO SECOND later, INTERVAL 10 MINUTES wait, o.amount date,
    o.ts + INTERVAL '10' MINUTE AS soon, left(p.s, 1) `first letter`, replace(o.s, 'x', 'y') AS replaced,
    p.amount IS DISTINCT FROM o.amount differs, t.k AS truck
"""
WHERE = """
    left(o.s, 1) = right(p.s, 1) AND o.amount IS DISTINCT FROM t.amount AND k > 0
    AND p.amount IS NOT DISTINCT FROM t.amount AND p.ts <= o.ts + INTERVAL '0 00:02' DAY TO MINUTE
"""


def test_what_spark_reads_is_read_the_same(spark: SparkSession) -> None:
    frames = {}
    for number, (name, kind) in enumerate(
        {"orders": "int", "payments": "bigint", "trucks": "decimal(12,2)"}.items()
    ):
        frames[name] = spark.range(60).select(
            (F.col("id") % 5).cast(kind).alias("k"),
            F.timestamp_seconds(1_700_000_000 + (F.col("id") * 37 * (number + 1)) % 600).alias("ts"),
            F.when(F.col("id") % 4 > 0, F.col("id") % (2 + number)).alias("amount"),
            F.element_at(
                F.array(*map(F.lit, ("xa", "bx", "b", "ab"))), (F.col("id") % 4 + 1).cast("int")
            ).alias("s"),
        )
        frames[name].createOrReplaceTempView(name)
    ours = wm.sql(
        f"""
        SELECT {ITEMS}
        FROM orders [RANGE 5 MINUTES] o
             JOIN payments [RANGE 5 MINUTES] p USING (k)
             INNER JOIN trucks t [RANGE 5 MINUTES] USING (k)
        WHERE {WHERE}
        """,  # noqa: S608
        frames,
    ).to_dataframe()
    expected = spark.sql(
        f"""
        SELECT {ITEMS} FROM orders o JOIN payments p USING (k) INNER JOIN trucks t USING (k)
        WHERE {WHERE} AND greatest(o.ts, p.ts, t.ts) <= least(o.ts, p.ts, t.ts) + INTERVAL 5 MINUTES
        """  # noqa: S608
    )
    assert ours.dtypes == expected.dtypes
    found = sorted(map(str, ours.collect()))
    assert found == sorted(map(str, expected.collect()))
    assert len(found) > 20
    assert len(set(found)) > 5


# With windows that hold everything a join means what it means in Spark.
KINDS = [
    "SELECT a.n, b.n AS m FROM a LEFT JOIN b ON a.k = b.k AND b.v > 1",
    "SELECT a.n, b.n AS m FROM a LEFT OUTER JOIN b ON a.k = b.k AND a.v > 1",
    "SELECT a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.v = c.v",
    "SELECT a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON a.v = c.v AND b.v < c.k",
    "SELECT a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON a.v = c.v AND a.k = b.v",
    "SELECT a.n, b.n AS m, c.n AS l FROM a JOIN b ON a.k = b.k AND a.v > 0 LEFT JOIN c ON c.k = b.v",
    "SELECT a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k JOIN c ON a.v = c.v",
    "SELECT a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k, c WHERE a.v = c.v AND b.n IS NULL",
    "SELECT a.n, b.n AS m FROM a RIGHT JOIN b ON a.k = b.k AND a.v = 2",
    "SELECT a.n, b.n AS m FROM a FULL OUTER JOIN b ON a.k = b.k AND a.v > b.v",
    "SELECT a.n, b.n AS m FROM a FULL JOIN b ON a.k = b.k WHERE a.n IS NULL OR b.v = 1",
    "SELECT a.n FROM a LEFT SEMI JOIN b ON a.k = b.k AND a.v < b.v",
    "SELECT a.n FROM a ANTI JOIN b ON a.k = b.k AND a.v < b.v",
    "SELECT a.n FROM a LEFT ANTI JOIN b ON a.k = b.k AND a.v > 1 WHERE a.n < 30",
    "SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND b.v = 1) AND a.v = 2",
    "SELECT a.n FROM a WHERE a.v = 2 AND NOT EXISTS (SELECT 1 FROM b JOIN c ON b.v = c.v WHERE a.k = b.k)",
    "SELECT a.n FROM a WHERE a.v > 0 AND EXISTS (SELECT b.n FROM b WHERE a.k = b.k) AND a.n BETWEEN 2 AND 9",
    "SELECT a.n FROM a WHERE (a.v = 2 OR a.n < 5) AND NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k)",
    "SELECT a.n, b.n AS m FROM a JOIN b ON a.k = b.k WHERE exists(array(a.v), x -> x > b.v)",
    "SELECT a.n, b.n AS m FROM a LEFT JOIN b ON a.k = b.k AND 1 = 2",
    "SELECT a.n, b.n AS m FROM a RIGHT JOIN b ON a.k = b.k AND 1 = 2",
    "SELECT a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.v <=> c.v AND c.k = a.k",
    "SELECT a.n, b.n AS m, c.n AS l FROM a JOIN b ON a.k = b.k LEFT JOIN c ON a.v = c.v AND b.ts < a.ts "
    "AND c.ts >= a.ts",
    "SELECT a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON a.v = c.v "
    "AND a.ts <= b.ts",
    "SELECT a.n, b.n AS m, c.n AS l FROM a JOIN b ON a.k = b.k LEFT JOIN c ON a.v = c.v "
    "WHERE levenshtein(string(a.n), string(b.n)) < 3",
    "SELECT k, b.n AS m FROM a LEFT JOIN b USING (k)",
    "SELECT k, a.n FROM a RIGHT JOIN b USING (k)",
    "SELECT k, a.n, b.n AS m FROM a FULL JOIN b USING (k)",
    "SELECT a.n, b.n AS m FROM a LEFT JOIN b ON left(a.s, 1) = b.s AND a.k <=> b.k",
]


@pytest.mark.usefixtures("one_partition")
def test_kinds_of_join_mean_what_they_mean_in_spark(spark: SparkSession) -> None:
    frames = {}
    for number, name in enumerate("abc"):
        frames[name] = spark.range(0, 12 + 3 * number, 1, numPartitions=1).select(
            (F.col("id") + 100 * number).alias("n"),
            F.when(F.col("id") % 5 > 0, F.col("id") * (number + 2) % 7).alias("k"),
            F.when(F.col("id") % 4 > 0, F.col("id") % 3).alias("v"),
            F.element_at(F.array(F.lit("x"), F.lit("y")), (F.col("id") % 2 + 1).cast("int")).alias("s"),
            F.timestamp_seconds(1_700_000_000 + F.col("id")).alias("ts"),
        )
        frames[name].createOrReplaceTempView(name)
    streams = {name: wm.stream(name, df, time="ts", window="1 hour") for name, df in frames.items()}
    labelled = [(F.lit(number), text) for number, text in enumerate(KINDS)]
    ours, theirs = (
        sorted(
            map(
                str,
                reduce(
                    DataFrame.unionAll,
                    [df.select(label, F.to_json(F.struct("*"))) for label, df in frames_of],
                ).collect(),
            )
        )
        for frames_of in (
            [(label, wm.sql(text, streams, buckets=1).to_dataframe()) for label, text in labelled],
            [(label, spark.sql(text)) for label, text in labelled],
        )
    )
    assert ours == theirs
    assert len({row.split(",")[0] for row in ours}) == len(KINDS)
