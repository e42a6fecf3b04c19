"""SM-S1 of Tran & Lee 2010 (Algorithms 3, 7 and 8): ask for the rows whose keys the heads have.

    head side                                     window side
    heads of a packet wait            keys ->
                                                  waits until no row before the heads is missing
                                      <- rows     of these keys that were not sent before
    rows join the copy, heads join the copy
                                      <- k        so many of the rows sent have ended
    the first k rows of the copy go

A row of the window is sent at most once. Those sent and not yet ended are the copy, ordered by their ends.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.sites.key_table import asked_table, wanted
from watersmeet.kernel.sites.live_rows import LiveRows
from watersmeet.kernel.sites.packet import END, START, TIME, Packet, chosen, ends, rows_packet, times
from watersmeet.kernel.sites.part import Sent
from watersmeet.kernel.sites.window import REMOVE, SiteWindow, WindowSide
from watersmeet.plan.sites.step import JoinStep


class Asking:
    """The head side: it has the heads, asks for rows and joins them."""

    def __init__(self, step: JoinStep, reach: int, count: int | None, *, bloom: bool = False) -> None:
        """Nothing was asked yet."""
        self.step, self.bloom = step, bloom
        self.copy = LiveRows(reach, count)
        # The queue of Algorithm 8: the ends of the rows of the copy, in order.
        self.ends = np.empty(0, np.int64)
        self.waiting: deque[tuple[pa.RecordBatch, int]] = deque()
        self.done = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take heads, or rows that were asked for."""
        if port == "heads":
            yield from self._ask(packet)
        else:
            yield from self._join(packet)

    def _ask(self, packet: Packet) -> Iterator[Sent]:
        if packet.rows is None:
            if self.waiting:
                # The promise holds as soon as the heads before it are done with.
                self.waiting[-1] = (self.waiting[-1][0], packet.watermark)
            else:
                self.done = packet.watermark
                yield "out", rows_packet(None, self.done)
            if self.ended:
                self.copy.expire(self.done)
            yield "ask", Packet(self.done)
            return
        keys, _ = asked_table(packet.rows, self.step.head_key, bloom=self.bloom)
        latest = int(times(packet.rows).max())
        self.waiting.append((packet.rows, packet.watermark))
        yield "ask", Packet(self.done, {"keys": keys}, {"latest": latest})

    def _join(self, packet: Packet) -> Iterator[Sent]:
        self._update(packet)
        if "answer" not in packet.numbers:
            return
        heads, promise = self.waiting.popleft()
        self.work["probe"] += heads.num_rows * self.copy.store.rows
        results = self.copy.join(self.step, heads)
        self.done = max(self.done, promise)
        yield "out", rows_packet(results, self.done)
        if self.ended:
            # No further heads will bring this to the other side, and nobody need wait for its answer.
            self.copy.expire(self.done)
            yield "ask", Packet(self.done)

    def _update(self, packet: Packet) -> None:
        self.copy.take(packet)
        if packet.rows is not None:
            self.work["insert"] += packet.rows.num_rows
            self.ends = np.sort(np.concatenate([self.ends, ends(packet.rows, self.copy.store.reach)]))
        gone = packet.numbers.get("gone", 0)
        if gone:
            # Rows of equal end go together, so this end is that of no row that stays.
            until, self.ends = int(self.ends[gone - 1]), self.ends[gone:]
            if REMOVE in packet.numbers:
                self.copy.store.remove(until + 1)
            else:
                self.copy.store.expire(until)
        if "until" in packet.numbers and self.copy.row_times is not None:
            self.copy.row_times.forget(packet.numbers["until"])

    @property
    def rows_held(self) -> int:
        """The copy of rows that were asked for."""
        return self.copy.store.rows

    @property
    def rows_waiting(self) -> int:
        """Heads whose question is not answered."""
        return sum(heads.num_rows for heads, _ in self.waiting)

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.done >= END

    def save(self) -> dict[str, Any]:
        """All state."""
        return self.copy.save() | {"asking": (tuple(self.waiting), self.ends, self.done)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        self.copy.restore(kept)
        waiting, self.ends, self.done = kept["asking"]
        self.waiting = deque(waiting)


class Answering(WindowSide):
    """The window side: it has the window and answers with rows that were not sent before (Algorithm 7)."""

    def __init__(self, name: str, step: JoinStep, window: SiteWindow) -> None:
        """Nothing was sent yet."""
        self.name, self.step, self.window = name, step, window
        self.waiting: deque[Packet] = deque()
        self.sent = Shipped()
        self.told = START
        self.work: Counter[str] = Counter()

    def receive(self, port: str, sender: str, packet: Packet) -> Iterator[Sent]:  # noqa: ARG002
        """Take a question, or notice that the window has got further."""
        if port == "ask":
            self.waiting.append(packet)
        elif REMOVE in packet.numbers:
            gone = self.sent.expire(self.window, packet.numbers[REMOVE] - 1)
            if gone:
                yield "answer", Packet(self.window.watermark, {}, {"gone": gone, REMOVE: 1})
        while self.waiting and self.window.watermark >= self.waiting[0].numbers.get("latest", START):
            yield from self._answer(self.waiting.popleft())

    def _answer(self, question: Packet) -> Iterator[Sent]:
        gone = self.sent.expire(self.window, question.watermark)
        tables, numbers = {}, {"gone": gone} if gone else {}
        if self.window.row_times is not None:
            new = self.window.row_times.times
            new = new[new > self.told]
            if len(new):
                self.told = int(new[-1])
                tables["times"] = pa.record_batch([pa.array(new)], [TIME])
            numbers["until"] = question.watermark
        if "keys" in question.tables:
            numbers["answer"] = 1
            store = self.window.store
            self.work["probe"] += question.tables["keys"].num_rows * store.rows
            found = wanted(store, self.step.window_key, question.tables["keys"])
            rows = self.sent.unsent(self.window, found, question.watermark)
            if rows is not None:
                tables["rows"] = rows
        self.window.release(self.name, question.watermark)
        if tables or "gone" in numbers or "answer" in numbers:
            yield "answer", Packet(self.window.watermark, tables, numbers)

    def save(self) -> dict[str, Any]:
        """All state."""
        return {"answering": (tuple(self.waiting), self.sent.save(), self.told)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        waiting, sent, self.told = kept["answering"]
        self.waiting = deque(waiting)
        self.sent.restore(sent)


class Shipped:
    """Which rows of a window were sent: the bits of Algorithm 7, for the rows that have not ended."""

    def __init__(self) -> None:
        """None was."""
        self.numbers = np.empty(0, np.int64)
        self.times = np.empty(0, np.int64)
        self.ends = np.empty(0, np.int64)

    def unsent(
        self, window: SiteWindow, found: list[tuple[Any, Any, Any]], until: int
    ) -> pa.RecordBatch | None:
        """Of the rows found that a head after a time can meet, those not sent before; they are now."""
        numbers = [chunk.first + np.unique(rows) for chunk, _, rows in found]
        if not numbers:
            return None
        fresh = np.setdiff1d(np.concatenate(numbers), self.numbers, assume_unique=True)
        rows = window.store.numbered(fresh)
        if rows is None:
            return None
        # The window may hold rows that were forgotten here, of its other readers or of a chunk that stays.
        dead = _dead(window, times(rows), ends(rows, window.store.reach), until)
        if dead.any():
            rows, fresh = chosen(rows, ~dead), fresh[~dead]
            if not len(fresh):
                return None
        self.numbers = np.concatenate([self.numbers, fresh])
        self.times = np.concatenate([self.times, times(rows)])
        self.ends = np.concatenate([self.ends, ends(rows, window.store.reach)])
        return rows

    def expire(self, window: SiteWindow, until: int) -> int:
        """Forget the rows that no head after a time can meet; how many there were."""
        gone = _dead(window, self.times, self.ends, until)
        count = int(gone.sum())
        if count:
            self.numbers, self.times, self.ends = self.numbers[~gone], self.times[~gone], self.ends[~gone]
        return count

    def save(self) -> Any:
        """All state."""
        return self.numbers, self.times, self.ends

    def restore(self, kept: Any) -> None:
        """Take back the state."""
        self.numbers, self.times, self.ends = kept


def _dead(window: SiteWindow, starts: Any, lasts: Any, until: int) -> Any:
    """Which rows of these times and ends no head after a time can meet."""
    dead = lasts <= until
    if window.row_times is not None:
        # At the next instant, and so at all later ones: what is dead stays dead.
        dead |= ~window.row_times.alive(starts, np.full(len(starts), min(until, window.watermark)))
    return dead
