"""The two workloads, as files of Parquet: one file per stream and micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from watersmeet_lab.files import write_batch

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
SCHEMA = "key BIGINT, ts TIMESTAMP, id BIGINT, payload BINARY"


@dataclass(frozen=True)
class Selective:
    """Streams of wide rows that seldom match.

    Attributes:
        names: The streams, one per site.
        rows: Rows of a stream per batch.
        batches: Micro-batches, each a second of event time.
        keys: Keys of a stream.
        shared: The part of its keys that all streams have.
        payload: Bytes of a row that nobody can compress.
        window_s: How long rows wait.
    """

    names: tuple[str, ...] = ("a", "b", "c")
    rows: int = 2000
    batches: int = 6
    keys: int = 5000
    shared: float = 0.02
    payload: int = 1000
    window_s: float = 3.0

    def write(self, root: Path) -> None:
        """Write all files."""
        rng = np.random.default_rng(5)
        common = int(self.keys * self.shared)
        for number, name in enumerate(self.names):
            own = np.arange(self.keys)
            # The first keys are everybody's, the others only this stream's.
            own[common:] += (number + 1) * 10 * self.keys
            for batch in range(self.batches):
                keys = own[rng.integers(0, self.keys, self.rows)]
                _write(rng, root / name, batch, keys, SECOND, self.payload, number)


@dataclass(frozen=True)
class Example1:
    """Example 1 of Zhou et al. 2006, its rates multiplied and its windows divided by one factor.

    Attributes:
        factor: The factor.
        seconds: How long streams run, in seconds of event time.
        batches: Micro-batches.
    """

    factor: float = 20.0
    seconds: float = 20.0
    batches: int = 4

    names = ("s1", "s2", "s3")
    # Per stream tuples per second of the values a, b and c, each at the node of its stream.
    rates = ((0.1, 0.1, 100.0), (0.03, 50.0, 0.04), (50.0, 0.01, 0.02))

    @property
    def window_s(self) -> float:
        """Half a second in the paper."""
        return 0.5 / self.factor

    def rate(self, stream: int) -> float:
        """Tuples of a stream per second."""
        return sum(self.rates[stream]) * self.factor

    def shares(self, stream: int) -> dict[int, float]:
        """How often each value occurs in a stream."""
        total = sum(self.rates[stream])
        return {value: rate / total for value, rate in enumerate(self.rates[stream])}

    def write(self, root: Path) -> None:
        """Write all files: as many tuples of a value as its rate says, at random times."""
        rng = np.random.default_rng(6)
        length = self.seconds / self.batches
        for number, name in enumerate(self.names):
            for batch in range(self.batches):
                counts = [rng.poisson(rate * self.factor * length) for rate in self.rates[number]]
                keys = np.repeat(np.arange(len(counts)), counts)
                _write(rng, root / name, batch, keys, int(length * SECOND), 0, number)


def _write(
    rng: np.random.Generator, folder: Path, batch: int, keys: object, length: int, payload: int, stream: int
) -> None:
    keys = np.asarray(keys)
    count = len(keys)
    times = START + batch * length + np.sort(rng.integers(0, length, count))
    ids = np.arange(count) + (stream + 1) * 10_000_000 + batch * 100_000
    noise = rng.bytes(count * payload)
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * payload)
    table = pa.table(
        {
            "key": pa.array(rng.permutation(keys), pa.int64()),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "id": pa.array(ids, pa.int64()),
            "payload": pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(noise)]),
        }
    )
    write_batch(table, folder, batch)
