"""The rows of streams in topics of Kafka, and as the same records in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from watersmeet_lab.peers.data import Data
from watersmeet_lab.shapes.topics import Broker, send


def in_topics(data: Data, broker: Broker) -> Data:
    """Send all rows, each stream to a topic of one partition that has its name."""
    from watersmeet.spark.kafka_packages import kafka_jars

    for stream in data.counts:
        lines = [
            line
            for file in sorted(Path(data.batches(stream)).iterdir())
            for line in records(pq.read_table(file))
        ]
        path = Path(data.records(stream))
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines))
        send(broker.servers, broker.create(stream), lines)
    return replace(data, servers=broker.servers, jars=kafka_jars())


def records(table: pa.Table) -> Iterator[str]:
    """Rows with a key, a time and a payload as JSON."""
    times = np.datetime_as_string(table["ts"].to_numpy(), unit="ms")
    for key, time, payload in zip(table["key"].to_pylist(), times, table["payload"].to_pylist(), strict=True):
        yield f'{{"key": {key}, "ts": "{time}Z", "payload": "{payload}"}}'
