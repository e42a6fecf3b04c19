"""Two relations that arrive file by file, with silences, and the answer.

Keys are skewed as in Tao et al. 2005, Sect. 6, "reverse": what is frequent in one is rare in the other, and
one of them arrives faster. Files come in bursts, faster than they can be joined, with silences between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from watersmeet_lab.files import write_batch

NAMES = ("a", "b")
SCHEMA = "k bigint, id bigint, ts timestamp, payload binary"
_EPOCH_US = 1_700_000_000_000_000


@dataclass(frozen=True)
class Relations:
    """What arrives.

    Attributes:
        rows: Rows of both relations together.
        files: Files each comes in.
        speed: How many rows of the first come for one of the second.
        keys: Different keys.
        payload: Bytes of a row beside key, id and time.
        gap_s: Time between two files of a relation.
        burst: Files between two silences.
        silence_s: How long these last.
        seed: Seed of the generator.
    """

    rows: int = 3_000_000
    files: int = 30
    speed: int = 5
    keys: int = 100_000
    payload: int = 170
    gap_s: float = 1.2
    burst: int = 10
    silence_s: float = 8.0
    seed: int = 20261116

    @property
    def bytes(self) -> int:
        """What all rows take: their payload and three numbers."""
        return self.rows * (self.payload + 24)

    @property
    def per_file(self) -> tuple[int, int]:
        """Rows in a file of each."""
        slow = self.rows // self.files // (self.speed + 1)
        return slow * self.speed, slow

    def schedule(self) -> Iterator[float]:
        """When each file arrives, seconds after the start."""
        now = 0.0
        for number in range(self.files):
            yield now
            now += self.gap_s + (self.silence_s if (number + 1) % self.burst == 0 else 0.0)


def generate(relations: Relations, root: Path) -> None:
    """Write all files; `root/a/00000.parquet` is the first of the first relation."""
    for side, (name, each) in enumerate(zip(NAMES, relations.per_file, strict=True)):
        random = np.random.default_rng([relations.seed, side])
        for number in range(relations.files):
            # Nine times as likely at one end of the keys as at the other, evenly in between.
            drawn = (np.sqrt(1 + 80 * random.random(each)) - 1) / 8
            keys = (drawn * relations.keys).astype(np.int64)
            ids = np.arange(number * each, (number + 1) * each)
            content = random.integers(0, 256, each * relations.payload, np.uint8).tobytes()
            offsets = pa.py_buffer((np.arange(each + 1) * relations.payload).astype(np.int32))
            table = pa.table(
                {
                    "k": pa.array(keys if side == 0 else relations.keys - 1 - keys),
                    "id": pa.array(ids),
                    "ts": pa.array(_EPOCH_US + ids * 1000, pa.timestamp("us", tz="UTC")),
                    "payload": pa.Array.from_buffers(
                        pa.binary(), each, [None, offsets, pa.py_buffer(content)]
                    ),
                }
            )
            write_batch(table, root / name, number, compression="none")


def answer(root: Path) -> tuple[int, int]:
    """How many results there are, and a checksum over all of them."""
    import duckdb

    tables = ", ".join(f"read_parquet('{root / name}/*.parquet') {name}" for name in NAMES)
    with duckdb.connect() as connection:
        # A number that differs when a pair is missing, doubled or wrong, and fits in 64 bits.
        sql = f"SELECT count(*), sum((a.id * 1000003 + b.id) % 1000000007) FROM {tables} WHERE a.k = b.k"  # noqa: S608
        count, checksum = connection.execute(sql).fetchall()[0]
        return int(count), int(checksum)
