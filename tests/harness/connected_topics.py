"""A program that reads, joins and writes topics of Kafka through Spark Connect; a warning ends it.

    python -m harness.connected_topics <address> <servers> <orders> <payments> <results> <folder>

The topics of orders and payments have records; those of results are written. It needs neither Java nor the
connector, which the server has.
"""

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

import watersmeet as wm
from harness.streaming import sink_rows, to_sink
from harness.topics import SCHEMA


def main() -> None:
    address, servers, orders, payments, results, folder = sys.argv[1:]
    warnings.simplefilter("error")
    builder = SparkSession.builder.remote(address).config("spark.sql.session.timeZone", "UTC")
    spark = wm.configure(builder, cores=2).getOrCreate()
    warnings.simplefilter("default")

    plain = wm.kafka(spark, servers=servers, topics=orders, schema=SCHEMA, streaming=False)
    print("records:", plain.count(), "usable:", plain.filter("kafka_problem IS NULL").count())

    streams = [
        wm.stream(
            name,
            wm.kafka(spark, servers=servers, topics=topic, schema=SCHEMA),
            time="ts",
            window="10 seconds",
            lateness="1 hour",
        )
        for name, topic in (("orders", orders), ("payments", payments))
    ]
    query = wm.join(*streams, on="id", select=["orders.id", "payments.amount"], buckets=2)
    joined(spark, query, Path(folder))
    written(spark, query, servers, results, Path(folder))
    spark.stop()


def joined(spark: SparkSession, query: wm.Query, folder: Path) -> None:
    """Results, what was set aside with where it stands, metrics, and what was lost."""
    running = to_sink(query.to_dataframe(set_aside=True), folder)
    rows = sink_rows(spark, folder)
    print("joined:", sorted(row.id for row in rows.filter("set_aside IS NULL").collect()))
    aside = rows.select("set_aside.*").filter("reason IS NOT NULL").collect()
    print("aside:", sorted((json.loads(one.content)["kafka_offset"], one.reason) for one in aside))
    counts: Counter[str] = Counter()
    for progress in running.recentProgress:
        assert wm.kafka_lost(progress) == {}
        for one in wm.metrics(progress):
            counts["results"] += one.results
            counts["malformed"] += one.streams["orders"].malformed
            counts["tombstones"] += one.streams["orders"].tombstones
    print("metrics:", dict(counts))


def written(spark: SparkSession, query: wm.Query, servers: str, topic: str, folder: Path) -> None:
    """Results as records, which are read again."""
    records = query.to_dataframe(result_id=True).selectExpr("result_id AS key", "to_json(struct(*)) AS value")
    writer = records.writeStream.format("kafka").option("kafka.bootstrap.servers", servers)
    writer = writer.option("topic", topic).option("checkpointLocation", str(folder / "checkpoint of records"))
    writer.trigger(availableNow=True).start().awaitTermination()
    again = wm.kafka(spark, servers=servers, topics=topic, schema="id BIGINT", streaming=False)
    print("written:", sorted(row.id for row in again.collect()))


if __name__ == "__main__":
    main()
