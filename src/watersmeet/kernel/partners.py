"""Looking for partners of rows that are stored already, and going on without any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.combinations import Combinations, Places
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.run import Rows, Run, build_run
from watersmeet.kernel.search import Search
from watersmeet.kernel.window import StoredRun

# Rows that are looked at together.
_BLOCK_ROWS = 1 << 16


@dataclass(slots=True)
class Partners:
    """Who looks for them.

    Attributes:
        join: The join with the windows.
        schemas: Per input the columns that are stored.
    """

    join: MultiwayJoin
    schemas: tuple[pa.Schema, ...] = ()

    def of(self, rows: Combinations, visited: Sequence[int]) -> Iterator[tuple[Any, Combinations]]:
        """Combinations with all their partners in some inputs, and by number whose partners these are."""
        if not len(rows):
            return
        numbered = replace(rows, carried=(*rows.carried, np.arange(len(rows))))
        for found in self._search(tuple(rows.places), visited).partners(numbered):
            yield found.carried[-1], replace(found, carried=found.carried[:-1])

    def _search(self, bound: Sequence[int], visited: Sequence[int]) -> Search:
        join = self.join
        visible: list[Sequence[StoredRun]] = [
            list(window.runs) if part in visited else [] for part, window in enumerate(join.windows)
        ]
        lengths = [window.length for window in join.windows]
        route = join.routes.onward(bound, visited)
        return Search(route, visible, lengths, join.block_bytes, join.open_limit)

    def without(self, rows: Combinations, parts: Sequence[int]) -> Combinations:
        """Combinations with nulls in the place of some inputs."""
        nothing = np.zeros(len(rows), np.int64)
        missing = {part: Places([_null_run(self.schemas[part])], nothing, nothing) for part in parts}
        return replace(rows, places=rows.places | missing)

    def ends(self, part: int, run: Run) -> Any:
        """Until when the rows of a run live."""
        return run.times + self.join.windows[part].length if run.ends is None else run.ends

    def rows(
        self, part: int, stored: Sequence[StoredRun], moments: Callable[[Run], Any], after: int, until: int
    ) -> Iterator[Combinations]:
        """Stored rows of an input of which some moment lies between two times, in blocks.

        Args:
            part: The input.
            stored: Runs of it.
            moments: One moment per row of a run; `carried` has them.
            after: Moments are later than this,
            until: and not later than this.
        """
        runs: list[Run] = []
        owners, numbers, found = [], [], []
        for one in stored:
            times = moments(one.run)
            rows = np.flatnonzero((times > after) & (times <= until))
            if len(rows):
                owners.append(np.full(len(rows), len(runs)))
                numbers.append(rows)
                found.append((one.run.times[rows], self.ends(part, one.run)[rows], times[rows]))
                runs.append(one.run)
        if not runs:
            return
        starts, ends, carried = (np.concatenate(values) for values in zip(*found, strict=True))
        place = Places(runs, np.concatenate(owners), np.concatenate(numbers))
        whole = Combinations({part: place}, starts, ends, (carried,))
        for first in range(0, len(whole), _BLOCK_ROWS):
            yield whole.take(slice(first, first + _BLOCK_ROWS))


def _null_run(schema: pa.Schema) -> Run:
    """A run of one row that is not there."""
    columns = pa.record_batch([pa.nulls(1, kind.type) for kind in schema], schema=schema)
    return build_run(Rows(Keys(np.zeros(1, np.uint64), None), np.zeros(1, np.int64), columns))
