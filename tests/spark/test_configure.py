"""A session in one line, and what a session is told that was made without it.

Would catch: a setting of the user that is overridden, a setting that a session cannot take, a warning that
never comes, comes twice, or comes where nothing is wrong.
"""

import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness.programs import environment
from watersmeet.errors import InvalidSettings
from watersmeet.spark import advice
from watersmeet.spark.defaults import default_settings, names_a_collector, socket_folder, without_collector
from watersmeet.spark.master import ONE_HOST, cores_of, is_local, on_one_host
from watersmeet.spark.settings import (
    DAEMON,
    DRIVER_JAVA,
    FILE_MANAGER,
    PARTITIONS,
    SOCKETS,
    can_be_changed_later,
    recommended_settings,
    room_for_sockets,
)

PROVIDER = "spark.sql.streaming.stateStore.providerClass"

_PROGRAM = """
import json, os, sys
from pyspark.sql import SparkSession
import watersmeet as wm

found = {}
for name, settings in json.loads(sys.argv[1]).items():
    os.environ.pop("PYSPARK_PYTHON", None)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    assert wm.configure(builder) is builder
    found[name] = [builder._options, os.environ.get("PYSPARK_PYTHON")]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def configured() -> dict[str, Any]:
    """What is on a builder, and which interpreter was chosen, where no Spark runs yet."""
    asked = {
        "plain": {},
        "own": {"spark.master": "local[3]", DAEMON: "mine", "spark.cores.max": "7"},
        "cluster": {"spark.master": "spark://10.0.0.1:7077", "spark.cores.max": "12"},
        "starts a server": {"spark.remote": "local[3]"},
        "server": {"spark.remote": "sc://10.0.0.1:15002"},
        "long names": {"spark.driver.defaultJavaOptions": f"-Djava.io.tmpdir=/{'t' * 80} -Da=b"},
    }
    away = ("PYSPARK_PYTHON", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")
    here = {name: value for name, value in environment().items() if name not in away}
    command = [sys.executable, "-c", _PROGRAM, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, env=here, check=True, text=True)
    return dict(json.loads(done.stdout))


def test_a_session_on_this_machine_gets_everything(configured: dict[str, Any]) -> None:
    options, python = configured["plain"]
    assert options == recommended_settings()
    assert python == sys.executable


def test_what_was_set_before_stays(configured: dict[str, Any]) -> None:
    options, _ = configured["own"]
    assert options[DAEMON] == "mine"
    assert options[PARTITIONS] == "3"
    assert options[PROVIDER] == recommended_settings()[PROVIDER]


def test_a_cluster_keeps_its_interpreter(configured: dict[str, Any]) -> None:
    options, python = configured["cluster"]
    assert python is None
    assert options[PARTITIONS] == "12"
    assert FILE_MANAGER not in options
    assert SOCKETS not in options
    assert DRIVER_JAVA in options


def test_sockets_need_a_short_name(configured: dict[str, Any]) -> None:
    options, _ = configured["plain"]
    assert options[SOCKETS] == "true"
    options, _ = configured["long names"]
    assert SOCKETS not in options
    quoted = {DRIVER_JAVA: "-Da=b -Djava.io.tmpdir='/scratch/a b' -Dc=d"}
    assert socket_folder(quoted) == "/scratch/a b"
    assert room_for_sockets(socket_folder(quoted))


def test_spark_connect_gets_what_its_sessions_can_set(configured: dict[str, Any]) -> None:
    here, python = configured["starts a server"]
    assert here == recommended_settings(3) | {"spark.remote": "local[3]"}
    assert python == sys.executable
    there, python = configured["server"]
    assert python is None
    assert there[PROVIDER] == here[PROVIDER]
    assert {DAEMON, DRIVER_JAVA, FILE_MANAGER}.isdisjoint(there)


def test_a_session_that_runs_already_takes_it_without_a_complaint(spark: SparkSession) -> None:
    session = spark.newSession()
    for name, value in recommended_settings().items():
        if can_be_changed_later(name):
            session.conf.set(name, value)
        else:
            with pytest.raises(Exception, match="CANNOT_MODIFY_CONFIG"):
                session.conf.set(name, value)
    partitions = spark.conf.get(PARTITIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wm.configure(SparkSession.builder).getOrCreate() is spark
    assert spark.conf.get(PARTITIONS) == partitions


def test_what_spark_is_told_before_a_program_says_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By spark-defaults.conf and by the arguments of spark-submit in the environment."""
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.a 0\n\nspark.master   local[1]\nspark.sql.shuffle.partitions=16\n"
        "spark.driver.defaultJavaOptions -Dx=y -XX:+UseG1GC\nspark.empty\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS", "--conf spark.b='1 2' --driver-java-options -Dq=1 pyspark-shell"
    )
    found = default_settings()
    assert found == {
        "spark.master": "local[1]",
        "spark.sql.shuffle.partitions": "16",
        "spark.driver.defaultJavaOptions": "-Dx=y -XX:+UseG1GC",
        "spark.b": "1 2",
        "spark.driver.extraJavaOptions": "-Dq=1",
    }
    assert names_a_collector(found)
    assert not names_a_collector({})
    (tmp_path / "other.conf").write_text("spark.c 3\n")
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS",
        f"--properties-file={tmp_path}/other.conf --master=local[7] --conf=spark.a=b=c"
        " -c spark.d=4 pyspark-shell",
    )
    assert default_settings() == {
        "spark.c": "3",
        "spark.master": "local[7]",
        "spark.a": "b=c",
        "spark.d": "4",
    }
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:+UseG1GC")
    assert names_a_collector({})
    assert without_collector(recommended_settings(2)[DRIVER_JAVA]).endswith("MetaspaceSize=256m")


