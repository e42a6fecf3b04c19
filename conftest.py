"""Settings of the whole suite, and the one Spark session most tests share."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Workers must run this interpreter, whatever else is on PATH.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
# Functions of test modules travel to the workers by name.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parent / "tests"), os.environ.get("PYTHONPATH")])
)
# Spark looks up the name of the host, which takes seconds where it is not known.
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
# Java would go on for some seconds after every test that starts it, to leave an archive behind.
os.environ.setdefault("WATERSMEET_CLASS_ARCHIVE", "no")

# Loading compiled loops makes the first example slow on any machine, so no deadline.
settings.register_profile("dev", max_examples=60, deadline=None)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: left to the end, one of them would keep a single process busy."""
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("slow", "soak")))


@pytest.fixture(autouse=True)
def _environment_as_before() -> Iterator[None]:
    """What a test does to the environment ends with it: Spark may start after it and must find Java."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A session as users would build it, made small: two cores, no web page, files in a scratch folder."""
    from harness.streaming import build_session

    session = build_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def long_ways(spark: "SparkSession") -> Iterator[None]:
    """Rows and state go through Java, as on a cluster."""
    yield from _one_host(spark, "false")


@pytest.fixture
def short_ways(spark: "SparkSession") -> Iterator[None]:
    """Rows and state lie in files, also in make test-ways."""
    yield from _one_host(spark, "true")


def _one_host(spark: "SparkSession", value: str) -> Iterator[None]:
    from watersmeet.spark.master import ONE_HOST

    before = spark.conf.get(ONE_HOST, None)
    spark.conf.set(ONE_HOST, value)
    yield
    if before is None:
        spark.conf.unset(ONE_HOST)
    else:
        spark.conf.set(ONE_HOST, before)


@pytest.fixture
def one_partition(spark: "SparkSession") -> Iterator[None]:
    """Every operator runs as one task: for tests of many joins in one query."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, "1")
    yield
    spark.conf.set(name, before)


@pytest.fixture
def command(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs a command that must succeed without a complaint; returns what it printed.

    In this process and on the session of the tests, since a Spark of its own takes half a minute.
    """
    from watersmeet.cli import main
    from watersmeet.demo import run as demo
    from watersmeet.jobs import runner

    for module in (demo, runner):
        monkeypatch.setattr(module, "spark_session", lambda *_, **__: nullcontext(spark))

    def run(*arguments: str) -> str:
        code = main(arguments)
        shown = capsys.readouterr()
        assert (code, shown.err) == (0, "")
        return shown.out

    return run
