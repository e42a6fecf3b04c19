"""The rows of a shape, as files of one batch each or as records of a topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet_lab.files import write_batch
from watersmeet_lab.shapes.shapes import Shape

_EPOCH_US = 1_700_000_000_000_000
_SEED = 20261118
# Powers of these, modulo the prime, make other numbers of the same: what x, y and z of one case have.
_PRIME = (1 << 31) - 1
_FACTORS = {"key": 1, "x": 1, "y": 48_271, "z": 16_807}


def stream_folder(root: Path, stream: int) -> Path:
    """Where the files of a stream lie."""
    return root / f"s{stream}"


def write_files(shape: Shape, root: Path) -> None:
    """Write the files of all streams."""
    for stream in range(shape.streams):
        for number, table in enumerate(tables(shape, stream)):
            # Random values repeat too seldom for a dictionary.
            write_batch(table, stream_folder(root, stream), number, compression="lz4", use_dictionary=False)


def tables(shape: Shape, stream: int) -> Iterator[pa.Table]:
    """The batches of a stream."""
    random = np.random.default_rng([_SEED, stream])
    n = shape.stream_batch_rows
    for batch in range(shape.batches):
        index = np.arange(batch * n, (batch + 1) * n)
        columns = {name: _keys(shape, cases, name) for cases in [_cases(shape, stream, index, random)]
                   for name in shape.key_columns(stream)}  # fmt: skip
        columns["ts"] = pa.array(index * 1_000_000 // n + _EPOCH_US, pa.timestamp("us", tz="UTC"))
        letters = random.integers(97, 123, n * shape.payload, dtype=np.uint8)
        offsets = np.arange(n + 1, dtype=np.int32) * shape.payload
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
        columns["payload"] = pa.Array.from_buffers(pa.string(), n, buffers)
        yield pa.table(columns)


def _cases(shape: Shape, stream: int, index: Any, random: np.random.Generator) -> Any:
    """What a row is about. Rows of one case meet; some have a case of their own."""
    shared = random.integers(0, max(1, round(shape.window_rows * shape.match)), len(index))
    alone = shape.window_rows + index * shape.streams + stream
    return np.where(random.random(len(index)) < shape.match, shared, alone)


def _keys(shape: Shape, cases: Any, name: str) -> pa.Array:
    numbers = cases * _FACTORS[name] % _PRIME
    return pa.array(np.char.add("customer-", numbers.astype(str)) if shape.text_keys else numbers)


def records(shape: Shape, stream: int) -> Iterator[str]:
    """The rows of a stream as JSON, in the order of their times."""
    for table in tables(shape, stream):
        times = np.datetime_as_string(table["ts"].to_numpy(), unit="us")
        rows = zip(table["key"].to_pylist(), times, table["payload"].to_pylist(), strict=True)
        for key, time, payload in rows:
            yield f'{{"key": {key}, "ts": "{time}Z", "payload": "{payload}"}}'
