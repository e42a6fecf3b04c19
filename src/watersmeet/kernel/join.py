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
        for head in fresh:
            # Runs no row of the head can reach are not looked into.
            in_reach = [
                [
                    stored
                    for stored in visible[other]
                    if stored.latest + self.windows[other].length >= head.earliest
                    and stored.earliest <= head.latest + own
                ]
                for other in order
            ]
            if not all(in_reach):
                continue
            runs = [stored.run for group in in_reach for stored in group]
            table = np.stack([run.addresses for run in runs])
            bounds = np.cumsum([0] + [len(group) for group in in_reach])
            head_table = head.run.addresses.reshape(1, -1)
            cursor = new_cursor(len(order))
            block = block_rows([head.run, *runs])
            found = np.empty((block, len(order) + 2), np.int64)
            while True:
                count = probe(head_table, table, bounds, lengths, own, cursor, found)
                if count:
                    self.counts.results += count
                    yield from collect(stream, order, head.run, runs, bounds, found[:count])
                if count < block:
                    break
            self.counts.examined += int(cursor[EXAMINED])
