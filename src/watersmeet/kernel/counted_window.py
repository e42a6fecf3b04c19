"""The window of an input whose rows die by being followed, not by growing old.

No run can be dropped for its age here, so dead rows go when runs are merged, and all runs are merged when the
newer ones hold as many rows as the largest: every row is rewritten a logarithmic number of times, and at
most about half of what is stored is dead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from watersmeet.kernel.run import Rows, Run, build_run, concat_rows, rows_of
from watersmeet.kernel.time_slices import TimeSlice
from watersmeet.kernel.window import StoredRun, StoredWindow

_ONE_SLICE = TimeSlice(0, 0)


@dataclass(slots=True)
class CountedWindow(StoredWindow):
    """Rows that live until enough others have come.

    Attributes:
        alive: Which rows of a run can still find partners; set by whoever counts.
    """

    alive: Callable[[Run], Any] = lambda run: np.ones(run.rows, np.bool_)

    def insert(self, new: Rows) -> list[StoredRun]:
        """Store rows; returns their run."""
        return [self._store(_ONE_SLICE, build_run(new))] if len(new) else []

    def compact(self) -> None:
        """Merge all runs without their dead rows, when that is worth it."""
        largest = max((stored.rows for stored in self.runs), default=0)
        if len(self.runs) < 2 or 2 * largest > self.rows:
            return
        living = []
        for stored in self.runs:
            mask = self.alive(stored.run)
            if mask.any():
                living.append(rows_of(stored.run).take(np.flatnonzero(mask)))
        self._remove(list(self.runs))
        if living:
            self._store(_ONE_SLICE, build_run(concat_rows(living)))
