"""Lines of JSON or CSV: the simple ones as columns, the others as they are.

Which lines are simple depends on each line alone, so whoever reads the same bytes twice can take the simple
ones now and the others then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.simple_csv import read_csv_lines
from watersmeet.kernel.simple_json import described, read_json_lines
from watersmeet.kernel.simple_values import SimpleField, columns_of, gather_texts


@dataclass(frozen=True)
class LineForm:
    """How lines become columns.

    Attributes:
        fields: Of CSV all that lines have, of JSON those that are wanted.
        separator: What stands between fields of CSV; None for JSON.
        utc: Whether times without a zone are those of UTC; else their lines are not simple.
    """

    fields: tuple[SimpleField, ...]
    separator: str | None = None
    utc: bool = False

    def simple(self, lines: bytes) -> list[pa.Array]:
        """The columns of the simple lines. Whole numbers are int64."""
        data, found, more, odd = _tables(lines, len(self.fields))
        rows, _ = self._read(data, found, more, odd)
        return columns_of(self.fields, data, found[:, :rows], more[:, :rows])

    def split(self, lines: bytes) -> tuple[int, pa.Array]:
        """How many lines are simple, and the others as bytes."""
        data, found, more, odd = _tables(lines, len(self.fields))
        rows, odds = self._read(data, found, more, odd)
        starts = np.ascontiguousarray(odd[0, :odds])
        offsets, gathered = gather_texts(data, starts, odd[1, :odds] - starts)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(gathered)]
        return rows, pa.Array.from_buffers(pa.binary(), odds, buffers)

    def _read(self, data: Any, found: Any, more: Any, odd: Any) -> tuple[int, int]:
        names, heads, kinds, digits = self._described
        if self.separator is None:
            return read_json_lines(data, names, heads, kinds, digits, self.utc, found, more, odd)  # type: ignore[no-any-return]
        separator = ord(self.separator)
        return read_csv_lines(data, separator, kinds, digits, self.utc, found, more, odd)  # type: ignore[no-any-return]

    @cached_property
    def _described(self) -> tuple[Any, Any, Any, Any]:
        return described(self.fields)


def _tables(lines: bytes, fields: int) -> tuple[Any, Any, Any, Any]:
    """The bytes, and room for as many lines as there can be."""
    most = lines.count(b"\n") + lines.count(b"\r") + 1
    room = [np.empty((count, most), np.int64) for count in (fields, fields, 2)]
    return np.frombuffer(lines, np.uint8), room[0], room[1], room[2]
