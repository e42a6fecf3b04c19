"""What the master of a session says: whether all runs in one process here, and how many cores it has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from watersmeet.errors import InvalidSettings

_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,.*)?\])?")

ONE_HOST = "spark.watersmeet.oneHost"

# A setting by its name, or None.
Settings = Callable[[str], str | None]


def is_local(master: str) -> bool:
    """Whether Spark runs all in one process of this machine."""
    return _LOCAL.fullmatch(master) is not None


def on_one_host(conf: Any) -> bool:
    """Whether all workers of a session are on one machine, by its runtime configuration.

    The setting `ONE_HOST`, if it is false, has rows and state take the ways they take on a cluster.

    Raises:
        InvalidSettings: It is something else.
    """
    said = str(conf.get(ONE_HOST, "true")).strip().lower()
    if said not in ("true", "false"):
        raise InvalidSettings(f"{ONE_HOST} is {said}", "", "it is true or false.")
    return said == "true" and is_local(str(conf.get("spark.master", "")))


def cores_of(master: str, setting: Settings) -> int:
    """How many cores a session has; of a cluster that does not say it, as many as this machine.

    >>> cores_of("local[4]", {}.get), cores_of("spark://10.0.0.1:7077", {"spark.cores.max": "12"}.get)
    (4, 12)
    """
    local = _LOCAL.fullmatch(master)
    if local is not None:
        return 1 if local[1] is None else usable_cores() if local[1] == "*" else int(local[1])
    most, executors = (_whole(setting, name) for name in ("spark.cores.max", "spark.executor.instances"))
    if most is not None:
        return most
    if executors is not None:
        return executors * (_whole(setting, "spark.executor.cores") or 1)
    return usable_cores()


def _whole(setting: Settings, name: str) -> int | None:
    said = setting(name)
    if said is None or said.strip().isdecimal():
        return None if said is None else int(said)
    raise InvalidSettings(
        f"{name} is {said}", "it is a number of cores or of executors.", "set a whole number."
    )


def usable_cores() -> int:
    """Those of this machine that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
