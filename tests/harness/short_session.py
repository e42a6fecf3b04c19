"""A program with a session as users build it, which says whether Java maps an archive of its classes.

python -m harness.short_session
"""

from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

import watersmeet as wm


def main() -> None:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = wm.configure(builder).getOrCreate()
    assert spark.range(3).count() == 3
    jvm = SparkContext._jvm
    assert jvm is not None
    maps = Path(f"/proc/{jvm.ProcessHandle.current().pid()}/maps").read_text()
    print("mapped:", "watersmeet/classes/" in maps)
    spark.stop()


if __name__ == "__main__":
    main()
