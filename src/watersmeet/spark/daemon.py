"""The process Python workers are forked from, with the kernels loaded before the first fork.

Loading pandas, Arrow and the compiled loops takes a worker a second or two; forked workers find all of
it in memory. Used through the setting ``spark.python.daemon.module``.

Spark makes a worker collect garbage after every task. With some hundred thousand objects of the libraries
to look through that took a third of all Python time; frozen, they are skipped, and their memory stays
shared between the workers.
"""

from __future__ import annotations

import gc


def main() -> None:
    """Load what every worker needs, then serve as Spark's own daemon does."""
    from pyspark import daemon

    import watersmeet.spark.buckets
    import watersmeet.spark.host.open_files
    import watersmeet.spark.host.open_records
    import watersmeet.spark.host.pack
    import watersmeet.spark.host.plain
    import watersmeet.spark.host.processor  # noqa: F401
    from watersmeet.spark.host.allocator import keep_freed_memory

    keep_freed_memory()
    gc.collect()
    gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    main()
