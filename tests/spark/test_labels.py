"""Buckets land where the labels say: computed here, checked against Spark's own hash.

Would catch: two buckets in one partition while another stays empty, labels that move between versions.
"""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from watersmeet.spark.host.labels import label_of


def test_sparks_hash_of_a_label_is_its_bucket(spark: SparkSession) -> None:
    labels = spark.createDataFrame(
        [(bucket, label_of(bucket)) for bucket in range(4097)], "bucket int, label int"
    )
    assert labels.where(F.hash("label") != F.col("bucket")).count() == 0


def test_buckets_spread_evenly_over_any_number_of_partitions(spark: SparkSession) -> None:
    labels = spark.createDataFrame([(label_of(bucket),) for bucket in range(24)], "label int")
    for partitions in (1, 2, 3, 8):
        placed = labels.repartition(partitions, "label").groupBy(F.spark_partition_id()).count()
        assert [row["count"] for row in placed.collect()] == [24 // partitions] * partitions
