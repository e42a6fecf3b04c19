"""Spark's own programs from pip's Spark on loopback: spark-submit, a standalone cluster, a Connect server."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from harness.programs import environment, kill, launch

HOME = Path(pyspark.__file__).parent
_START_SECONDS = 90


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def submit(*arguments: str, log: Path, timeout: int = 300, **variables: str) -> str:
    """Run spark-submit to its end; what the program printed, with what Spark wrote in the log."""
    with log.open("wb") as errors:
        done = subprocess.run(
            [str(HOME / "bin" / "spark-submit"), *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            env=_environment(**variables),
            cwd=log.parent,
            timeout=timeout,
        )
    assert done.returncode == 0, log.read_text()[-4000:]
    return done.stdout.decode()


@dataclass
class Cluster:
    """A standalone cluster.

    Attributes:
        master: Its address, as a session takes it.
        workers: The processes that start executors, each in a process group of its own.
    """

    master: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def lose_worker(self, number: int) -> None:
        """As when a machine is gone: the worker and its executors at once."""
        kill(self.workers[number])


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and workers of one core, each with local folders of its own."""
    port = free_port()
    with contextlib.ExitStack() as running:
        master = "org.apache.spark.deploy.master.Master"
        at = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        running.enter_context(_process(folder / "master.log", master, *at))
        wait_for_port(port)
        cluster = Cluster(f"spark://127.0.0.1:{port}")
        for number in range(workers):
            place = folder / f"worker-{number}"
            place.mkdir()
            worker = "org.apache.spark.deploy.worker.Worker"
            share = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            arguments = [*share, "--work-dir", str(place / "work"), cluster.master]
            process = _process(place / "log", worker, *arguments, SPARK_LOCAL_DIRS=str(place / "local"))
            cluster.workers.append(running.enter_context(process))
        yield cluster


@contextlib.contextmanager
def connect_server(folder: Path, *settings: str) -> Iterator[str]:
    """A Spark Connect server with settings, written ``name=value``; its address."""
    port = free_port()
    given = [f"spark.connect.grpc.binding.port={port}", "spark.ui.enabled=false", *settings]
    options = [part for setting in given for part in ("--conf", setting)]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    program = "org.apache.spark.deploy.SparkSubmit"
    with _process(folder / "server.log", program, "--master", "local[2]", *options, *server):
        wait_for_port(port)
        yield f"sc://localhost:{port}"


@contextlib.contextmanager
def _process(log: Path, program: str, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(HOME / "bin" / "spark-class"), program, *arguments]
    process = launch(command, log, _environment(**variables))
    try:
        yield process
    finally:
        kill(process)


def _environment(**more: str) -> dict[str, str]:
    """As on a machine on which the package is installed, with nothing left over from the tests' session."""
    here = {name: value for name, value in environment().items() if not name.startswith("PYSPARK_")}
    return here | {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), here["PATH"]]),
        **more,
    }


def wait_for_port(port: int) -> None:
    """Until somebody listens on it."""
    for _ in range(_START_SECONDS * 2):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.5)
    raise AssertionError(f"nothing listens on port {port} after {_START_SECONDS} s")
