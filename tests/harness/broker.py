"""A broker of Kafka on loopback: started, killed, started again; and records for it.

As a program, `make kafka`, it runs one on port 9092 until somebody stops it.
"""

import base64
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from harness.kafka_jars import broker_jars
from watersmeet.java import ensure_java

# How long a broker may take to start on a busy machine.
_PATIENCE_S = 120


class Broker:
    """A broker with one node, with its files in a folder of its own."""

    def __init__(self, folder: Path, jars: Sequence[Path], port: int | None = None) -> None:
        """Make its folder and its settings; `start` starts it, on any free port if none is given."""
        self._folder = folder
        self._classes = os.pathsep.join(map(str, jars))
        self._process: subprocess.Popen[bytes] | None = None
        free, controller = _free_ports(2)
        port = port or free
        self.servers = f"127.0.0.1:{port}"
        self._settings = folder / "server.properties"
        self._settings.write_text(
            "\n".join(
                [
                    "process.roles=broker,controller",
                    "node.id=1",
                    f"controller.quorum.voters=1@127.0.0.1:{controller}",
                    f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
                    f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}",
                    "controller.listener.names=CONTROLLER",
                    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                    f"log.dirs={folder / 'logs'}",
                    "offsets.topic.replication.factor=1",
                    "transaction.state.log.replication.factor=1",
                    "transaction.state.log.min.isr=1",
                    "group.initial.rebalance.delay.ms=0",
                ]
            )
        )
        identity = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "-t", identity, "-c", str(self._settings)]
        subprocess.run(self._java(*tool), check=True, capture_output=True, cwd=folder)

    def start(self) -> None:
        """Start, and wait until it answers."""
        with (self._folder / "broker.log").open("ab") as log:
            command = self._java("kafka.Kafka", str(self._settings))
            self._process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, cwd=self._folder, start_new_session=True
            )
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            assert self._process.poll() is None, (self._folder / "broker.log").read_text()[-2000:]
            try:
                self._admin().list_topics(timeout=2)
            except Exception:  # noqa: BLE001
                time.sleep(0.3)
            else:
                return
        raise AssertionError("the broker does not answer")

    def kill(self) -> None:
        """It is gone at once, as if the machine had lost its power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def create(self, topic: str, partitions: int = 1, **settings: str) -> str:
        """A new topic; returns its name."""
        admin = self._admin()
        admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(60)
        self._wait_for_partitions(topic, partitions)
        return topic

    def add_partitions(self, topic: str, total: int) -> None:
        """A topic has so many partitions from now on."""
        admin = self._admin()
        admin.create_partitions([NewPartitions(topic, total)])[topic].result(60)
        self._wait_for_partitions(topic, total)

    def send(self, topic: str, records: Iterable[Any], *, key: Any = None, partition: int = -1) -> None:
        """Append records: values, each as bytes, as text, or None for a tombstone."""
        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True})
        for value in records:
            producer.produce(topic, value, key, partition)
        assert producer.flush(60) == 0

    def give_up(self, topic: str, records: Iterable[Any]) -> None:
        """Append records in a transaction that is then aborted."""
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": f"of {topic}"})
        producer.init_transactions(60)
        producer.begin_transaction()
        for value in records:
            producer.produce(topic, value)
        assert producer.flush(60) == 0
        producer.abort_transaction(60)

    def delete(self, topic: str, before: dict[int, int]) -> None:
        """Records of a topic are gone, as if they had expired: all before an offset, by partition."""
        parts = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
        admin = self._admin()
        for done in admin.delete_records(parts).values():
            done.result(60)

    def remove(self, *topics: str) -> None:
        """Topics are gone, if they were there."""
        admin = self._admin()
        there = [topic for topic in topics if topic in admin.list_topics(timeout=30).topics]
        for done in admin.delete_topics(there).values() if there else ():
            done.result(60)
        until = time.monotonic() + _PATIENCE_S
        while any(topic in admin.list_topics(timeout=30).topics for topic in there):
            assert time.monotonic() < until
            time.sleep(0.2)

    def size(self, topic: str) -> int:
        """How many records a topic has got so far."""
        consumer = self._consumer()
        try:
            partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
            parts = [TopicPartition(topic, partition) for partition in partitions]
            return sum(consumer.get_watermark_offsets(part, timeout=30)[1] for part in parts)
        finally:
            consumer.close()

    def read(self, topic: str) -> list[tuple[str | None, str | None]]:
        """Key and value of all records of a topic."""
        found = self.read_all(topic)
        return list(zip(found["key"], found["value"], strict=True))

    def read_all(self, topic: str) -> dict[str, list[Any]]:
        """All records of a topic by column: partition, offset, key and value; without gaps."""
        consumer = self._consumer()
        found: dict[str, list[Any]] = {name: [] for name in ("partition", "offset", "key", "value")}
        try:
            for partition in consumer.list_topics(topic, timeout=30).topics[topic].partitions:
                first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
                consumer.assign([TopicPartition(topic, partition, first)])
                while first < end:
                    some = consumer.consume(min(10_000, end - first), timeout=30)
                    assert some, f"partition {partition} of {topic} ends at {end}, read up to {first}"
                    for record in some:
                        assert record.error() is None, record.error()
                        found["partition"].append(partition)
                        found["offset"].append(record.offset())
                        found["key"].append(_text(record.key()))
                        found["value"].append(_text(record.value()))
                    first = some[-1].offset() + 1
            return found
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        return Consumer({"bootstrap.servers": self.servers, "group.id": "tests", "enable.auto.commit": False})

    def _admin(self) -> AdminClient:
        """To be kept until it has answered: what it was asked ends with it."""
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def _wait_for_partitions(self, topic: str, total: int) -> None:
        until = time.monotonic() + _PATIENCE_S
        while len(self._admin().list_topics(topic, timeout=30).topics[topic].partitions) < total:
            assert time.monotonic() < until, f"{topic} never had {total} partitions"
            time.sleep(0.2)

    def _java(self, *arguments: str) -> list[str]:
        java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
        return [str(java), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", self._classes, *arguments]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _free_ports(count: int) -> list[int]:
    """Ports that nobody has now."""
    with_ports = [socket.socket() for _ in range(count)]
    try:
        for one in with_ports:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in with_ports]
    finally:
        for one in with_ports:
            one.close()


def main() -> None:
    """Run a broker until Ctrl-C."""
    ensure_java()
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder), broker_jars(), port=9092)
        try:
            broker.start()
            print(
                f"A broker of Kafka runs at {broker.servers}; Ctrl-C ends it and its records.",
                flush=True,
            )
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            broker.kill()


if __name__ == "__main__":
    main()
