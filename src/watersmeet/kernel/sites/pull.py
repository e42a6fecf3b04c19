"""SM-S2 of Tran & Lee 2010 (Algorithm 4): know all keys of the window, and pull rows as they are met.

    head side                                     window side
    knows all keys of the window      <- changes  after every change of the window
    head of a key it has not          has no partner
    head of a key whose rows it has   joins them
    head of another key waits         numbers ->
                                      <- rows     of these keys; later rows of them follow by themselves
    heads join the rows

Answers and changes travel in order, so an answer never overtakes a change. A head that meets a key asked
for, but not answered yet, waits for the same answer.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.held import Held
from watersmeet.kernel.sites.key_table import arrived_keys
from watersmeet.kernel.sites.live_keys import LiveKeys
from watersmeet.kernel.sites.live_rows import LiveRows
from watersmeet.kernel.sites.mixed import MixedWindow
from watersmeet.kernel.sites.packet import (
    END,
    START,
    Packet,
    chosen,
    distinct,
    identities,
    keys_of,
    rows_packet,
    times,
)
from watersmeet.kernel.sites.part import Sent
from watersmeet.kernel.sites.window import REMOVE, SiteWindow, WindowSide
from watersmeet.plan.sites.step import JoinStep


class Pulling:
    """The head side: it has the heads, and of the window all keys and some rows."""

    def __init__(self, step: JoinStep, reach: int, count: int | None) -> None:
        """Nothing is known of the window."""
        self.step = step
        self.mixed = MixedWindow()
        self.copy = LiveRows(reach, count)
        self.held = Held()
        # What was asked for in each question that is not answered, and the heads that wait for it.
        self.asked: deque[tuple[tuple[int, ...], list[pa.RecordBatch]]] = deque()
        self.heads = self.current = self.done = self.told = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take heads, changes of the window, or rows that were pulled."""
        results = []
        if port == "heads":
            self.held.add(packet.rows)
            self.heads = packet.watermark
        elif "answer" in packet.numbers:
            results = self._answered(packet)
        else:
            self._changed(packet)
        found, question = self._join(self.held.take(self.current))
        results += found
        waiting = [int(times(rows).min()) - 1 for _, batches in self.asked for rows in batches]
        until = min([self.heads, self.current, *waiting])
        if until > self.done or results:
            self.done = max(self.done, until)
            self.copy.expire(self.done)
            yield "out", rows_packet(pa.concat_batches(results) if results else None, self.done)
        if question or self.done > self.told:
            self.told = self.done
            numbers = pa.record_batch([pa.array(question, pa.int64())], ["serial"])
            yield "ask", Packet(self.done, {"serials": numbers} if question else {})

    def _changed(self, packet: Packet) -> None:
        if "keys" in packet.tables:
            keys = arrived_keys(packet.tables["keys"], self.step.window_key)
            self.mixed.add(identities(keys).tolist())
        self.mixed.follow(*self._take(packet))
        if "counts" in packet.tables:
            serials, counts = (column.to_pylist() for column in packet.tables["counts"].columns)
            self.mixed.count(zip(serials, counts, strict=True))
        if REMOVE in packet.numbers:
            self.copy.store.remove(packet.numbers[REMOVE])
        self.current = packet.watermark

    def _answered(self, packet: Packet) -> list[pa.RecordBatch]:
        serials, waiting = self.asked.popleft()
        self.mixed.known(serials, *self._take(packet))
        return [found for heads in waiting for found in self._probe(heads)]

    def _take(self, packet: Packet) -> tuple[list[Any], list[int]]:
        """Take rows of the window; their keys and numbers."""
        first = self.copy.store.count
        self.copy.take(packet)
        if packet.rows is None:
            return [], []
        self.work["insert"] += packet.rows.num_rows
        keys = identities(keys_of(packet.rows, self.step.window_key)).tolist()
        return keys, list(range(first, first + len(keys)))

    def _join(self, heads: pa.RecordBatch | None) -> tuple[list[pa.RecordBatch], list[int]]:
        """Results of heads whose partners are known, and the numbers of keys to ask for."""
        if heads is None:
            return [], []
        self.work["hash"] += 2 * heads.num_rows
        keys, _, inverse = distinct(keys_of(heads, self.step.head_key))
        serials = np.array([self.mixed.serials.get(key, -1) for key in keys.tolist()], np.int64)
        known = np.array([serial in self.mixed.lists for serial in serials.tolist()], np.bool_)
        pending = {serial: number for number, (asked, _) in enumerate(self.asked) for serial in asked}
        unknown = [s for s, have in zip(serials.tolist(), known, strict=True) if s >= 0 and not have]
        question = [serial for serial in unknown if serial not in pending]
        if question:
            pending |= dict.fromkeys(question, len(self.asked))
            self.asked.append((tuple(question), []))
        answers = np.array([pending.get(s, -1) for s in serials.tolist()], np.int64)
        answers[known] = -1
        for number in sorted(set(answers.tolist()) - {-1}):
            self.asked[number][1].append(chosen(heads, answers[inverse] == number))
        return self._probe(chosen(heads, known[inverse])), question

    def _probe(self, heads: pa.RecordBatch) -> list[pa.RecordBatch]:
        found = self.copy.join(self.step, heads)
        return [] if found is None else [found]

    @property
    def rows_held(self) -> int:
        """The rows of keys that were pulled."""
        return self.copy.store.rows

    @property
    def rows_waiting(self) -> int:
        """Heads that wait for changes of the window, or for rows that were asked for."""
        asked: int = sum(rows.num_rows for _, heads in self.asked for rows in heads)
        return self.held.count + asked

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.done >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        asked = tuple((serials, tuple(waiting)) for serials, waiting in self.asked)
        marks = (self.heads, self.current, self.done, self.told)
        return self.copy.save() | self.held.save("held") | {"pulling": (asked, self.mixed.save(), marks)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.copy.restore(kept)
        self.held.restore("held", kept)
        asked, mixed, marks = kept["pulling"]
        self.asked = deque((numbers, list(waiting)) for numbers, waiting in asked)
        self.mixed = MixedWindow.restored(mixed)
        self.heads, self.current, self.done, self.told = marks


class Serving(WindowSide):
    """The window side: it has the window, tells its changes and serves keys that are pulled."""

    def __init__(self, name: str, step: JoinStep, window: SiteWindow) -> None:
        """Nothing was told."""
        self.name, self.window = name, window
        self.live = LiveKeys(step, window)
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take a change of the window, or a question."""
        if port == "window":
            if REMOVE in packet.numbers:
                self.live.release(packet.numbers[REMOVE] - 1)
            tables = self.live.insert(packet, counts_of_all=True)
            yield "answer", Packet(packet.watermark, tables, packet.numbers)
            return
        if "serials" in packet.tables:
            asked = packet.tables["serials"].column(0).to_pylist()
            rows = self.live.of(self.live.counts.pull(asked))
            tables = {} if rows is None else {"rows": rows}
            yield "answer", Packet(self.window.watermark, tables, {"answer": 1})
        self.live.release(packet.watermark)
        self.window.release(self.name, packet.watermark)

    def save(self) -> dict[str, Any]:
        """All state."""
        return {"serving": self.live.save()}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.live.restore(kept["serving"])
