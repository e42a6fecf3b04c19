"""One broker, and one Spark session with the connector, for all tests of this folder."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from harness.broker import Broker
from harness.kafka_jars import broker_jars, session_jars
from harness.streaming import build_session
from watersmeet.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs; who kills it starts it again."""
    ensure_java()
    made = Broker(tmp_path_factory.mktemp("broker"), broker_jars())
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """As in the other tests, with the connector to Kafka and the module for Avro."""
    ensure_java()
    session = build_session(tmp_path_factory.mktemp("spark"), settings={"spark.jars": session_jars()})
    yield session
    session.stop()
