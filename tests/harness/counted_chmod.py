"""A program that says how often Java runs `chmod` for files of checkpoints.

python -m harness.counted_chmod <folder>
"""

import os
import shutil
import sys
from pathlib import Path

from harness.scenario import Scenario
from harness.streaming import build_session, to_sink


def main(folder: Path) -> None:
    log = folder / "chmod.log"
    log.touch()
    chmod = folder / "bin" / "chmod"
    chmod.parent.mkdir()
    chmod.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("chmod")} "$@"\n')
    chmod.chmod(0o755)
    os.environ["PATH"] = f"{chmod.parent}{os.pathsep}{os.environ['PATH']}"
    spark = build_session(folder / "spark")
    scenario = Scenario(folder / "rows")
    scenario.feed(3)

    def count() -> int:
        lines = log.read_text().splitlines()
        log.write_text("")
        return len([line for line in lines if ".tmp" in line and "/checkpoint/" in line])

    to_sink(scenario.feeds[0].stream(spark, opened=False), folder / "plain")
    print("chmod of a plain query:", count())
    to_sink(scenario.query(spark).to_dataframe(), folder / "join")
    print("chmod of a join:", count())
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
