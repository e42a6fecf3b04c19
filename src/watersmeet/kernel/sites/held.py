"""Rows that wait until it is known that nothing before them is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.packet import chosen, times


@dataclass(slots=True)
class Held:
    """Rows in the order they came, taken out by time."""

    batches: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, rows: pa.RecordBatch | None) -> None:
        """Hold rows."""
        if rows is not None and rows.num_rows:
            self.batches.append(rows)

    def take(self, until: int) -> pa.RecordBatch | None:
        """Take out the rows up to a time, in the order of their times; None if there are none."""
        ready, rest = [], []
        for rows in self.batches:
            due = times(rows) <= until
            if due.all():
                ready.append(rows)
            elif due.any():
                ready.append(chosen(rows, due))
                rest.append(chosen(rows, ~due))
            else:
                rest.append(rows)
        self.batches = rest
        if not ready:
            return None
        together = pa.concat_batches(ready) if len(ready) > 1 else ready[0]
        starts = times(together)
        if (np.diff(starts) < 0).any():
            together = chosen(together, np.argsort(starts, kind="stable"))
        return together

    @property
    def count(self) -> int:
        """How many rows are held."""
        return sum(rows.num_rows for rows in self.batches)

    @property
    def earliest(self) -> int | None:
        """The time of the first row held."""
        return min((int(times(rows).min()) for rows in self.batches), default=None)

    def save(self, name: str) -> dict[str, Any]:
        """What to keep."""
        return {name: tuple(self.batches)}

    def restore(self, name: str, kept: dict[str, Any]) -> None:
        """Take back what was kept."""
        self.batches = list(kept[name])
