"""Topics of Kafka through Spark Connect: the server has the connector, the client has nothing.

Would catch: code that asks a session for Java, a warning of a client about settings of the server, records
that are set aside without where they stand, a missing connector that is not called so.
"""

from pathlib import Path

import pytest

from harness import programs
from harness.broker import Broker
from harness.cluster import connect_server
from harness.kafka_jars import session_jars
from harness.topics import Topics, record
from watersmeet.java import ensure_java

pytestmark = pytest.mark.kafka


@pytest.mark.slow
def test_topics_are_read_joined_and_written(broker: Broker, tmp_path: Path) -> None:
    topics = Topics(broker, "connected")
    broker.send(topics.orders, [record(1), "no JSON", record(2), None, record(3)])
    broker.send(topics.payments, [record(2), record(3), record(4)])
    results = broker.create("connected_results")
    with connect_server(tmp_path, f"spark.jars={session_jars()}") as address:
        printed = programs.run(
            "harness.connected_topics",
            *(address, broker.servers, topics.orders, topics.payments, results, tmp_path),
            log=tmp_path / "client.log",
        )
    for said in (
        "records: 5 usable: 3",
        "joined: [2, 3]",
        "aside: [(1, 'malformed'), (3, 'tombstone')]",
        "metrics: {'results': 2, 'malformed': 1, 'tombstones': 1}",
        "written: [2, 3]",
    ):
        assert f"{said}\n" in printed
    assert "Warning" not in printed


def test_a_server_without_the_connector(tmp_path: Path) -> None:
    """The client is told which packages the server needs."""
    ensure_java()
    missing = pytest.raises(AssertionError, match="Spark runs without its connector to Kafka")
    with connect_server(tmp_path) as address, missing:
        programs.run(
            "harness.connected_topics",
            *(address, "127.0.0.1:1", "orders", "payments", "results", tmp_path),
            log=tmp_path / "client.log",
        )
