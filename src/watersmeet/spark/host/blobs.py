"""Blobs: many rows of one bucket as one binary value, so that Spark moves a few large rows.

(label, input, blob)      blob: Arrow IPC of stored columns, key, time, end, and the hash of the key,
                          or where that is (`host.handover`)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.kernel.digest import digests
from watersmeet.kernel.grouping import in_groups
from watersmeet.kernel.ipc import from_ipc
from watersmeet.kernel.keys import Keys, encode_keys
from watersmeet.kernel.run import Rows
from watersmeet.kernel.spreading import homes
from watersmeet.spark.host.arrivals import SENT
from watersmeet.spark.host.handover import Handover
from watersmeet.spark.host.hot_rows import HotRoutes
from watersmeet.spark.host.task import Aligned, InputTask, without_key

_PACKED = ("label", "input", "blob")
PACKED_SCHEMA = "label int, input int, blob binary"

_HASH = "__hash"
UNPACK_BYTES = 1 << 30


class PackedRows:
    """Packed rows under construction."""

    def __init__(self, handover: Handover | None = None, hot: HotRoutes | None = None) -> None:
        """Start with none.

        Args:
            handover: Where rows are left; they travel by themselves if there is none.
            hot: How rows of hot keys are sent; None if there are none.
        """
        self._handover = handover or Handover(None)
        self._hot = hot
        self._labels: list[int] = []
        self._inputs: list[int] = []
        self._blobs: list[Any] = []

    def __len__(self) -> int:
        """How many rows were added."""
        return len(self._labels)

    def add(self, label: int, number: int, blob: Any) -> None:
        """One packed row for an input of the group with that label."""
        self._labels.append(label)
        self._inputs.append(number)
        self._blobs.append(blob)

    def add_heartbeats(self, labels: list[int], number: int) -> None:
        """A sign of life for every bucket."""
        for label in labels:
            self.add(label, number, None)

    def add_rows(self, labels: list[int], number: int, batch: pa.RecordBatch, spec: InputTask) -> None:
        """Rows of an input, each to the bucket of its key, or to all of them.

        Rows without a key are an input of their own, where they are kept.
        """
        if spec.unkeyed is not None and (lacking := _lacks_key(batch, spec)) is not None:
            self.add_rows(labels, spec.unkeyed, batch.filter(lacking), without_key(spec))
            batch = batch.filter(pc.invert(lacking))
            if not batch.num_rows:
                return
        hashes = _hashes(batch, spec)
        if self._hot is not None and spec.key:
            which = self._hot.hot(hashes)
            if (which >= 0).any():
                self._add_hot(labels, number, batch.append_column(_HASH, pa.array(hashes)), spec, which)
                cool = np.flatnonzero(which < 0)
                batch, hashes = batch.take(pa.array(cool)), hashes[cool]
        if batch.num_rows:
            self._add_shares(labels, number, _split(batch, spec, hashes, len(labels)))

    def _add_hot(
        self, labels: list[int], number: int, batch: pa.RecordBatch, spec: InputTask, which: Any
    ) -> None:
        """Those of hot keys: dealt out or copied, and told to the buckets of the keys."""
        assert self._hot is not None
        hot = np.flatnonzero(which >= 0)
        batch, which = batch.take(pa.array(hot)), which[hot]
        spread = _spread(batch, spec, len(labels))
        for sent, buckets, rows in self._hot.shares(number, which, spread):
            self._add_shares(labels, sent.code, [(buckets, batch.take(pa.array(rows)))])
        times = batch.column(spec.time).cast(pa.int64()).to_numpy()
        for bucket, told in self._hot.told(number, which, times):
            self.add(labels[bucket], SENT, told.to_bytes())

    def _add_shares(self, labels: list[int], number: int, shares: Iterable[_Share]) -> None:
        for buckets, rows in shares:
            blob = self._handover.put(rows)
            for bucket in buckets:
                self.add(labels[bucket], number, blob)

    def take(self) -> pa.RecordBatch:
        """The rows added so far; starts anew."""
        columns = [
            pa.array(self._labels, pa.int32()),
            pa.array(self._inputs, pa.int32()),
            pa.array(self._blobs, pa.binary()),
        ]
        self.__init__(self._handover, self._hot)  # type: ignore[misc]
        return pa.record_batch(columns, list(_PACKED))

    def close(self) -> None:
        """Nothing more comes."""
        self._handover.close()


# Some buckets, and the rows they all get.
_Share = tuple[Sequence[int], pa.RecordBatch]


def _lacks_key(batch: pa.RecordBatch, spec: InputTask) -> pa.Array | None:
    """Which rows have a null in their key; None if none has."""
    columns = [batch.column(position) for position in spec.key if batch.column(position).null_count]
    return reduce(pc.or_, [column.is_null() for column in columns]) if columns else None


def _hashes(batch: pa.RecordBatch, spec: InputTask) -> Any:
    if not spec.key:
        return np.zeros(batch.num_rows, np.uint64)
    return encode_keys([batch.column(position) for position in spec.key]).hashes


def _split(batch: pa.RecordBatch, spec: InputTask, hashes: Any, buckets: int) -> Iterator[_Share]:
    """The rows of every bucket."""
    # Without a key any rows can meet, wherever they are.
    bucket = homes(hashes, buckets) if spec.key else _spread(batch, spec, buckets)
    batch = batch.append_column(_HASH, pa.array(hashes))
    if spec.aligned is not None:
        yield from _by_segment(batch, spec, spec.aligned, buckets)
        return
    if spec.replicated or buckets == 1:
        yield range(buckets), batch
        return
    order = np.argsort(bucket, kind="stable")
    bounds = np.searchsorted(bucket[order], np.arange(buckets + 1))
    batch = batch.take(pa.array(order))
    for number in range(buckets):
        if bounds[number] < bounds[number + 1]:
            yield [number], batch.slice(bounds[number], bounds[number + 1] - bounds[number])


def _spread(batch: pa.RecordBatch, spec: InputTask, buckets: int) -> Any:
    """Buckets for rows that may go to any, by what they hold: not by their order.

    A task that runs again may get its rows in another order, and other buckets may have kept what they got.
    """
    if spec.replicated or spec.aligned is not None or buckets == 1:
        return np.zeros(batch.num_rows, np.int16)
    columns = [batch.column(position) for position in dict.fromkeys([*range(len(spec.kept)), spec.time])]
    return (digests(columns, batch.num_rows)[:, 0] % np.uint64(buckets)).astype(np.int16)


def _by_segment(batch: pa.RecordBatch, spec: InputTask, aligned: Aligned, buckets: int) -> Iterator[_Share]:
    """Rows to the buckets of all segments they may find a partner in; segments go round the buckets."""
    time = batch.column(spec.time).cast(pa.int64()).to_numpy()
    end = (
        batch.column(spec.end).cast(pa.int64()).to_numpy()
        if aligned.after is None and spec.end is not None
        else time + (aligned.after or 0)
    )
    first = (time - aligned.before) // aligned.segment
    more = end // aligned.segment - first
    for number in range(buckets):
        mine = (number - first) % buckets <= more
        if mine.any():
            yield [number], batch if mine.all() else batch.filter(pa.array(mine))


def limited(blobs: list[Any], most_bytes: int = UNPACK_BYTES) -> Iterator[list[Any]]:
    """The blobs in groups that are not too large; Arrow can put two gigabytes of texts together."""
    if sum(len(blob) for blob in blobs) > most_bytes:
        # The same groups wherever the same blobs come, though they come in another order.
        blobs = sorted(blobs, key=lambda blob: (len(blob), zlib.crc32(blob)))
    return in_groups(blobs, (len, most_bytes))


def opened(blobs: list[Any]) -> pa.RecordBatch:
    """The columns in some blobs of one input, as they were packed."""
    parts = [from_ipc(blob) for blob in blobs]
    return pa.concat_batches(parts) if len(parts) > 1 else parts[0]


def rows_in(batch: pa.RecordBatch, spec: InputTask) -> Rows:
    """The same as a bucket takes them."""

    def instants(position: int) -> Any:
        return batch.column(position).cast(pa.int64()).to_numpy()

    hashes = batch.column(batch.num_columns - 1).to_numpy()
    encoded = encode_keys([batch.column(position) for position in spec.key]).encoded if spec.key else None
    kept = batch.select(list(range(len(spec.kept))))
    return Rows(
        Keys(hashes, encoded), instants(spec.time), kept, None if spec.end is None else instants(spec.end)
    )
