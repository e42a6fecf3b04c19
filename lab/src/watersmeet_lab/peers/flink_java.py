"""A bounded streaming job on Flink's local cluster, in a Java of its own that is spoken to through Py4J.

All that is needed are the jars of the package `apache-flink-libraries`, in an environment that the Makefile
makes, and those of two formats. No Python of Flink's takes part.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from watersmeet.spark.jars import Jar, cache_folder, fetched

# The environment with Flink.
HOME_VARIABLE = "WATERSMEET_FLINK"
_PARQUET = Jar(
    "org.apache.flink:flink-sql-parquet:2.3.0",
    "f30617f4a5a6d437750f155ff72178ab34439aec91df64d96621c260559ba5fd",
)
_KAFKA = Jar(
    "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2",
    "5605c691d11a501382c383fecba37a7a552467da5ab7ba904ef5d6f3d62c5616",
)
# What Flink's own scripts open to it on Java 17.
_OPENED = (
    "java.lang java.lang.reflect java.net java.io java.nio sun.nio.ch java.text java.time java.util "
    "java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks"
)
JAVA = ("-Xmx6g", "-XX:+UseParallelGC")
_LOOK_EVERY_S = 0.25


class Job(NamedTuple):
    """What came of a job: the number it found, its seconds, and which part was read after how many."""

    found: int
    seconds: float
    read: list[tuple[float, float]]


class NoFlink(Exception):
    """There is no Flink to be had here."""


def flink_jars() -> list[Path]:
    """The jars of Flink itself.

    Raises:
        NoFlink: They were not installed.
    """
    home = Path(os.environ.get(HOME_VARIABLE, ".venv-flink"))
    found = sorted(home.glob("lib/python*/site-packages/pyflink/lib/*.jar"))
    if not found:
        raise NoFlink(f"there are no jars of Flink in {home}; make bench-peers fetches them")
    return found


def flink_version() -> str:
    """The version of Flink."""
    name = "flink-dist-"
    return next(jar.stem.removeprefix(name) for jar in flink_jars() if jar.stem.startswith(name))


def run_job(tables: Sequence[str], statement: str, settings: dict[str, str], *, reads_topics: bool) -> Job:
    """Run a statement whose first column counts the results, to the end of its tables.

    The seconds are those of the job, from when Flink has the plan to its end.
    """
    from py4j.java_gateway import GatewayParameters, JavaGateway  # type: ignore[import-untyped]
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=_java(reads_topics), auto_convert=True))
    try:
        flink = gateway.jvm.org.apache.flink
        port = _free_port()
        configuration = flink.configuration.Configuration()
        fixed = {
            "rest.address": "127.0.0.1",
            "rest.bind-address": "127.0.0.1",
            "rest.bind-port": str(port),
            "taskmanager.host": "127.0.0.1",
            "metrics.fetcher.update-interval": "200",
            "restart-strategy.type": "none",
            "table.local-time-zone": "UTC",
        }
        for name, value in {**fixed, **settings}.items():
            configuration.setString(name, value)
        builder = flink.table.api.EnvironmentSettings.newInstance().inStreamingMode()
        session = flink.table.api.TableEnvironment.create(builder.withConfiguration(configuration).build())
        for table in tables:
            session.executeSql(table)
        running = session.executeSql(statement)
        watched = _Watched(port)
        watched.start()
        rows, last = running.collect(), None
        while rows.hasNext():
            last = rows.next()
        watched.ended.set()
        seconds = running.getJobClient().get().getJobExecutionResult().get().getNetRuntime() / 1000
        # Nothing comes of a count of nothing.
        results = int(last.getField(0)) if last is not None else 0
        watched.join()
        return Job(results, seconds, [*watched.parts(), (seconds, 1.0)])
    except Py4JJavaError as error:
        # Without the places in the code, and while Java can still say it.
        said = [line for line in str(error).splitlines() if not line.startswith(("\tat ", "\t..."))]
        raise RuntimeError("\n".join(said[-6:])) from None
    finally:
        gateway.shutdown()


class _Watched(threading.Thread):
    """Asks a job again and again how many rows each of its sources has handed on."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._address = f"http://127.0.0.1:{port}/jobs"
        self._seen: list[tuple[float, dict[str, int]]] = []
        self.ended = threading.Event()

    def parts(self) -> list[tuple[float, float]]:
        """Which part was read: that of the slowest source, since others may run ahead of the joins.

        Of what a source has handed on in the end, since some rows do not pass the filters that run with it.
        """
        found = [(0.0, 0.0)]
        for seconds, counts in self._seen:
            most = self._seen[-1][1]
            part = min((counts.get(source, 0) / max(1, rows) for source, rows in most.items()), default=0.0)
            if part > found[-1][1]:
                found.append((seconds, part))
        return found

    def run(self) -> None:
        while not self.ended.wait(_LOOK_EVERY_S):
            try:
                job = self._asked("/" + self._asked("")["jobs"][0]["id"])
            except (OSError, LookupError, ValueError):
                continue  # It is starting, or has just ended.
            seconds = (job["now"] - job["start-time"]) / 1000
            sources = [one for one in job["vertices"] if one["name"].startswith("Source:")]
            self._seen.append((seconds, {one["id"]: one["metrics"]["write-records"] for one in sources}))

    def _asked(self, path: str) -> Any:
        with urllib.request.urlopen(self._address + path, timeout=5) as answer:  # noqa: S310
            return json.load(answer)


def _java(reads_topics: bool) -> int:  # noqa: FBT001
    """Start Java with Flink; returns the port at which it listens."""
    import pyspark
    from py4j.java_gateway import launch_gateway

    spark = Path(pyspark.__file__).parent / "jars"
    # Flink's reader of Parquet needs Hadoop, which comes with Spark.
    jars = [*flink_jars(), *spark.glob("hadoop-client-*.jar"), *spark.glob("commons-logging*.jar")]
    jars += fetched([_PARQUET, *([_KAFKA] if reads_topics else [])], cache_folder())
    port: int = launch_gateway(
        jarpath=str(next(spark.glob("py4j-*.jar"))),
        classpath=os.pathsep.join(map(str, jars)),
        javaopts=[*JAVA, *(f"--add-opens=java.base/{one}=ALL-UNNAMED" for one in _OPENED.split())],
        java_path=str(Path(os.environ["JAVA_HOME"]) / "bin" / "java"),
        die_on_exit=True,
        redirect_stdout=sys.stdout,
        redirect_stderr=sys.stderr,
    )
    return port


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
    return number
