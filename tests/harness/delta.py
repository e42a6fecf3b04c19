"""The settings of a session that reads and writes Delta tables.

python -m harness.delta        fetches the jars, which two sessions at a time cannot do
"""

import pyspark

# What pip calls 4.4.1 is not at Maven Central for this version of Spark.
VERSION = "4.4.0"


def delta_settings() -> dict[str, str]:
    spark = ".".join(pyspark.__version__.split(".")[:2])
    return {
        "spark.jars.packages": f"io.delta:delta-spark_{spark}_2.13:{VERSION}",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Fifty, otherwise, for tables of a few files.
        "spark.databricks.delta.snapshotPartitions": "2",
    }


def main() -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config(map=delta_settings())
    builder.config("spark.ui.enabled", "false").getOrCreate().stop()


if __name__ == "__main__":
    main()
