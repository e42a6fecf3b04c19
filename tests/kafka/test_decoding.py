"""Records become rows, and those that cannot are told apart.

Would catch: a record that cannot be decoded joined in parts, or called a row without a time; a time of day
taken for one of today; a second object in a record lost without a word.
"""

import base64
import datetime as dt
import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm
from harness.broker import Broker
from watersmeet.spark.endpoints import InvalidEndpoint

pytestmark = pytest.mark.kafka

SCHEMA = "id BIGINT, ts TIMESTAMP, note STRING"
# As Spark gives times: without a zone.
NOON = dt.datetime(2026, 5, 1, 12)  # noqa: DTZ001


def plain(spark: SparkSession, broker: Broker, topic: str, **how: Any) -> DataFrame:
    return wm.kafka(spark, servers=broker.servers, topics=topic, streaming=False, **how)


def judged(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Per record its columns, or why it has none."""
    found = []
    for row in frame.orderBy("kafka_offset").collect():
        own = [row[name] for name in frame.columns if not name.startswith("kafka_")]
        if row.kafka_problem is None:
            found.append(tuple(own))
        else:
            assert own == [None] * len(own)
            found.append((row.kafka_problem.reason,))
    return found


JSON = {
    '{"id": 1, "ts": "2026-05-01T12:00:00Z", "note": "x", "more": [1]}': (1, NOON, "x"),
    '{"id": 1, "ts": "2026-05-01T14:00:00.000000+02:00"}': (1, NOON, None),
    '{"id": 1, "ts": "2026-05-01 12:00:00"}': (1, NOON, None),
    '{"id": 1, "ts": 1777636800}': (1, NOON, None),
    '{"ts": null}': (None, None, None),
    '{"id": "1"}': ("malformed",),
    '{"id": 1, "ts": "12:00"}': ("malformed",),
    '{"id": 1, "ts": "tomorrow"}': ("malformed",),
    '{"id": 1}{"id": 2}': ("malformed",),
    '{"id": 1} and more': ("malformed",),
    '[{"id": 1}]': ("malformed",),
    '{"id": 1': ("malformed",),
    "null": ("malformed",),
    "": ("malformed",),
    " ": ("malformed",),
    b'{"note": "\xff"}': ("malformed",),
    None: ("tombstone",),
}


def test_json(spark: SparkSession, broker: Broker) -> None:
    topic = broker.create("decoding_json")
    broker.send(topic, JSON)
    frame = plain(spark, broker, topic, schema=SCHEMA)
    assert dict(zip(JSON, judged(frame), strict=True)) == JSON
    # Whoever reads one column alone judges the same.
    alone = frame.select("id", "kafka_offset", "kafka_problem")
    assert judged(alone) == [one if isinstance(one[0], str) else one[:1] for one in JSON.values()]


def test_csv(spark: SparkSession, broker: Broker) -> None:
    records = {
        "1,2026-05-01T12:00:00Z,x": (1, NOON, "x"),
        '1,2026-05-01T12:00:00Z,"x, y"': (1, NOON, "x, y"),
        ",2026-05-01T12:00:00Z,x": (None, NOON, "x"),
        "1,2026-05-01T12:00:00Z": ("malformed",),
        "1,2026-05-01T12:00:00Z,x,y": ("malformed",),
        "one,2026-05-01T12:00:00Z,x": ("malformed",),
        "1,noon,x": ("malformed",),
        "": ("malformed",),
        None: ("tombstone",),
    }
    topic = broker.create("decoding_csv")
    broker.send(topic, records)
    assert (
        dict(zip(records, judged(plain(spark, broker, topic, schema=SCHEMA, decode="csv")), strict=True))
        == records
    )
    other = broker.create("decoding_csv_with_options")
    broker.send(other, ["1;01.05.2026 12:00;x"])
    options = {"sep": ";", "timestampFormat": "dd.MM.yyyy HH:mm"}
    frame = plain(spark, broker, other, schema=SCHEMA, decode="csv", decode_options=options)
    assert judged(frame) == [(1, NOON, "x")]


def test_avro(spark: SparkSession, broker: Broker) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}]
    schema = json.dumps({"type": "record", "name": "order", "fields": fields})
    records = {
        b"\x02\x02\x02x": (1, "x"),
        b"\x02\x00": (1, None),
        b"\xff": ("malformed",),
        None: ("tombstone",),
    }
    topic = broker.create("decoding_avro")
    broker.send(topic, records)
    assert judged(plain(spark, broker, topic, schema=schema, decode="avro")) == list(records.values())


def test_raw_bytes_and_where_records_stand(spark: SparkSession, broker: Broker) -> None:
    topic = broker.create("decoding_raw", partitions=2)
    before = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    broker.send(topic, [b"\xff\x00", None], key=b"k", partition=1)
    frame = plain(spark, broker, topic, decode="raw")
    first, second = frame.orderBy("kafka_offset").collect()
    assert (bytes(first.value), bytes(first.kafka_key)) == (b"\xff\x00", b"k")
    assert (first.kafka_topic, first.kafka_partition, first.kafka_offset) == (topic, 1, 0)
    assert abs(first.kafka_time - before) < dt.timedelta(minutes=5)
    assert second.kafka_problem.reason == "tombstone"
    assert judged(plain(spark, broker, topic, decode="raw", starting={topic: {0: 0, 1: 1}})) == [
        ("tombstone",)
    ]


def test_bytes_that_are_no_text_are_told_in_base_64(spark: SparkSession, broker: Broker) -> None:
    topic = broker.create("decoding_bytes")
    broker.send(topic, [b"\xff{", "{"])
    told = [
        row.kafka_problem
        for row in plain(spark, broker, topic, schema=SCHEMA).orderBy("kafka_offset").collect()
    ]
    assert [(one.text, one.base64) for one in told] == [
        (None, base64.b64encode(b"\xff{").decode()),
        ("{", None),
    ]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"decode": "xml"}, "records cannot be decoded as"),
        ({}, "needs a schema"),
        ({"decode": "raw", "schema": SCHEMA}, "takes no schema"),
        ({"schema": "id NUMBERS"}, "the schema cannot be read"),
        ({"schema": "{", "decode": "avro"}, "the schema cannot be read"),
        ({"schema": "id INT, Kafka_Offset INT"}, 'the schema has "Kafka_Offset"'),
        ({"schema": SCHEMA, "starting": "yesterday"}, "a query cannot start at 'yesterday'"),
        ({"schema": SCHEMA, "starting": NOON}, "a query cannot start at"),
        ({"schema": SCHEMA, "topics": []}, "topics of Kafka cannot be"),
    ],
)
def test_what_makes_no_sense_is_refused(spark: SparkSession, how: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidEndpoint, match=said):
        wm.kafka(spark, **({"servers": "127.0.0.1:1", "topics": "t"} | how))