def test_cores_of_a_master() -> None:
    assert [cores_of(one, {}.get) for one in ("local", "local[4]", "local[4,2]")] == [1, 4, 4]
    assert cores_of("yarn", {"spark.executor.instances": "3", "spark.executor.cores": "4"}.get) == 12
    assert cores_of("spark://host:7077", {"spark.cores.max": "6"}.get) == 6
    assert not is_local("local-cluster[2,1,1024]")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: wm.configure(SparkSession), "wm.configure takes a builder, not <class"),  # type: ignore[type-var]
        (lambda: wm.configure(SparkSession.builder, cores=-1), "cores cannot be -1"),
        (lambda: wm.configure(SparkSession.builder, cores="4"), "cores cannot be '4'"),  # type: ignore[arg-type]
        (lambda: on_one_host({ONE_HOST: "no"}), "oneHost is no"),
        (lambda: cores_of("yarn", {"spark.executor.instances": "many"}.get), "instances is many"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: Callable[[], Any], said: str) -> None:
    with pytest.raises(InvalidSettings, match=said):
        asked()


def rates(spark: SparkSession, name: str) -> Any:
    df = spark.readStream.format("rate").load()
    return wm.stream(name, df, time="timestamp", window="1 minute")


@pytest.fixture
def other(spark: SparkSession) -> SparkSession:
    """A session with Spark's default of partitions, beside that of the tests."""
    session = spark.newSession()
    session.conf.set(PROVIDER, recommended_settings()[PROVIDER])
    session.conf.set(PARTITIONS, "200")
    return session


def test_a_session_that_does_not_suit_joins_is_told_once(
    other: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other.sparkContext, "pythonExec", "/elsewhere/python3")
    monkeypatch.setattr(advice, "told_partitions", set())
    query = wm.join(rates(other, "a"), rates(other, "b"), on="value")
    with caplog.at_level(logging.WARNING, "watersmeet"):
        query.to_dataframe()
        query.to_dataframe()
    (line,) = [record.getMessage() for record in caplog.records]
    assert "spark.sql.shuffle.partitions is 200 for 8 buckets" in line
    assert f"its Python workers run /elsewhere/python3, and this is {sys.executable}" in line
    assert "wm.configure(SparkSession.builder)" in line
    assert advice.told_partitions == {200}


def test_the_session_of_the_tests_suits_joins(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    session = spark.newSession()
    session.conf.set(PARTITIONS, "2")
    with caplog.at_level(logging.WARNING, "watersmeet"):
        wm.join(rates(session, "a"), rates(session, "b"), on="value").to_dataframe()
    assert caplog.records == []


def test_the_python_of_an_environment_by_any_of_its_names(tmp_path: Path) -> None:
    beside = Path(sys.executable).with_name("python3")
    if beside.exists():
        assert advice._interpreter_line(str(beside)) == []
    link = tmp_path / "python3"
    os.symlink(sys.executable, link)
    assert len(advice._interpreter_line(str(link))) == 1
    assert len(advice._interpreter_line("no such program")) == 1


def test_the_first_error_asks_for_all_that_is_needed(other: SparkSession) -> None:
    other.conf.unset(PROVIDER)
    other.conf.set(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    with pytest.raises(InvalidSettings) as caught:
        wm.join(rates(other, "a"), rates(other, "b"), on="value").to_dataframe()
    assert "spark.sql.shuffle.partitions is 200" in caught.value.detail
    assert "wm.configure(SparkSession.builder)" in caught.value.hint
    # Doing what it says, word for word, is enough.
    for line in caught.value.hint.split("in this session ")[1].rstrip(".").split(" and "):
        exec(line, {"spark": other})  # noqa: S102
    wm.join(rates(other, "a"), rates(other, "b"), on="value").to_dataframe()
    assert other.conf.get(PARTITIONS) == "2"
