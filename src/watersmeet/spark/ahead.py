"""What is done ahead, beside what takes long: each takes seconds, and the first batch needs all of it.

    driver    starts Java ......... plans the query ........... first batch
    beside    imports modules       starts Python workers

Nothing depends on it: what is not done ahead is done when it is needed.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from watersmeet.spark.connect import is_connected
from watersmeet.spark.master import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What takes long. None of it imports PySpark, which the thread that starts Java imports meanwhile: two
# threads that import parts of one circle can each be given the half of a module.
_MODULES = ("pandas", "pyarrow", "watersmeet.kernel.operator")

_started: WeakSet[Any] = WeakSet()


def import_ahead() -> None:
    """Import what a query needs while Java starts."""
    threading.Thread(target=_import, name="watersmeet-imports", daemon=True).start()


def _import() -> None:
    with contextlib.suppress(Exception):
        for module in _MODULES:
            importlib.import_module(module)


def start_workers(spark: SparkSession) -> None:
    """Start the Python workers of a session on this machine while its first query is planned."""
    if is_connected(spark) or spark in _started or not is_local(str(spark.sparkContext.master)):
        return
    _started.add(spark)
    threading.Thread(target=_run, args=(spark,), name="watersmeet-workers", daemon=True).start()


def _run(spark: SparkSession) -> None:
    # Inside, so that it is pickled by value: a worker may have none of our modules, and will say so later.
    def same(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    # The session may stop meanwhile.
    with contextlib.suppress(Exception):
        cores = spark.sparkContext.defaultParallelism
        rows = spark.range(0, cores, 1, cores).mapInArrow(same, "id long")
        # A write that is cut off is logged as an error.
        rows.collect()
