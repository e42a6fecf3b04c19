"""Streams of a job that are topics of Kafka.

[streams.orders]
format = "kafka"
servers = "127.0.0.1:9092"            or a list
topics = "orders"                     or a list
decode = "json"                       or "csv", "avro", "raw"
schema = "id BIGINT, ts TIMESTAMP"    what is decoded
starting = "earliest"                 or "latest", a time with its zone, or { orders = { 0 = 17 } }, an offset
                                      for every partition; if there is no checkpoint yet
fail_on_data_loss = true              whether records that are gone before they were read stop the job
decode_options = { timestampFormat = "dd.MM.yyyy HH:mm" }   of Spark's from_json, from_csv, from_avro
options = { maxOffsetsPerTrigger = 100000 }                 of Spark's source

A job that reads or writes Kafka gets the connector by itself, unless it says which jars or packages it wants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from watersmeet.jobs.settings import Table
from watersmeet.spark.endpoints import Endpoint
from watersmeet.spark.kafka import Starting, kafka
from watersmeet.spark.kafka_packages import kafka_jars

FORMAT = "kafka"
_JARS = ("spark.jars", "spark.jars.packages")


@dataclass(frozen=True)
class KafkaSettings:
    """The topics of a stream, and how they are read; as in `kafka`."""

    servers: list[str]
    topics: list[str]
    decode: str = "json"
    starting: Starting = "earliest"
    fail_on_data_loss: bool = True
    decode_options: Mapping[str, str] = field(default_factory=dict)

    def read(self, spark: Any, schema: str | None, options: Mapping[str, str]) -> Any:
        """The stream as a DataFrame."""
        return kafka(
            spark,
            servers=self.servers,
            topics=self.topics,
            schema=schema,
            decode=self.decode,
            starting=self.starting,
            fail_on_data_loss=self.fail_on_data_loss,
            decode_options=self.decode_options,
            options=options,
        )


def kafka_settings(stream: Table) -> KafkaSettings:
    """What the table of a stream says about its topics."""
    servers, topics = stream.texts("servers"), stream.texts("topics")
    for name, value in (("servers", servers), ("topics", topics)):
        if not value:
            stream.wrong(f'"{name}" is missing: say which {name} of Kafka to read from')
    if stream.raw("path") is not None:
        stream.wrong('"path" says nothing about topics of Kafka')
    loss = stream.raw("fail_on_data_loss")
    if not isinstance(loss, bool | None):
        stream.wrong(f"fail_on_data_loss must be true or false, not {loss!r}")
    return KafkaSettings(
        servers=servers or [],
        topics=topics or [],
        decode=stream.text("decode") or "json",
        starting="earliest" if (starting := stream.raw("starting")) is None else starting,
        fail_on_data_loss=loss is not False,
        decode_options=stream.options("decode_options"),
    )


def with_connector(spark: Mapping[str, str], endpoints: Iterable[Endpoint | None]) -> dict[str, str]:
    """The settings of a session, with the connector if an endpoint needs it and no other is given.

    Raises:
        watersmeet.spark.jars.JarsMissing: It cannot be fetched.
    """
    needed = any(one is not None and one.format == FORMAT for one in endpoints)
    given = any(name in spark for name in _JARS)
    return {"spark.jars": kafka_jars(), **spark} if needed and not given else dict(spark)
