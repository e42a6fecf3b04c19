"""A multi-way join of whole inputs at one site, as a part (Zhou et al. 2006, "MJoin").

It is the kernel of `kernel.join`. Its results do not depend on the order in which rows come, so rows join
as they come and wait for nothing. What it promises is what all its inputs have promised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from watersmeet.kernel.blob import from_blob, to_blob
from watersmeet.kernel.operator import kernel_for
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows, Run, run_bytes
from watersmeet.kernel.sites.packet import END, ENDS, START, TIME, Packet, ends, keys_of, rows_packet, times
from watersmeet.kernel.sites.part import Sent
from watersmeet.kernel.window import StoredRun
from watersmeet.plan.layout import layouts
from watersmeet.plan.plan import Source
from watersmeet.plan.sites.columns import named
from watersmeet.plan.sites.wiring import MJoinSpec


class MJoin:
    """A part that joins all its inputs."""

    def __init__(self, spec: MJoinSpec, senders: Iterable[tuple[str, str]]) -> None:
        """Nothing has come.

        Args:
            spec: The operator.
            senders: Per edge that ends here its port and its sender.
        """
        layout = layouts(spec.plan)[spec.operator]
        self.spec = spec
        self.inputs = layout.inputs
        self.kernel = kernel_for(spec.plan, spec.operator, layout, self._new_id)
        self.names = [[named(ref) for ref in part.stored if ref in layout.output] for part in layout.inputs]
        self.promises = dict.fromkeys(senders, START)
        self.done = START
        self.ids = 0
        self.blobs: dict[str, bytes] = {}
        self.work: Counter[str] = Counter()

    def _new_id(self) -> str:
        self.ids += 1
        return str(self.ids)

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:
        """Take rows of an input; yields results."""
        found = []
        if packet.rows is not None:
            found = [
                self._table(block)
                for block in self.kernel.on_rows(int(port), self._rows(int(port), packet.rows))
            ]
            self._count()
        self.promises[port, sender] = max(self.promises[port, sender], packet.watermark)
        promise = min(self.promises.values())
        found = [table for table in found if table.num_rows]
        if promise > self.done or found:
            results = pa.concat_batches(found) if found else None
            yield "out", rows_packet(results, max(self.done, promise))
        if promise > self.done:
            self.done = promise
            self.kernel.on_watermark(promise)

    def _rows(self, number: int, rows: pa.RecordBatch) -> Rows:
        part, layout = self.spec.operator.inputs[number], self.inputs[number]
        stored = [rows.column(named(ref)) for ref in layout.stored]
        columns = pa.record_batch(stored, [named(ref) for ref in layout.stored]) if stored else _bare(rows)
        lasts = None if isinstance(part, Source) else ends(rows, 0)
        self.work["insert"] += rows.num_rows
        return Rows(keys_of(rows, tuple(named(ref) for ref in layout.key)), times(rows), columns, lasts)

    def _count(self) -> None:
        """Note what was looked up by key, and which rows were then compared."""
        counts = self.kernel.take_counts()
        self.work["hash"] += counts.lookups
        self.work["probe"] += counts.examined

    def _table(self, block: Results) -> pa.RecordBatch:
        names, columns = [TIME], [pa.array(block.times)]
        if self.spec.ends:
            names.append(ENDS)
            columns.append(pa.array(block.ends))
        for part, arrays in zip(self.names, block.columns, strict=True):
            names += part
            columns += arrays
        return pa.record_batch(columns, names)

    @property
    def rows_held(self) -> int:
        """The rows of all windows."""
        return sum(window.rows for window in self.kernel.windows)

    @property
    def rows_waiting(self) -> int:
        """None: rows join as they come."""
        return 0

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.done >= END

    def save(self) -> dict[str, Any]:
        """All state: the runs of every window, each once."""
        places = []
        for window in self.kernel.windows:
            places.append([(r.id, r.time_slice, r.rows, r.earliest, r.end) for r in window.runs])
            window.take_changes()
            for run in window.runs:
                if run.id not in self.blobs:
                    self.blobs[run.id] = to_blob(run.run)
        held = {place[0] for runs in places for place in runs}
        self.blobs = {name: blob for name, blob in self.blobs.items() if name in held}
        kept: dict[str, Any] = {f"run/{name}": blob for name, blob in self.blobs.items()}
        return kept | {"mjoin": (places, dict(self.promises), self.done, self.ids)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        places, self.promises, self.done, self.ids = kept["mjoin"]
        self.blobs = {}
        for window, runs in zip(self.kernel.windows, places, strict=True):
            window.runs = []
            for name, piece, rows, earliest, end in runs:
                blob = self.blobs[name] = kept[f"run/{name}"]
                run = from_blob(blob)
                window.runs.append(
                    StoredRun(name, piece, rows, earliest, end, partial(_same, run), run_bytes(run))
                )
        self.kernel.watermark = self.done


def _same(run: Run) -> Run:
    return run


def _bare(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows without any stored column; their number has to be known all the same."""
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows.num_rows, pa.struct([])))
