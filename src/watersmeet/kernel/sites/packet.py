"""What parts of a join send each other: tables, a few numbers, and a promise about time.

A table of rows is an Arrow batch whose first column is the time at which a row comes alive and, where its
stream's window does not say it, whose second column is the time at which it ends. A packet promises that
all rows its sender will send later on the same way are later than its watermark.

    packet 1: rows of 3, 5, 9   watermark 9
    packet 2: no rows           watermark 14       nothing came alive in (9, 14]
    packet 3: rows of 15        watermark END      and nothing will ever come
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import DamagedMessage
from watersmeet.kernel.ipc import UNREADABLE, from_ipc, to_ipc
from watersmeet.kernel.keys import Keys, encode_keys
from watersmeet.kernel.stored import stored_as

TIME, ENDS = "@time", "@end"
# Of streams whose rows are counted also those come that can never join; this column tells them apart.
USABLE = "@usable"

# Watermarks before the first row and after the last.
START = -(1 << 62)
END = 1 << 62

_HEADER = struct.Struct("<I")


@stored_as("packet")
@dataclass(frozen=True, slots=True)
class Packet:
    """What travels on one way between two parts.

    Attributes:
        watermark: All rows still to come are later.
        tables: Arrow batches by name; most packets have only ``rows``.
        numbers: Whole numbers by name.
    """

    watermark: int
    tables: Mapping[str, pa.RecordBatch] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> pa.RecordBatch | None:
        """The rows, unless there are none."""
        found = self.tables.get("rows")
        return found if found is not None and found.num_rows else None


def rows_packet(rows: pa.RecordBatch | None, watermark: int) -> Packet:
    """A packet of rows; without any it only carries the promise."""
    return Packet(watermark, {"rows": rows} if rows is not None and rows.num_rows else {})


def times(rows: pa.RecordBatch) -> Any:
    """When rows come alive (int64 microseconds)."""
    return rows.column(TIME).to_numpy()


def ends(rows: pa.RecordBatch, reach: int) -> Any:
    """Until when rows live: as they say themselves, or their stream's reach after their time."""
    return rows.column(ENDS).to_numpy() if ENDS in rows.schema.names else times(rows) + reach


def keys_of(rows: pa.RecordBatch, columns: tuple[str, ...]) -> Keys:
    """The keys of rows. Without any key column all rows have the same one."""
    if not columns:
        return Keys(np.zeros(rows.num_rows, np.uint64), None)
    return encode_keys([rows.column(name) for name in columns])


def identities(keys: Keys) -> Any:
    """Keys as values that are equal just if the keys are: hashes where these are one to one, else bytes."""
    if keys.encoded is None:
        return keys.hashes
    offsets, data = keys.encoded.offsets, keys.encoded.data.tobytes()
    found = np.empty(len(keys.hashes), object)
    found[:] = [data[offsets[i] : offsets[i + 1]] for i in range(len(found))]
    return found


def distinct(keys: Keys) -> tuple[Any, Any, Any]:
    """The distinct keys: their identities, of each the first row that has it, and of each row its key."""
    found, first, inverse = np.unique(identities(keys), return_index=True, return_inverse=True)
    return found, first, inverse


def chosen(rows: pa.RecordBatch, numbers: Any) -> pa.RecordBatch:
    """Some rows, by number or by mask."""
    if getattr(numbers, "dtype", None) == np.bool_:
        return rows.filter(pa.array(numbers))
    return rows.take(pa.array(numbers))


def to_bytes(packets: list[tuple[str, Packet]]) -> bytes:
    """Packets with their addresses as bytes: a header, then every table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    bodies = []
    head = []
    for address, packet in packets:
        sizes = {}
        for name, table in packet.tables.items():
            body = to_ipc([table])
            sizes[name] = len(body)
            bodies.append(body)
        head.append([address, packet.watermark, dict(packet.numbers), sizes])
    header = json.dumps(head, separators=(",", ":")).encode()
    sink.write(_HEADER.pack(len(header)))
    sink.write(header)
    for body in bodies:
        sink.write(body)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def from_bytes(message: bytes) -> list[tuple[str, Packet]]:
    """The packets of a message.

    >>> rows = pa.record_batch([pa.array([7])], [TIME])
    >>> [(address, packet)] = from_bytes(to_bytes([("a:rows", rows_packet(rows, 9))]))
    >>> address, packet.watermark, times(packet.rows).tolist()
    ('a:rows', 9, [7])
    """
    try:
        (size,) = _HEADER.unpack_from(message)
        at = _HEADER.size + size
        found = []
        for address, watermark, numbers, sizes in json.loads(message[_HEADER.size : at]):
            tables = {}
            for name, length in sizes.items():
                tables[name] = from_ipc(message[at : at + length])
                at += length
            found.append((address, Packet(watermark, tables, numbers)))
    except UNREADABLE as error:
        raise DamagedMessage(
            "a message cannot be read",
            f"{error or type(error).__name__}.",
            "restore the mailbox from a copy, or start anew with an empty one.",
        ) from None
    return found


def same_packets(one: bytes, other: bytes) -> bool:
    """Whether two messages say the same. Their bytes may differ: Arrow may lay out equal values differently.

    >>> rows = pa.record_batch([pa.array([7])], [TIME])
    >>> one, other = (to_bytes([("3", rows_packet(rows, watermark))]) for watermark in (9, 10))
    >>> same_packets(one, one), same_packets(one, other)
    (True, False)
    """
    if one == other:
        return True
    try:
        pairs = list(zip(from_bytes(one), from_bytes(other), strict=True))
    except (DamagedMessage, ValueError):
        return False
    return all(
        left == right
        and (a.watermark, dict(a.numbers), list(a.tables)) == (b.watermark, dict(b.numbers), list(b.tables))
        and all(table.equals(b.tables[name]) for name, table in a.tables.items())
        for (left, a), (right, b) in pairs
    )
