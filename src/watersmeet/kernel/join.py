"""The multi-way join: rows of a batch arrive stream by stream, results leave once each.

Rows of a stream first become runs of its window and then look for partners in the windows of the
other streams as they stand at that moment:

    dQ/dA := dA, B(old),       C(old)           A arrives
    dQ/dB := dB, A(old + dA),  C(old)           then B
    dQ/dC := dC, A(old + dA),  B(old + dB)      then C

Each combination is found by the last of its rows in this order, so exactly once, whatever the
timestamps: order of arrival never matters, ties need no rule, and nothing between the streams is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.keys import Keys
from watersmeet.kernel.probe import EXAMINED, new_cursor, probe
from watersmeet.kernel.reach import Reach, reach_of
from watersmeet.kernel.results import Results, block_rows, collect
from watersmeet.kernel.window import StoredRun, Window
from watersmeet.plan import Plan, ProbePath

_NO_WATERMARK = -(1 << 62)


@dataclass(slots=True)
class Counts:
    """What a kernel did since the counts were last taken."""

    late: list[int]
    rows_in: list[int]
    results: int = 0
    examined: int = 0


@dataclass(slots=True)
class MultiwayJoin:
    """One bucket of a join on a shared key."""

    windows: list[Window]
    paths: tuple[ProbePath, ...]
    watermark: int = _NO_WATERMARK
    counts: Counts = field(init=False)

    def __post_init__(self) -> None:
        """Start counting from zero."""
        self.counts = Counts([0] * len(self.windows), [0] * len(self.windows))

    @classmethod
    def from_plan(cls, plan: Plan, new_id: Callable[[], str]) -> MultiwayJoin:
        """An empty join for a plan."""
        return cls([Window(s.window_us, plan.slices, new_id) for s in plan.query.streams], plan.paths)

    def on_rows(self, stream: int, keys: Keys, times: Any, columns: pa.RecordBatch) -> Iterator[Results]:
        """Take new rows of one stream and yield the results they complete.

        Rows at or before the watermark are late: they are counted and dropped. The window takes the rows
        at once; the results come as the iterator is read.
        """
        self.counts.rows_in[stream] += len(times)
        late = times <= self.watermark
        if late.any():
            kept = np.flatnonzero(~late)
            self.counts.late[stream] += len(times) - len(kept)
            encoded = None if keys.encoded is None else keys.encoded.take(kept)
            keys, times, columns = Keys(keys.hashes[kept], encoded), times[kept], columns.take(pa.array(kept))
        fresh = self.windows[stream].insert(keys, times, columns)
        visible = [list(window.runs) for window in self.windows]
        return self._results(stream, fresh, visible)

    def on_watermark(self, watermark: int) -> None:
        """Every row still to come has a later time: drop what it cannot meet, and tidy up."""
        self.watermark = max(self.watermark, watermark)
        for window in self.windows:
            window.expire(self.watermark)
            window.compact()

    def next_expiry(self) -> int | None:
        """The watermark at which `on_watermark` has something to drop."""
        times = [time for window in self.windows if (time := window.next_expiry()) is not None]
        return min(times, default=None)

    def take_counts(self) -> Counts:
        """The counts, starting anew."""
        counts = self.counts
        self.__post_init__()
        return counts

    def _results(
        self, stream: int, fresh: Sequence[StoredRun], visible: list[list[StoredRun]]
    ) -> Iterator[Results]:
        order = self.paths[stream].order
        own = self.windows[stream].length
        lengths = np.array([self.windows[other].length for other in order], np.int64)
        reach = reach_of(fresh, own, [visible[other] for other in order], lengths)
        if not reach.heads:
            return
        heads = np.stack([run.addresses for run in reach.heads])
        runs = np.stack([run.addresses for run in reach.runs])
        # Filled over all heads, since a block has its price however few results it holds.
        found = np.empty((block_rows([*reach.heads, *reach.runs]), len(order) + 2), np.int64)
        filled = 0
        for head, (chosen, bounds) in enumerate(zip(reach.chosen, reach.bounds, strict=True)):
            cursor = new_cursor(len(order))
            while True:
                filled = probe(heads, head, runs, chosen, bounds, lengths, own, cursor, found, filled)
                if filled < len(found):
                    break
                yield from self._collected(stream, reach, found)
                filled = 0
            self.counts.examined += int(cursor[EXAMINED])
        if filled:
            yield from self._collected(stream, reach, found[:filled])

    def _collected(self, stream: int, reach: Reach, found: Any) -> Iterator[Results]:
        self.counts.results += len(found)
        return collect(stream, self.paths[stream].order, reach, found)
