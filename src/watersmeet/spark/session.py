"""A Spark session of our own: quiet, small, and gone without a trace.

Spark's processes write to their inherited standard output and error, past Python: log lines, and what the
Python workers print. All of it goes into a file, shown only when something fails. Whatever Spark writes
to disk goes into one temporary folder, removed at the end whatever the end is.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from watersmeet.errors import WatersmeetError
from watersmeet.java import ensure_java
from watersmeet.spark.settings import SOCKETS, recommended_settings, room_for_sockets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = "spark.log"
_LOG_LINES_SHOWN = 15
_STOP_SECONDS = 15

# How errors of Spark begin that have a name.
_NAMED = re.compile(r"\[[A-Z][A-Z0-9_.]+\] ")

# Settings of some other Spark installation or session.
_FOREIGN_VARIABLES = (
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_API_MODE",
    "SPARK_CONF_DIR",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_HOME",
    "SPARK_REMOTE",
)


class SparkFailed(WatersmeetError, RuntimeError):
    """Spark did not start, or stopped in the middle."""


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A temporary folder for everything the block writes."""
    folder = Path(tempfile.mkdtemp(prefix="watersmeet-"))
    try:
        yield folder
    finally:
        _remove(folder)


@contextlib.contextmanager
def spark_session(
    folder: Path, cores: int | None = None, settings: Mapping[str, str] | None = None, *, brief: bool = False
) -> Iterator[SparkSession]:
    """A session that writes only into `folder`; one per process.

    Args:
        folder: An existing folder, which should outlive the session.
        cores: How many cores of this machine to use; None takes all.
        settings: Further settings of Spark, which go before ours.
        brief: For a run of seconds: Java compiles fast rather than well.

    Raises:
        watersmeet.errors.JavaNotFound: There is no Java to run Spark on.
        SparkFailed: Spark did not start, or ended in the middle.
    """
    ensure_java()
    _prepare_environment(folder)

    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setAll(list((_settings(folder, cores, brief=brief) | dict(settings or {})).items()))
    interrupt_handler = signal.getsignal(signal.SIGINT)
    with (folder / _LOG).open("wb") as log:
        try:
            # In a session of its own, so that Ctrl-C reaches Python alone, which then stops Spark in order.
            popen = {"stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True}
            gateway = launch_gateway(conf, popen)  # type: ignore[no-untyped-call]
        except PySparkException as error:
            raise SparkFailed("Spark did not start", _last_words(folder)) from error
    try:
        spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
        # Spark has put its own handler there, which calls the JVM from wherever the program happens to be.
        signal.signal(signal.SIGINT, interrupt_handler)
        try:
            yield spark
        finally:
            spark.stop()
    except (Py4JError, OSError) as error:
        if not _still_runs(gateway.proc):
            raise SparkFailed("Spark ended in the middle", _last_words(folder)) from error
        if isinstance(error, OSError):
            raise
        raise SparkFailed("Spark failed", essence(str(error))) from error
    finally:
        _end(gateway)


def essence(text: str, most: int = 6) -> str:
    """The last lines that people can use of what Spark says: no stack frames, no query plan."""
    lines = [line.rstrip() for line in text.split("=== Streaming Query ===")[0].splitlines()]
    noise = re.compile(r"\s+at |\s*\.\.\. \d+ more|\s*$|.* WARN ")
    return "\n  ".join([shorten(line, 300) for line in lines if not noise.match(line)][-most:])


def said_by(error: Exception) -> str:
    """What Spark calls an error, in a line: the one with a name such as [PATH_NOT_FOUND], if there is one."""
    # A text of SQL may follow, with a mark below it.
    said = str(error).split("== SQL ==")[0]
    named = (line.strip() for line in said.splitlines() if _NAMED.match(line.strip()))
    return shorten(next(named, ""), 300) or essence(said, 1)


def _last_words(folder: Path) -> str:
    log = (folder / _LOG).read_text(errors="replace")
    return f"the last it wrote was:\n  {essence(log, _LOG_LINES_SHOWN)}"


def _still_runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        return True
    return False


def _settings(folder: Path, cores: int | None, *, brief: bool) -> dict[str, str]:
    recommended = recommended_settings(cores)
    java = "spark.driver.extraJavaOptions"
    return {
        **recommended,
        SOCKETS: str(room_for_sockets(str(folder / "tmp"))).lower(),
        "spark.app.name": "watersmeet",
        "spark.master": f"local[{cores or '*'}]",
        "spark.driver.memory": "2g",
        # Nothing to listen on and nothing to look up: the machine's name may not even resolve.
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        # Times are shown as they are in the data.
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.showConsoleProgress": "false",
        java: " ".join(
            [
                f'-Djava.io.tmpdir="{folder / "tmp"}"',
                # A file in the system's temporary folder, whatever the line above says.
                "-XX:-UsePerfData",
                # A run of seconds ends before better code pays off.
                "-XX:TieredStopAtLevel=1" if brief else recommended[java],
            ]
        ),
    }


def _prepare_environment(folder: Path) -> None:
    """Set what Spark reads from the environment: before pyspark is imported, and for the workers."""
    for name in _FOREIGN_VARIABLES:
        os.environ.pop(name, None)
    for name in ("local", "tmp"):
        (folder / name).mkdir()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_DIRS"] = str(folder / "local")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["TMPDIR"] = str(folder / "tmp")


def _end(gateway: Any) -> None:
    """End the JVM and wait for it: until then it may write."""
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()  # the sign for Spark's launcher to end
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _remove(folder: Path) -> None:
    """Remove the folder for good: a Python worker that outlives the JVM for a moment may still write."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
