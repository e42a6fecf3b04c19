"""Running something in a process of its own, so that no run inherits a warm machine from another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


class TookTooLong(Exception):
    """A process was ended, with all it had started, since it had run for too long."""


def run_apart(
    module: str,
    spec: dict[str, Any],
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """What a module makes of a specification; it must hand its arguments to `answer`.

    Args:
        module: The module to run.
        spec: What it is asked, as JSON has it.
        environment: Variables that are other than here.
        seconds: How long it may take.

    Raises:
        TookTooLong: It took longer.
    """
    # Found here, since the process may run another version of us.
    from watersmeet.java import ensure_java

    ensure_java()
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as folder:
        paths = [Path(folder) / name for name in ("spec.json", "answer.json", "log.txt")]
        asked, answered, log = paths
        asked.write_text(json.dumps(spec))
        # What it writes goes with the folder, also when somebody ends it. A group of its own, since Java
        # would outlive it.
        with (
            log.open("wb") as output,
            subprocess.Popen(
                [sys.executable, "-m", module, str(asked), str(answered)],
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {}), "TMPDIR": folder},
                start_new_session=True,
            ) as process,
        ):
            status = _ended(process, seconds)
        if status != 0 or not answered.exists():
            raise RuntimeError(f"{module} failed:\n{log.read_text(errors='replace')[-4000:]}")
        found: dict[str, Any] = json.loads(answered.read_text())
    return found


def _ended(process: subprocess.Popen[bytes], seconds: float | None) -> int:
    try:
        return process.wait(seconds)
    except BaseException as error:
        # Also when somebody ends us: it no longer hears of Ctrl-C by itself.
        os.killpg(process.pid, signal.SIGKILL)
        if isinstance(error, subprocess.TimeoutExpired):
            raise TookTooLong(f"it was not done after {seconds:.0f} s") from None
        raise


def session_apart(cores: int, settings: dict[str, str], *, ours: bool = False) -> SparkSession:
    """The Spark session of such a process: quiet, with the interpreter that runs here.

    Args:
        cores: Its cores.
        settings: Beside the usual ones.
        ours: Whether `wm.configure` adds what suits our joins.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in {**_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    if ours:
        import watersmeet as wm

        builder = wm.configure(builder, cores)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def answer(run: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Run in the process that was started for it."""
    asked, answered = sys.argv[1:]
    Path(answered).write_text(json.dumps(run(json.loads(Path(asked).read_text()))))
