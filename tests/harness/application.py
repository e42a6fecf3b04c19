"""A program of its own that runs a scenario's query: to be killed, or to run where a test cannot.

    python -m harness.application <folder> <windows> <lateness> <master or remote> [<setting>=<value> ...]

The rows are read from the folder, the results and the checkpoint are written beside them.
"""

import sys
from pathlib import Path

from harness.scenario import Scenario
from harness.streaming import build_session, to_sink


def main() -> None:
    folder, windows, lateness, master, *settings = sys.argv[1:]
    scenario = Scenario(Path(folder), numbers(windows), numbers(lateness))
    more = dict(setting.split("=", 1) for setting in settings)
    spark = build_session(Path(folder) / "scratch", master, more)
    query = to_sink(scenario.query(spark).to_dataframe(), Path(folder))
    print(f"session: {type(spark).__module__}, batches: {query.lastProgress.batchId + 1}")
    spark.stop()


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
