"""A broker of Kafka for the shape that reads topics; the tests have it, so `tests` must be on the path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from watersmeet.spark.jars import JarsMissing
from watersmeet_lab.shapes.data import records
from watersmeet_lab.shapes.shapes import Shape
from watersmeet_lab.shapes.systems import Place

# Of `harness.broker`.
Broker = Any


class NoBroker(Exception):
    """There is no broker to be had here."""


@contextmanager
def broker_in(folder: Path) -> Iterator[Broker]:
    """A broker that runs until the end.

    Raises:
        NoBroker: Its jars cannot be fetched, or it is not on the path.
    """
    try:
        made, jars = import_module("harness.broker"), import_module("harness.kafka_jars")
        folder.mkdir()
        broker = made.Broker(folder, jars.broker_jars())
    except (ModuleNotFoundError, JarsMissing) as error:
        raise NoBroker(str(error).splitlines()[0]) from None
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


def filled(broker: Broker, shape: Shape, prefix: str) -> Place:
    """Topics with all records of a shape."""
    from watersmeet.spark.kafka_packages import kafka_jars

    place = Place(Path(), broker.servers, prefix, kafka_jars())
    for stream in range(shape.streams):
        topic = broker.create(place.topic(stream))
        send(broker.servers, topic, records(shape, stream))
    return place


def send(servers: str, topic: str, values: Iterable[str]) -> None:
    """Append records to a topic, in their order."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "enable.idempotence": True})
    for value in values:
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(1)
    if left := producer.flush(300):
        raise RuntimeError(f"{left} records of {topic} could not be sent")
