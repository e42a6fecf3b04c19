"""The process Python workers are forked from, with the kernels loaded before the first fork.

Loading pandas, Arrow and the compiled loops takes a worker a second or two; forked workers find all of
it in memory. Used through the setting ``spark.python.daemon.module``.
"""

from __future__ import annotations


def main() -> None:
    """Load what every worker needs, then serve as Spark's own daemon does."""
    from pyspark import daemon

    import watersmeet.spark.batch
    import watersmeet.spark.pack
    import watersmeet.spark.processor  # noqa: F401

    daemon.manager()


if __name__ == "__main__":
    main()
