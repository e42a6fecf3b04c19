"""Starting programs that are more than one process, and ending all of them."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import watersmeet

TESTS = Path(__file__).parents[1]
SOURCE = Path(watersmeet.__file__).parents[1]


def environment(**more: str) -> dict[str, str]:
    """This environment, in which the package and the tests can be imported, installed or not."""
    paths = [str(TESTS), str(SOURCE), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | more


def start(module: str, *arguments: Any, log: Path, **variables: str) -> subprocess.Popen[bytes]:
    """Start a module of the tests."""
    return launch([sys.executable, "-m", module, *map(str, arguments)], log, environment(**variables))


def launch(command: Sequence[str], log: Path, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own; what it says goes into a file."""
    with log.open("wb") as output:
        return subprocess.Popen(
            list(command),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=dict(variables),
            cwd=log.parent,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole group at once, with no chance to tidy up."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(module: str, *arguments: Any, log: Path, timeout: int = 300, **variables: str) -> str:
    """Run to the end and return what was printed; fails with it when the program does."""
    process = start(module, *arguments, log=log, **variables)
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        kill(process)
        raise AssertionError(f"{module} did not end in {timeout} s:\n{log.read_text()[-4000:]}") from None
    output = log.read_text()
    assert code == 0, f"{module} ended with {code}:\n{output[-4000:]}"
    return output
