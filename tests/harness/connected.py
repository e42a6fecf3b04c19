"""A program that does with Spark Connect all that can be done with a session; a warning ends it.

    python -m harness.connected <folder> <address>

It needs neither Java nor the files of the server's Spark.
"""

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import SparkSession

import watersmeet as wm
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows, to_sink
from oracles.reference import assert_same_rows


def main() -> None:
    folder, address = Path(sys.argv[1]), sys.argv[2]
    warnings.simplefilter("error")
    builder = SparkSession.builder.remote(address).config("spark.sql.session.timeZone", "UTC")
    spark = wm.configure(builder, cores=2).getOrCreate()
    warnings.simplefilter("default")
    print("partitions:", spark.conf.get("spark.sql.shuffle.partitions"))

    scenario = Scenario(folder)
    scenario.feed(3)
    assert_same_rows(result_values(scenario.query(spark, plain=True).to_dataframe()), scenario.expected())
    print("batch: exact")

    join = scenario.query(spark)
    running = to_sink(join.to_dataframe(), folder)
    assert_same_rows(result_values(sink_rows(spark, folder)), scenario.expected())
    print("stream: exact")
    metrics = [one for progress in running.recentProgress for one in wm.metrics(progress)]
    assert sum(one.results for one in metrics) == len(scenario.expected())
    print("metrics: exact")

    deployed(spark, scenario, folder / "deployed")
    print("deploy: exact")
    spark.stop()


def deployed(spark: SparkSession, scenario: Scenario, folder: Path) -> None:
    """The same join between two sites."""
    sited = [
        replace(one, site=("tokyo", "paris")[i % 2])
        for i, one in enumerate(scenario.query(spark).query.streams)
    ]
    join = wm.join(*sited, on=["h", "k"], select=[f"{one.name}.value" for one in sited])
    running = join.deploy(folder / "out", mailbox=folder / "mail", checkpoint=folder / "checkpoint")
    running.finish(timeout=240)
    table = ds.dataset(folder / "out", format="parquet", partitioning="hive").to_table()
    times = table.column("result_time").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    values = [table.column(i).to_pylist() for i in range(len(sited))]
    assert_same_rows(list(zip(*values, times, strict=True)), scenario.expected())


if __name__ == "__main__":
    main()
