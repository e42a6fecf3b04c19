"""Streams whose rates change places halfway, as Parquet files of one micro-batch each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from watersmeet_lab.files import write_batch

_EPOCH_US = 1_700_000_000_000_000

SCHEMA = "id bigint, key bigint, ts timestamp"


@dataclass(frozen=True)
class Switch:
    """What is generated.

    Attributes:
        rates: Rows per second of each stream in the first half; in the second, the slow are fast.
        keys: Distinct keys.
        window_s: Window length in seconds.
        batch_s: Event time of a micro-batch.
        half: Micro-batches per half.
        seed: Seed of the generator.
    """

    rates: tuple[int, ...] = (200, 4000, 100, 200)
    keys: int = 4000
    window_s: int = 10
    batch_s: int = 5
    half: int = 10
    seed: int = 20261116

    @property
    def names(self) -> tuple[str, ...]:
        """What the streams are called."""
        return tuple("abcdefgh"[: len(self.rates)])

    def rate(self, stream: int, batch: int) -> int:
        """Rows per second of a stream in a batch."""
        ranked = sorted(self.rates)
        mirrored = dict(zip(ranked, reversed(ranked), strict=True))
        return self.rates[stream] if batch < self.half else mirrored[self.rates[stream]]


def generate(switch: Switch, root: Path) -> None:
    """Write the streams; `root/a/00000.parquet` is the first batch of the first stream."""
    for stream, name in enumerate(switch.names):
        random = np.random.default_rng([switch.seed, stream])
        first = 0
        for batch in range(2 * switch.half):
            rows = switch.rate(stream, batch) * switch.batch_s
            times = (
                _EPOCH_US
                + batch * switch.batch_s * 1_000_000
                + np.arange(rows) * (switch.batch_s * 1_000_000 // rows)
            )
            table = pa.table(
                {
                    "id": pa.array(np.arange(first, first + rows)),
                    "key": pa.array(random.integers(0, switch.keys, rows)),
                    "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                }
            )
            first += rows
            write_batch(table, root / name, batch)
