"""Orders and payments in two topics of a broker, and their join, for tests of what can happen to topics."""

import datetime as dt
import json
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from harness.broker import Broker
from watersmeet.query import Stream

SCHEMA = "id BIGINT, ts TIMESTAMP, amount INT"
START = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


def record(number: int, seconds: float | None = None, amount: int = 1) -> str:
    """A record; the number is its key, and its time if no other is given, in seconds after the start."""
    ts = START + dt.timedelta(seconds=number if seconds is None else seconds)
    return json.dumps({"id": number, "ts": ts.isoformat(), "amount": amount})


def records(numbers: Iterable[int]) -> list[str]:
    """Records in order."""
    return [record(number) for number in numbers]


class Topics:
    """Two topics of their own, by the name of a test."""

    def __init__(self, broker: Broker, name: str, partitions: int = 1) -> None:
        """Make them."""
        self.broker = broker
        self.orders, self.payments = (
            broker.create(f"{name}_{what}", partitions) for what in ("orders", "payments")
        )

    def send(self, numbers: Iterable[int], **where: Any) -> None:
        """The same to both, so that every record has one partner."""
        some = records(numbers)
        self.broker.send(self.orders, some, **where)
        self.broker.send(self.payments, some, **where)

    def stream(self, spark: SparkSession, name: str, how: Any = None, **settings: Any) -> Stream:
        """One of the two; `how` it is read, and the settings of its stream."""
        topic = self.orders if name == "orders" else self.payments
        frame = wm.kafka(spark, servers=self.broker.servers, topics=topic, schema=SCHEMA, **(how or {}))
        return wm.stream(name, frame, **({"time": "ts", "window": "10 seconds"} | settings))

    def joined(self, spark: SparkSession, **how: Any) -> DataFrame:
        """Their join by id."""
        # Partitions are not read in step with each other, nor are topics.
        made = [self.stream(spark, name, how, lateness="1 hour") for name in ("orders", "payments")]
        return wm.join(*made, on="id", select=["orders.id"], buckets=2).to_dataframe()


def run_again(start: Callable[[], StreamingQuery], query: StreamingQuery) -> StreamingQuery:
    """Wait until all is read; a query that has failed is started again."""
    for _ in range(3):
        try:
            query.processAllAvailable()
        except Exception:  # noqa: BLE001
            query.stop()
            query = start()
        else:
            return query
    raise AssertionError(f"the query fails again and again: {query.exception()}")
