"""A query in SQL returns what Spark's own SQL returns, with its names and types.

Would catch: a unit of an interval taken for the name of a column, a function taken for a clause, USING that
joins on the wrong stream or returns the wrong column, words of conditions that are passed over.
"""

from pyspark.sql import SparkSession
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
