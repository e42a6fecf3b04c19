"""All parts of a join at one site, as a host runs them: rows and messages in, results and messages out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from watersmeet.kernel.bucket import Bucket, Message, Metrics, Outcome
from watersmeet.kernel.grouping import in_groups
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows
from watersmeet.kernel.sites import node
from watersmeet.kernel.sites.node import Addressed, Node
from watersmeet.kernel.sites.packet import END, TIME, from_bytes, to_bytes
from watersmeet.kernel.sites.time_order import newest

# Packets of a batch leave in messages of about this many bytes.
_MESSAGE_BYTES = 1 << 28
# The value in which the number of results so far is kept, beside those of the parts.
_RESULTS = "@results"


class SiteBucket(Bucket):
    """The parts of a site; what is promised about time travels in their packets."""

    uses_watermark: ClassVar[bool] = False
    rows_in_order: ClassVar[bool] = True
    sends_messages: ClassVar[bool] = True
    stays_in_memory: ClassVar[bool] = True

    def __init__(self, parts: Node, lateness: Sequence[int]) -> None:
        """Empty parts; `lateness` is per stream how late its rows may be, microseconds."""
        self.node = parts
        self._lateness = lateness
        self._columns = parts.wiring.columns
        self._messages: dict[str, list[Addressed]] = defaultdict(list)
        self._results = self._reported_results = 0
        self._reported_late: dict[int, int] = {}

    def on_rows(self, part: int, rows: Rows) -> Outcome:
        """Rows of a stream, by time and content; what is late for the stream itself is dropped."""
        table = pa.record_batch(
            [pa.array(rows.times), *rows.columns.columns], [TIME, *rows.columns.schema.names]
        )
        watermark = newest(rows.times, self._lateness[part], self.node.watermark(part))
        return self._take(self.node.on_rows(part, table, watermark))

    def on_message(self, sender: str, body: bytes) -> Outcome:
        """Packets of another site."""
        del sender
        return self._take(self.node.on_packets([(int(edge), packet) for edge, packet in from_bytes(body)]))

    def on_end(self, part: int) -> Outcome:
        """A stream has ended; those of other sites do not matter here."""
        return self._take(self.node.on_rows(part, None, END)) if part in self.node.streams else iter(())

    def on_batch(self, until: int) -> Outcome:
        """All packets of a batch leave together."""
        del until
        messages, self._messages = self._messages, defaultdict(list)
        for receiver in sorted(messages):
            for packets in in_groups(messages[receiver], (_nbytes, _MESSAGE_BYTES)):
                body = to_bytes([(str(edge), packet) for edge, packet in packets])
                rows = sum(packet.rows.num_rows for _, packet in packets if packet.rows is not None)
                yield Message(receiver, body, rows)

    def save(self) -> dict[str, Any]:
        """What the parts keep."""
        return {**self.node.save(), _RESULTS: self._results}

    def load(self, kept: dict[str, Any]) -> None:
        """Take it back."""
        if not kept:
            return
        self._results = self._reported_results = kept[_RESULTS]
        self.node.restore(kept)
        self._reported_late = dict(self.node.late)

    def take_metrics(self) -> Metrics:
        """What came of the batch, and what is held."""
        late, before = self.node.late, self._reported_late
        found: Metrics = {f"late_{stream}": late[stream] - before.get(stream, 0) for stream in late}
        found |= {f"live_{s}": rows for s, rows in enumerate(self.node.rows_by_stream(len(self._lateness)))}
        found |= {"results": self._results - self._reported_results, "waiting": self.node.waiting}
        self._reported_late, self._reported_results = dict(late), self._results
        return found

    def status(self) -> dict[str, Any]:
        """The site so far."""
        return {
            "ended": self.node.ended,
            "late": self.node.late,
            "results": self._results,
            "held": self.node.held,
            "waiting": self.node.waiting,
        }

    def _take(self, outcome: node.Outcome) -> Iterator[Results]:
        for receiver, packets in outcome.messages.items():
            self._messages[receiver] += packets
        for table in outcome.results:
            self._results += table.num_rows
            times = table.column(TIME).to_numpy()
            yield Results(([table.column(name) for name in self._columns],), times, times)


def _nbytes(addressed: Addressed) -> int:
    return sum(table.nbytes for table in addressed[1].tables.values())
