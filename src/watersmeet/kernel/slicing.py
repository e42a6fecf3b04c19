"""The part of a sliced join that one bucket stores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from watersmeet.kernel.content import content_hashes
from watersmeet.kernel.grid import around, cell_hashes, cells
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.run import Rows
from watersmeet.kernel.shares import Shares
from watersmeet.query.number_band import NumberBand


@dataclass(slots=True)
class Slicing:
    """Which rows a slice stores.

    Attributes:
        slice: Its number.
        slices: How many slices there are.
        active: How many of them are given new rows.
        shares: Per input how rows are spread over the slices.
        band: What numbers rows are found by, and per input the column that has them; None finds all rows.
    """

    slice: int
    slices: int
    active: int
    shares: dict[int, Shares] = field(default_factory=dict)
    band: tuple[NumberBand, tuple[int, int]] | None = None

    def keyed(self, part: int, new: Rows) -> tuple[Rows, Rows]:
        """New rows as they look for partners, and as they are stored: by the numbers they are found by."""
        if self.band is None:
            return new, new
        column = new.columns.column(self.band[1][part])
        if column.null_count:
            # Nothing is band a null.
            new = new.take(np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)))
            column = new.columns.column(self.band[1][part])
        own = cells(self.band[0], column, left=part == 0)
        wanted, rows = around(own)
        stored = replace(new, keys=Keys(cell_hashes(own), None))
        return replace(new.take(rows), keys=Keys(cell_hashes(wanted), None)), stored

    def mine(self, part: int, new: Rows, length: int, watermark: int) -> Any:
        """A mask of the new rows of an input that are stored in this slice.

        Args:
            part: The input.
            new: Its new rows: all of them, in any order.
            length: How long a row lives that does not say it itself.
            watermark: Rows that end up to here are gone.
        """
        shares = self.shares.setdefault(part, Shares(self.slices, self.active))
        shares.active = self.active
        ends = new.times + length if new.ends is None else new.ends
        return (
            shares.owners(new.times, ends, watermark, partial(content_hashes, new.columns.columns))
            == self.slice
        )
