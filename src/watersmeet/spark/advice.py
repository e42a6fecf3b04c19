"""What a session lacks that runs joins: said once, before its first query, with the cost and what to set."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from watersmeet.spark.connect import is_connected
from watersmeet.spark.master import is_local
from watersmeet.spark.settings import PARTITIONS, fitting_partitions, too_many_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("watersmeet")

_advised: WeakSet[Any] = WeakSet()
# Numbers of partitions that owners know about; `spark.listener` need not tell them again.
told_partitions: set[int] = set()


def advise(spark: SparkSession, buckets: int) -> None:
    """Warn of what makes joins of a session slow, or fail; once per session.

    Args:
        spark: The session.
        buckets: How many buckets the join has.
    """
    if spark in _advised:
        return
    _advised.add(spark)
    lacks = [*_partitions_line(spark.conf, buckets), *_interpreter_line(_workers_python(spark))]
    if lacks:
        logger.warning(
            "this session does not suit joins: %s. Build it with "
            "wm.configure(SparkSession.builder).getOrCreate(), which sets all that is needed.",
            "; and ".join(lacks),
        )


def _partitions_line(conf: Any, buckets: int) -> list[str]:
    partitions = int(conf.get(PARTITIONS, "200"))
    if not too_many_partitions(partitions, buckets):
        return []
    told_partitions.add(partitions)
    return [
        f"{PARTITIONS} is {partitions} for {buckets} buckets. Every partition is a task with a state store "
        "of its own in every batch, whether it has rows or not: 3,000 rows took 42 s of processor time with "
        "200 of them, and 3 s with 2. Set it before the first start of a query, for example "
        f'spark.conf.set("{PARTITIONS}", "{fitting_partitions(conf, buckets)}"), one for every core; a '
        "checkpoint keeps the number of its first start"
    ]


def _interpreter_line(python: str | None) -> list[str]:
    """Of a session whose workers run on this machine: whether it is this Python."""
    if python is None:
        return []
    found = shutil.which(python)
    # The programs of an environment lie in one folder; what they are links to says nothing.
    here = Path(sys.executable).parent
    if found is not None and os.path.realpath(Path(found).parent) == os.path.realpath(here):
        return []
    return [
        f"its Python workers run {found or python}, and this is {sys.executable}. They need the same "
        "version and the same packages, or queries fail: set the environment variable PYSPARK_PYTHON to the "
        "latter before the session is built"
    ]


def _workers_python(spark: SparkSession) -> str | None:
    """What workers on this machine run; None where they are elsewhere, and cannot be asked."""
    if is_connected(spark):
        return None
    context = spark.sparkContext
    return str(context.pythonExec) if is_local(str(context.master)) else None
