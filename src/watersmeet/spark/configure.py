"""A session in one line: `configure` puts the settings that suit joins on a builder of a SparkSession.

What can still be set depends on what runs already:

    nothing                                      everything, and the interpreter of the workers
    Java, started by spark-submit or a shell     everything but the options of that Java
    a session, or a Spark Connect server         what a running session can change
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from watersmeet.errors import InvalidSettings
from watersmeet.spark.ahead import import_ahead
from watersmeet.spark.class_archive import archive_options
from watersmeet.spark.defaults import default_settings, names_a_collector, socket_folder, without_collector
from watersmeet.spark.master import cores_of, is_local
from watersmeet.spark.settings import (
    DRIVER_JAVA,
    EXECUTOR_JAVA,
    FILE_MANAGER,
    SOCKETS,
    can_be_changed_later,
    recommended_settings,
    room_for_sockets,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Builder = TypeVar("Builder", bound="SparkSession.Builder")

_WORKERS_PYTHON = "PYSPARK_PYTHON"


def configure(builder: Builder, cores: int | None = None) -> Builder:
    """Put all settings that suit joins on the builder of a SparkSession, and choose the workers' Python.

    What was set before, on the builder or for spark-submit, is left as it is, and what is set afterwards
    counts. Say `master` or `remote` before: a session on this machine gets the interpreter that runs here
    for its workers, a Spark Connect server only what its sessions can change.

    Args:
        builder: What ``SparkSession.builder`` gives.
        cores: Cores that joins may use; None takes those of the master, or of this machine.

    Raises:
        InvalidSettings: That is no builder, or no number of cores.

    Example:
        >>> from pyspark.sql import SparkSession
        >>> builder = wm.configure(SparkSession.builder.appName("orders"))
        >>> spark = builder.getOrCreate()
    """
    _refuse_others(builder, cores)
    given = {**_started_with(), **_on_builder(builder)}
    settings = recommended_settings(cores or cores_of(_master(given), given.get))
    local = is_local(_master(given))
    if not local:
        # Chosen for checkpoints on a local disk, which several machines do not share.
        del settings[FILE_MANAGER]
    if not local or not room_for_sockets(socket_folder(given)):
        # On a cluster the temporary folder may be one of the application, with a long name.
        del settings[SOCKETS]
    if _runs_already(given):
        settings = {name: value for name, value in settings.items() if can_be_changed_later(name)}
    elif _java_runs():
        del settings[DRIVER_JAVA]
    else:
        if names_a_collector(given):
            settings |= {name: without_collector(settings[name]) for name in (DRIVER_JAVA, EXECUTOR_JAVA)}
        settings[DRIVER_JAVA] = " ".join([settings[DRIVER_JAVA], *archive_options(given=given)])
        import_ahead()
    for name, value in settings.items():
        if name not in given:
            builder.config(name, value)
    if local:
        # Spark reads it when it starts; by itself it takes the first python3 on the PATH.
        os.environ.setdefault(_WORKERS_PYTHON, sys.executable)
    return builder


def _refuse_others(builder: Any, cores: Any) -> None:
    if not hasattr(builder, "_options"):
        raise InvalidSettings(
            f"wm.configure takes a builder, not {builder!r}",
            "settings are chosen before a session is there.",
            "wm.configure(SparkSession.builder).getOrCreate(); it suits a session that runs already, too.",
        )
    if cores is not None and (type(cores) is not int or cores < 1):
        raise InvalidSettings(f"cores cannot be {cores!r}", "", "give a whole number of one or more.")


def _on_builder(builder: SparkSession.Builder) -> dict[str, str]:
    return {name: str(value) for name, value in builder._options.items()}  # noqa: SLF001


def _started_with() -> dict[str, str]:
    """What spark-submit, or the session that runs already, was told; or what Spark will be told anyway."""
    if not _java_runs():
        return default_settings()
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001
    active = SparkContext._active_spark_context  # noqa: SLF001
    return dict((SparkConf() if active is None else active.getConf()).getAll())


def _java_runs() -> bool:
    """Whether the driver's Java was started before Python, or by an earlier session."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    from pyspark import SparkContext

    return SparkContext._gateway is not None  # noqa: SLF001


def _remote(given: Mapping[str, str]) -> str:
    """The address of Spark Connect; empty without it."""
    return given.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")


def _master(given: Mapping[str, str]) -> str:
    return _remote(given) or given.get("spark.master", "local[*]")


def _runs_already(given: Mapping[str, str]) -> bool:
    if _remote(given).startswith("sc://"):
        return True
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None  # noqa: SLF001
