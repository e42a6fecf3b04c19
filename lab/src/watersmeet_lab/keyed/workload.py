"""Generated streams for the keyed benchmark, as Parquet files of one micro-batch each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet_lab.files import write_batch

_EPOCH_US = 1_700_000_000_000_000


@dataclass(frozen=True)
class Workload:
    """What is generated and how it is joined.

    Attributes:
        streams: Number of streams.
        batches: Micro-batches, each one file per stream.
        batch_rows: Rows per micro-batch over all streams.
        keys: Distinct keys.
        wide: How many times longer the window of the scaling case is; it has as many times more keys, so
            that a row has the same number of matches.
        rate: Rows per second of event time and stream.
        window_s: Window length in seconds.
        payload: Bytes of payload per row.
        zipf: Skew of the keys; 0 is uniform.
        string_keys: Whether keys are text.
        alone: The part of the rows of the first stream that have a key no other stream has.
        seed: Seed of the generator.
    """

    streams: int = 4
    batches: int = 8
    batch_rows: int = 500_000
    keys: int = 250_000
    wide: int = 10
    rate: int = 25_000
    window_s: float = 10
    payload: int = 40
    zipf: float = 0.0
    string_keys: bool = False
    alone: float = 0.0
    seed: int = 20261115

    @property
    def rows(self) -> int:
        """Rows over all streams and batches."""
        return self.batches * self.stream_batch_rows * self.streams

    @property
    def stream_batch_rows(self) -> int:
        """Rows of one stream in one batch."""
        return self.batch_rows // self.streams

    @property
    def key_type(self) -> str:
        """The Spark type of the key columns."""
        return "string" if self.string_keys else "bigint"

    @property
    def schema(self) -> str:
        """The files' schema for Spark; `wide_key` has `wide` times more values than `key`."""
        return f"key {self.key_type}, wide_key {self.key_type}, ts timestamp, payload string"


def generate(workload: Workload, root: Path) -> None:
    """Write the streams; `root/s0/00000.parquet` is the first batch of the first stream."""
    for stream in range(workload.streams):
        random = np.random.default_rng([workload.seed, stream])
        for batch in range(workload.batches):
            table = _table(workload, batch, random, alone=workload.alone if stream == 0 else 0.0)
            # Random values repeat too seldom for a dictionary.
            write_batch(table, root / f"s{stream}", batch, compression="lz4", use_dictionary=False)


def _table(workload: Workload, batch: int, random: np.random.Generator, *, alone: float) -> pa.Table:
    n = workload.stream_batch_rows
    index = np.arange(batch * n, (batch + 1) * n)
    times = index * 1_000_000 // workload.rate + _EPOCH_US
    key = _draw(workload, workload.keys, n, random)
    wide_key = _draw(workload, workload.keys * workload.wide, n, random)
    if alone:
        key += np.where(random.random(n) < alone, workload.keys, 0)
    letters = random.integers(97, 123, n * workload.payload, dtype=np.uint8)
    offsets = np.arange(n + 1, dtype=np.int32) * workload.payload
    payload = pa.Array.from_buffers(pa.string(), n, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])
    return pa.table(
        {
            "key": _key_column(workload, key),
            "wide_key": _key_column(workload, wide_key),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "payload": payload,
        }
    )


def _draw(workload: Workload, keys: int, n: int, random: np.random.Generator) -> Any:
    if workload.zipf == 0:
        return random.integers(0, keys, n)
    # Inverse of the distribution function of p(k) ~ k**-s, which for s < 1 is close to a power.
    weights = np.arange(1, keys + 1) ** -workload.zipf
    return np.searchsorted(np.cumsum(weights) / weights.sum(), random.random(n))


def _key_column(workload: Workload, key: Any) -> pa.Array:
    if not workload.string_keys:
        return pa.array(key, pa.int64())
    return pa.array(np.char.add("customer-", key.astype(str)))
