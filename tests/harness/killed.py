"""Programs that are killed at a moment that can be seen from outside, and never later."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import programs

Moment = Callable[[], Any]


def committed(folder: Path) -> int:
    """The last batch that is complete."""
    return newest(folder / "checkpoint" / "commits")


def planned(folder: Path) -> int:
    """The last batch that was begun."""
    return newest(folder / "checkpoint" / "offsets")


def newest(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("[0-9]*")), default=-1)


def kill_at(moment: Moment, log: Path, module: str, *arguments: Any) -> None:
    """Run a program until the moment has come, and kill it before it has passed.

    `moment` is None when it has not come, or has passed.
    """
    for _ in range(3):
        process = programs.start(module, *arguments, log=log)
        try:
            wait_for(moment, process, log)
        finally:
            programs.kill(process)
        if moment() is not None:
            return
    raise AssertionError("the moment was over each time before the program was dead")


def wait_for(moment: Moment, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 200
    while moment() is None:
        assert process.poll() is None, f"the program ended too early:\n{log.read_text()[-4000:]}"
        assert time.monotonic() < deadline, f"no batch came that far:\n{log.read_text()[-4000:]}"
        time.sleep(0.003)


def kill_workers(process: subprocess.Popen[bytes]) -> int:
    """Kill the Python workers below a program, and not the process that they are forked from; how many."""
    said = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, check=True, text=True
    ).stdout
    all_running = [(int(pid), int(parent), what) for pid, parent, what in map(_parts, said.splitlines())]
    below = {process.pid}
    for _ in range(4):  # the program, Java, the process that forks, workers
        below |= {pid for pid, parent, _ in all_running if parent in below}
    parents = {parent for _, parent, _ in all_running}
    workers = [pid for pid, _, what in all_running if pid in below - parents and "spark.daemon" in what]
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(workers)


def _parts(line: str) -> list[str]:
    return line.split(None, 2)


def kill_when_written(folder: Path, batch: int, module: str, *arguments: object) -> None:
    """Kill a program that has written a batch and not committed it."""
    (folder / "hold").write_text(str(batch))
    written = folder / "written"
    kill_at(lambda: written.exists() or None, folder / "log", module, *arguments)
    assert committed(folder) < planned(folder) == batch
    written.unlink()
    (folder / "hold").unlink()
