"""A run as one blob: how it travels, is stored and is memory-mapped.

    header | key hashes | key rows | times | ends | key offsets | key bytes | kept columns, as Arrow IPC

Each section starts at a multiple of 64 bytes, so that it can be used where it lies.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import DamagedRun
from watersmeet.kernel.hashing import checksum
from watersmeet.kernel.ipc import UNREADABLE
from watersmeet.kernel.keys import ByteStrings
from watersmeet.kernel.run import Run, assemble_run

_MAGIC = b"WMRUN\x00\x00\x02"
_HEADER = struct.Struct("<8sqq7q")  # magic, rows, keys, then the offset of each section; 0 where it is absent
_ALIGN = 64
_HINT = "restore the checkpoint from a copy."


def to_blob(run: Run) -> bytes:
    """The run as one blob."""
    sink = pa.BufferOutputStream()
    _write(run, sink)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def write_blobs(runs: Sequence[Run], path: Path) -> list[tuple[int, int, int]]:
    """Runs as a new file that nobody else can read; returns the offset, length and checksum of each."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        places = []
        with pa.OSFile(str(path), "wb") as sink:
            for run in runs:
                start = _aligned(sink.tell())
                sink.write(bytes(start - sink.tell()))
                _write(run, sink)
                places.append((start, sink.tell() - start))
        content = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        return [(start, size, blob_checksum(content[start : start + size])) for start, size in places]
    finally:
        os.close(descriptor)


def _write(run: Run, sink: pa.NativeFile) -> None:
    key_offsets, key_data = (
        (None, None) if run.key_bytes is None else (run.key_bytes.offsets, run.key_bytes.data)
    )
    arrays = [run.key_hashes, run.key_rows, run.times, run.ends, key_offsets, key_data]
    origin = sink.tell()
    offsets = []
    end = _HEADER.size
    for array in arrays:
        if array is None:
            offsets.append(0)
        else:
            offsets.append(_aligned(end))
            end = offsets[-1] + array.nbytes
    rows_at = _aligned(end)
    sink.write(_HEADER.pack(_MAGIC, run.rows, len(run.key_hashes), *offsets, rows_at))
    for offset, array in zip(offsets, arrays, strict=True):
        if array is not None:
            sink.write(bytes(origin + offset - sink.tell()))
            sink.write(np.ascontiguousarray(array))
    sink.write(bytes(origin + rows_at - sink.tell()))
    with pa.ipc.new_stream(sink, run.columns.schema) as writer:
        writer.write_batch(run.columns)


def from_blob(blob: Any) -> Run:
    """Open a blob (bytes or a memory map) without copying it."""
    view = memoryview(blob)
    if len(view) < _HEADER.size:
        raise DamagedRun("a stored run is cut short", f"it has {len(view)} bytes.", _HINT)
    magic, rows, keys, *sections = _HEADER.unpack_from(view)
    if magic != _MAGIC:
        raise DamagedRun("a stored run has an unknown header", f"it starts with {bytes(magic)!r}.", _HINT)
    try:
        return _opened(view, rows, keys, sections)
    except UNREADABLE as error:
        raise DamagedRun("a stored run is damaged", f"{error or type(error).__name__}.", _HINT) from None


def _opened(view: memoryview, rows: int, keys: int, sections: list[int]) -> Run:
    hashes_at, starts_at, times_at, ends_at, offsets_at, data_at, rows_at = sections
    key_bytes = None
    if offsets_at:
        offsets = np.frombuffer(view, np.int64, keys + 1, offsets_at)
        key_bytes = ByteStrings(offsets, np.frombuffer(view, np.uint8, int(offsets[-1]), data_at))
    return assemble_run(
        np.frombuffer(view, np.uint64, keys, hashes_at),
        np.frombuffer(view, np.int64, keys + 1, starts_at),
        key_bytes,
        np.frombuffer(view, np.int64, rows, times_at),
        np.frombuffer(view, np.int64, rows, ends_at) if ends_at else None,
        pa.ipc.open_stream(pa.py_buffer(view)[rows_at:]).read_next_batch(),
    )


def blob_checksum(blob: Any) -> int:
    """The checksum kept beside a blob, as a signed 64-bit integer."""
    data = np.frombuffer(blob, np.uint8)
    whole = len(data) // 8 * 8
    return int(np.int64(np.uint64(checksum(data[:whole].view(np.uint64), data[whole:]))))


def _aligned(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN
