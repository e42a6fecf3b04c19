"""Values as bytes that cannot execute: how all state is written.

    magic, version | checksum | size of the outline | outline, as JSON | buffers

The outline says how a value is put together; arrays, bytes and Arrow batches lie in the buffers as they are.
Reading builds plain values and the classes of `kernel.stored`, and looks nothing up by name but these. So
whoever can write a checkpoint can spoil it and do no more.

A sequence of many values of one type is written by columns, so that numbers do not pass one by one:

    [(5, 300), (6, 400), ...]   ->   {"columns": [{"numbers": 0, "as": "|i1"}, {"numbers": 1, "as": "<i2"}]}
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import DamagedRun
from watersmeet.kernel.blob import blob_checksum
from watersmeet.kernel.ipc import UNREADABLE, from_ipc, to_ipc
from watersmeet.kernel.stored import STORED, builder, unlike_ours

_MAGIC = b"WMSTATE"
_VERSION = 1
_START = struct.Struct("<7sBq")  # magic, version, checksum of all that follows
_SIZE = struct.Struct("<q")  # bytes of the outline
_ALIGN = 16
# So many values of one type are written by columns, and so many numbers to a buffer.
_MANY, _MANY_NUMBERS = 8, 64
# Values that JSON has itself.
_PLAIN = {type(None), bool, float, str}
# Numbers, truth values, times and texts of a fixed length; arrays of anything else are refused.
_ARRAYS = "biufcmMSU"
# Numbers in a row take the first of these that has room for all of them.
_WIDTHS = [(width, np.iinfo(width).min, np.iinfo(width).max) for width in ("|i1", "<i2", "<i4", "<i8", "<u8")]
_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def encode(value: Any) -> bytes:
    """A value as bytes.

    Raises:
        TypeError: It holds something that has no form here.

    >>> decode(encode({(1, 2): [b"x", None, float("inf")]}))
    {(1, 2): [b'x', None, inf]}
    """
    writer = _Writer()
    said = writer.one(value)
    sizes = [len(some) for some in writer.buffers]
    outline = json.dumps([writer.fields, sizes, said], separators=(",", ":")).encode("ascii")
    pieces: list[bytes | memoryview] = [_SIZE.pack(len(outline)), outline]
    at = _START.size + _SIZE.size + len(outline)
    for some in writer.buffers:
        pieces += [bytes(-at % _ALIGN), some]
        at += -at % _ALIGN + len(some)
    body = b"".join(pieces)
    return _START.pack(_MAGIC, _VERSION, blob_checksum(body)) + body


def decode(content: bytes, kind: type = object) -> Any:
    """The value of some bytes, which must be of a kind.

    Raises:
        CheckpointMismatch: They were written by something else, or by another version.
        DamagedRun: They are not as they were written.
    """
    content = bytes(content)
    if content[: len(_MAGIC)] != _MAGIC:
        raise unlike_ours(f"it starts with {content[:8]!r}")
    try:
        _, version, checksum = _START.unpack_from(content)
        if version != _VERSION:
            raise unlike_ours(f"it has version {version}, and this is version {_VERSION}")
        if blob_checksum(memoryview(content)[_START.size :]) != checksum:
            raise ValueError("the checksum is wrong")
        value = _Reader(content).value()
    except UNREADABLE as error:
        raise DamagedRun(
            "stored state is damaged",
            f"{error or type(error).__name__}.",
            "restore the checkpoint from a copy.",
        ) from None
    if not isinstance(value, kind):
        raise unlike_ours(f"it holds {type(value).__name__}, not {kind.__name__}")
    return value


class _Writer:
    """Collects the buffers of a value, and the fields of its classes."""

    def __init__(self) -> None:
        self.buffers: list[bytes | memoryview] = []
        self.fields: dict[str, tuple[str, ...]] = {}

    def one(self, value: Any) -> Any:
        """What the outline says of a value."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is int:
            # JSON has numbers of any length, but Python reads no more than some thousand digits.
            return value if -(1 << 63) <= value < 1 << 64 else ["int", hex(value)]
        if kind in (list, tuple, set, frozenset):
            return [kind.__name__, self.many(value)]
        if kind is dict:
            return ["dict", self.many(value), self.many(value.values())]
        if kind in STORED:
            name, names = self._class(kind)
            return ["record", name, *(self.one(getattr(value, one)) for one in names)]
        if kind is bytes:
            return ["bytes", self._buffer(value)]
        if kind is np.ndarray or isinstance(value, np.generic):
            if value.dtype.kind not in _ARRAYS:
                raise TypeError(f"an array of {value.dtype} cannot be stored")
            word = "array" if kind is np.ndarray else "scalar"
            return [word, value.dtype.str, self._buffer(_raw(value)), *value.shape]
        if kind is pa.RecordBatch:
            return ["rows", self._buffer(to_ipc([value]))]
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} cannot be stored: see `stored_as`")

    def many(self, values: Collection[Any]) -> Any:
        """What the outline says of values in a row: a list, or how they lie in columns."""
        kinds = set(map(type, values))
        if len(kinds) == 1 and len(values) >= _MANY:
            found = self._columns(next(iter(kinds)), values)
            if found is not None:
                return found
        return list(values) if kinds <= _PLAIN else [self.one(value) for value in values]

    def _columns(self, kind: type, values: Collection[Any]) -> Any:
        if kind in (int, float):
            width = "<f8" if kind is float else _width(values)
            if width is None:
                return None
            if len(values) < _MANY_NUMBERS:
                return list(values)
            return {"numbers": self._buffer(_raw(np.array(list(values), width))), "as": width}
        if kind is bytes:
            return {"bytes": self._buffer(b"".join(values)), "sizes": self.many(list(map(len, values)))}
        if kind is tuple:
            if len(set(map(len, values))) == 1 and all(values):
                return {"columns": [self.many(column) for column in zip(*values, strict=True)]}
            return None
        if kind in STORED:
            name, names = self._class(kind)
            columns = [self.many(list(map(attrgetter(one), values))) for one in names]
            return {"record": name, "columns": columns}
        return None

    def _class(self, kind: type) -> tuple[str, tuple[str, ...]]:
        """The name of a class and its fields, which are told once."""
        name, names = STORED[kind]
        self.fields[name] = names
        return name, names

    def _buffer(self, content: Any) -> int:
        self.buffers.append(content)
        return len(self.buffers) - 1


def _width(numbers: Collection[int]) -> str | None:
    """The smallest type that holds some numbers."""
    least, most = min(numbers), max(numbers)
    return next((width for width, low, high in _WIDTHS if low <= least and most <= high), None)


def _raw(array: Any) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


class _Reader:
    """Puts a value together from its outline and its buffers."""

    def __init__(self, content: bytes) -> None:
        (size,) = _SIZE.unpack_from(content, _START.size)
        at = _START.size + _SIZE.size
        written, sizes, self.said = json.loads(content[at : at + size].decode("ascii"))
        at += size
        self.buffers: list[memoryview] = []
        for one in sizes:
            at += -at % _ALIGN
            if not 0 <= one <= len(content) - at:
                raise ValueError("it is cut short")
            self.buffers.append(memoryview(content)[at : at + one])
            at += one
        self.builders = {name: builder(name, names) for name, names in written.items()}

    def value(self) -> Any:
        """All of it."""
        return self._one(self.said)

    def _one(self, said: Any) -> Any:
        if not isinstance(said, list):
            return said
        word, *rest = said
        if word == "record":
            name, *values = rest
            return self.builders[name](self._many(values))
        if word in _CONTAINERS:
            return _CONTAINERS[word](self._many(*rest))
        if word == "dict":
            keys, values = rest
            return dict(zip(self._many(keys), self._many(values), strict=True))
        if word == "int":
            return int(rest[0], 16)
        if word == "bytes":
            return bytes(self.buffers[rest[0]])
        if word in ("array", "scalar"):
            dtype, number, *shape = rest
            # A copy, since whoever gets it may change it.
            array = self._array(dtype, number, shape).copy()
            return array if word == "array" else array[()]
        if word == "rows":
            rows = from_ipc(self.buffers[rest[0]])
            rows.validate()
            return rows
        raise ValueError(f"there is no form {word!r}")

    def _many(self, said: Any) -> list[Any]:
        if isinstance(said, list):
            return [self._one(one) if type(one) is list else one for one in said]
        if "numbers" in said:
            return self._array(said["as"], said["numbers"], (-1,)).tolist()  # type: ignore[no-any-return]
        if "bytes" in said:
            content = bytes(self.buffers[said["bytes"]])
            ends = list(accumulate(self._many(said["sizes"])))
            return [content[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        rows = zip(*map(self._many, said["columns"]), strict=True)
        if "record" not in said:
            return list(rows)
        return list(map(self.builders[said["record"]], rows))

    def _array(self, dtype: str, number: int, shape: Sequence[int]) -> Any:
        if np.dtype(dtype).kind not in _ARRAYS:
            raise ValueError(f"an array of {dtype} is not stored")
        return np.frombuffer(self.buffers[number], dtype).reshape(shape)
