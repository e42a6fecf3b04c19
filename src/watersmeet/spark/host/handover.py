"""Packed rows on one host: they lie in a file, and what Spark moves is where.

A blob passes some ten buffers on its way through Spark's shuffle from one Python worker to another. Where
both are on one machine the packer writes rows into a file, and the bucket maps it:

    "WMPLACE" | offset | length | path of the file        instead of the rows as Arrow IPC

Files lie in Spark's local directories, beside those of its own shuffle, and are as safe as these: what is
lost with them is read from the sources again. A file is needed while its batch runs, and tasks of a batch may
run again, so it goes two batches later. Where it cannot be written the rows travel themselves.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import struct
import uuid
import zlib
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from watersmeet.errors import RowsGone
from watersmeet.kernel.ipc import to_ipc
from watersmeet.spark.host.local_runs import local_folder
from watersmeet.spark.host.running import running_batch
from watersmeet.spark.private import make_folders

_MAGIC = b"WMPLACE\x00"
_PLACE = struct.Struct("<8sqq")
_ALIGN = 64
# Fewer bytes travel as cheaply themselves.
_LEAST_BYTES = 1 << 14
# What is compared first of blobs of one length.
_SAMPLE_BYTES = 1 << 12


class Handover:
    """Where one task leaves the rows it has packed; without a folder they travel themselves."""

    def __init__(self, folder: Path | None) -> None:
        """Use a folder, which is made when it is first written to."""
        self._folder = folder
        self._file: pa.OSFile | None = None
        self._path = b""

    def put(self, rows: pa.RecordBatch) -> bytes:
        """What travels: the rows, or where they are."""
        if self._folder is None or rows.nbytes < _LEAST_BYTES:
            return to_ipc([rows])
        try:
            return self._written(self._folder, rows)
        except OSError:
            # A full or unwritable disk costs speed, not results.
            self._folder = None
            return to_ipc([rows])

    def close(self) -> None:
        """All is written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _written(self, folder: Path, rows: pa.RecordBatch) -> bytes:
        if self._file is None:
            make_folders(folder, durable=False)
            path = folder / uuid.uuid4().hex
            self._file = pa.OSFile(str(path), "wb")
            self._path = os.fsencode(path)
        start = -(-self._file.tell() // _ALIGN) * _ALIGN
        self._file.write(bytes(start - self._file.tell()))
        with pa.ipc.new_stream(self._file, rows.schema) as writer:
            writer.write_batch(rows)
        return _PLACE.pack(_MAGIC, start, self._file.tell() - start) + self._path


def handover(*, used: bool, tidy: bool = False) -> Handover:
    """The place of the task that runs now.

    Args:
        used: Whether rows lie in files.
        tidy: Whether files of earlier batches are removed; one task of a batch does that.
    """
    running = running_batch() if used else None
    if running is None:
        return Handover(None)
    parent = local_folder() / running.query / "packed"
    if tidy:
        _remove_before(parent, running.batch - 1)
    return Handover(parent / str(running.batch))


def in_order(blobs: Iterable[Any]) -> list[Any]:
    """The rows that blobs have or point to, in an order that follows from what they hold.

    Raises:
        RowsGone: A file is not there any more.
    """
    found = sorted(map(_mapped, blobs), key=_sample)
    # Blobs that look alike are compared whole.
    alike = (list(some) for _, some in groupby(found, _sample))
    return [one for some in alike for one in (sorted(some, key=bytes) if len(some) > 1 else some)]


def _sample(blob: Any) -> tuple[int, int]:
    return len(blob), zlib.crc32(blob[-_SAMPLE_BYTES:], zlib.crc32(blob[:_SAMPLE_BYTES]))


def _mapped(blob: bytes) -> Any:
    if not blob.startswith(_MAGIC):
        return blob
    _, start, length = _PLACE.unpack_from(blob)
    path = os.fsdecode(blob[_PLACE.size :])
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            whole = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        whole = memoryview(b"")
        why = str(error)
    else:
        why = f"it has {len(whole):,} bytes"
    if start + length > len(whole):
        raise RowsGone(
            "rows that were packed for this batch are gone",
            f"the file {path} cannot be read: {why}.",
            "start the query again, which reads them from its sources; see to it that nobody removes files "
            "from Spark's local directories while it runs.",
        )
    return whole[start : start + length]


def _remove_before(parent: Path, batch: int) -> None:
    with contextlib.suppress(OSError):
        for folder in parent.iterdir():
            if folder.name.isdigit() and int(folder.name) < batch:
                shutil.rmtree(folder, ignore_errors=True)
