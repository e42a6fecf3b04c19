"""Fills the three topics of this example: orders, payments and shipments of seven hours, as JSON.

    python examples/kafka/fill.py 127.0.0.1:9092 --records 1500000

Records come out of order, by up to 20 seconds. A few come half an hour late, a few cannot be decoded, and a
few are tombstones. The same numbers give the same records. Needs confluent-kafka.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPICS = ("orders", "payments", "shipments")
START = np.datetime64("2026-05-01T00:00:00", "ms")
ORDER_EVERY_MS = 50
# How long after its order a record may be dated, and how much later than that it comes, in milliseconds.
AFTER_MS = {"orders": 1, "payments": 12 * 60_000, "shipments": 25 * 60_000}
OUT_OF_ORDER_MS = 20_000
LATE_MS = 30 * 60_000
# Of a thousand records.
LATE, MALFORMED, TOMBSTONES = 1, 2, 2
PARTITIONS = 3


def records(topic: str, count: int) -> Iterator[tuple[str, str | None]]:
    """Key and value of each record of a topic, in the order they come."""
    rng = np.random.default_rng([TOPICS.index(topic), count])
    order = np.arange(count) if topic == "orders" else np.sort(rng.integers(0, count, count))
    time = order * ORDER_EVERY_MS + rng.integers(0, AFTER_MS[topic], count)
    comes = time + rng.integers(0, OUT_OF_ORDER_MS, count) + LATE_MS * (rng.integers(0, 1000, count) < LATE)
    fate = rng.integers(0, 1000, count)
    number = rng.integers(0, 10_000, count)
    texts = np.datetime_as_string(START + time.astype("timedelta64[ms]"), unit="ms")
    for one in np.argsort(comes, kind="stable"):
        value = _value(topic, int(order[one]), str(texts[one]), int(number[one]))
        if fate[one] < MALFORMED:
            # Cut off, or with a text where a number should be.
            value = value[:-5] if number[one] % 2 else value.replace(f": {order[one]},", ': "unknown",')
        yield str(order[one]), None if fate[one] >= 1000 - TOMBSTONES else value


def _value(topic: str, order: int, ts: str, number: int) -> str:
    if topic == "orders":
        return f'{{"id": {order}, "ts": "{ts}Z", "amount": {number / 100}}}'
    if topic == "payments":
        return f'{{"order_id": {order}, "ts": "{ts}Z", "method": "{("card", "cash", "bank")[number % 3]}"}}'
    return f'{{"order_id": {order}, "ts": "{ts}Z", "carrier": "carrier {number % 7}"}}'


def fill(servers: str, total: int) -> None:
    """Make the topics and send all records."""
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in TOPICS]).values():
        made.result(60)
    # Without the last, records that are sent again may come after later ones, or twice.
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "enable.idempotence": True})
    for topic in TOPICS:
        for key, value in records(topic, total // len(TOPICS)):
            while True:
                try:
                    producer.produce(topic, value, key)
                    break
                except BufferError:
                    producer.poll(1)
    if left := producer.flush(300):
        raise SystemExit(f"{left} records could not be sent")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", help="some of the brokers, host:port")
    parser.add_argument("--records", type=int, default=1_500_000, help="how many in all three topics")
    said = parser.parse_args()
    fill(said.servers, said.records)
    print(f"{said.records:,} records in {', '.join(TOPICS)}")
