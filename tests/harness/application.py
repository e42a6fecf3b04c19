"""A program of its own that runs a scenario's query: to be killed, or to run where a test cannot.

    python -m harness.application <folder> <windows> <lateness> <master or remote> [<setting>=<value> ...]

`how=full` and `memory=64 MB` among the settings are those of the join, `checkpoint=` is another place for it.
The rows are read from the folder, the results and the checkpoint are written beside them.
"""

import sys
from pathlib import Path

from pyspark import SparkContext

import watersmeet as wm
from harness.scenario import Scenario
from harness.streaming import build_session, to_sink


def main() -> None:
    folder, windows, lateness, master, *settings = sys.argv[1:]
    scenario = Scenario(Path(folder), numbers(windows), numbers(lateness))
    more = dict(setting.split("=", 1) for setting in settings)
    options = {name: more.pop(name) for name in ("how", "memory") if name in more}
    checkpoint = more.pop("checkpoint", None)
    spark = build_session(Path(folder) / "scratch", master, more)
    join = scenario.query(spark, **options)
    query = to_sink(join.to_dataframe(), Path(folder), checkpoint)
    print(f"session: {type(spark).__module__}, batches: {query.lastProgress.batchId + 1}")
    print(f"executors: {executors()}")
    reported = [metrics for progress in query.recentProgress for metrics in wm.metrics(progress)]
    print(f"results: {sum(metrics.results for metrics in reported)}")
    if len(reported) > 2:
        print(join.explain(analyze=query))
    spark.stop()


def executors() -> int:
    """How many processes run tasks for the driver, which is in this process also under Spark Connect."""
    context = SparkContext._active_spark_context
    assert context is not None
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1  # the driver is among them


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
