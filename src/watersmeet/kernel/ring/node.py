"""One node of the ring: a slice of every window, and what it does with messages (Sect. 4).

The steps are those of Fig. 3 and Fig. 5. Corrections, each of which a test shows to be needed:

*   A message that ends here is not passed on, but is still compared here: "drop" in steps 2-2 and 3-1 does
    not undo steps 2-3 and 3-2.
*   With two streams the first comparison gives results, so 2-4 tests for them, as 3-3 does.
*   Marks of an arriving row are dropped when its last END leaves, number M - 1. One round earlier, partial
    results from nodes behind the first are still to come.
*   No node keeps a row that has outlived its window, whatever else decides where slices end.

Several arriving rows may be on the ring (PSP-I). A mark says which rows belong to an arriving row on this
node: those that are held when it has purged. Younger ones come behind it and are others' business; older ones
are on later nodes by then. So marks of one row cut each window into pieces without gap or overlap, whatever
slice ends do meanwhile:

    positions of a stream       ...  21 22 23 24 25 26 27
    mark of row 90                   [21 ........ 25)
    mark of row 94                         [23 ........ 27)     21 and 22 have moved on, and stay as copies

With one row on the ring at a time every mark is the last one, nothing stays as a copy, and this is basic PSP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from watersmeet.kernel.ring.join import Join
from watersmeet.kernel.ring.message import Build, Inter, Message, Probe, Result, Row
from watersmeet.kernel.ring.slice import Slice

# Positions of the rows that belong to an arriving row, from and to.
Span = tuple[int, int]


@dataclass(slots=True)
class Outcome:
    """What came of a message.

    Attributes:
        forwarded: What leaves before anything is compared, so that the next node can begin.
        found: What leaves afterwards.
        results: Results.
        inserted: Rows taken.
        purged: Rows that were too old.
        compared: Pairs judged.
        released: The row whose last END has set out: this node has nothing left to do for it.
        finished: The row whose last END has come round: no node has.
    """

    forwarded: list[Message] = field(default_factory=list)
    found: list[Inter] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    inserted: int = 0
    purged: int = 0
    compared: int = 0
    released: int | None = None
    finished: int | None = None


class Node:
    """A node of the ring.

    Attributes:
        number: What partial results remember of it.
        ends: Per stream the age at which a row is too old for this node. May be changed at any time.
        limits: Per stream how many rows it holds at most, None for any number. May be changed at any time.
        head: Whether it is the first.
        tail: Whether it is the last, which keeps rows to the end of their window whatever else is said.
    """

    def __init__(self, number: int, join: Join, ends: Sequence[int]) -> None:
        """An empty node."""
        self.number = number
        self.join = join
        self.ends = list(ends)
        self.limits: list[int | None] = [None] * join.streams
        self.head = self.tail = False
        self.slices = [Slice() for _ in join.windows]
        self.marks: dict[int, tuple[Span, ...]] = {}

    @property
    def held(self) -> int:
        """Rows in memory, copies too."""
        return sum(len(part) + part.copies for part in self.slices)

    def handle(self, message: Message) -> Outcome:
        """Do what a message asks for."""
        match message:
            case Inter():
                return self._inter(message)
            case Build(row):
                self.slices[row.stream].append(row)
                return Outcome(inserted=1)
            case Probe():
                return self._probe(message)

    def _probe(self, message: Probe) -> Outcome:
        outcome = Outcome()
        for stream, clock in enumerate(message.clocks):
            self._purge(stream, clock, outcome)
        self.marks[message.row.id] = tuple((part.moved, part.next) for part in self.slices)
        self._release()
        if not self.tail:
            outcome.forwarded.append(message)
        self._compare((message.row,), message.row.id, outcome)
        if self.head:
            self._end(message.row.id, 1, outcome)
        return outcome

    def _inter(self, message: Inter) -> Outcome:
        outcome = Outcome()
        round_over = message.born == self.number
        if not round_over:
            outcome.forwarded.append(message)
        if message.rows:
            self._compare(message.rows, message.input, outcome)
        if message.end and round_over:
            if message.end == self._last_end:
                outcome.finished = message.input
            else:
                self._end(message.input, message.end + 1, outcome)
        elif message.end == self._last_end:
            self._forget(message.input)
        return outcome

    @property
    def _last_end(self) -> int:
        return self.join.streams - 1

    def _purge(self, stream: int, clock: int, outcome: Outcome) -> None:
        """Pass on rows that are too old, oldest first; those older than the window go nowhere."""
        part = self.slices[stream]
        dead = part.older_than(clock - self.join.windows[stream].length)
        leaving = max(dead, self._too_old(stream, clock))
        rows = part.move(leaving)
        outcome.purged += leaving
        outcome.forwarded += map(Build, rows[dead:])

    def _too_old(self, stream: int, clock: int) -> int:
        """How many rows have outgrown this node, by age or by number."""
        if self.tail:
            return 0
        part, limit = self.slices[stream], self.limits[stream]
        too_many = 0 if limit is None else len(part) - limit
        return max(too_many, part.older_than(clock - self.ends[stream]))

    def _compare(self, rows: tuple[Row, ...], arrived: int, outcome: Outcome) -> None:
        """Look for partners among the rows that belong to an arriving row on this node."""
        marks = self.marks.get(arrived)
        if marks is None:
            # The node joined the ring behind the arriving row: nothing here is for it.
            return
        stream = self.join.next_stream(rows)
        begin, end = marks[stream]
        outcome.compared = end - begin
        if begin == end:
            return
        part = self.slices[stream]
        mask = self.join.predicate(rows, stream, *part.view(begin, end))
        longer = [(*rows, part.row(position)) for position in (begin + np.flatnonzero(mask)).tolist()]
        if len(rows) + 1 == self.join.streams:
            outcome.results = [tuple(sorted(combination)) for combination in longer]
        else:
            outcome.found = [Inter(partial, arrived, self.number) for partial in longer]

    def _end(self, arrived: int, ordinal: int, outcome: Outcome) -> None:
        """Let the last partial result of a round carry an END; the last END goes alone."""
        if ordinal < self._last_end and outcome.found:
            outcome.found[-1] = outcome.found[-1]._replace(end=ordinal)
        else:
            outcome.found.append(Inter((), arrived, self.number, ordinal))
        if ordinal == self._last_end:
            self._forget(arrived)
            outcome.released = arrived

    def _forget(self, arrived: int) -> None:
        """No partial result of an arriving row will come here any more."""
        if self.marks.pop(arrived, None) is not None:
            self._release()

    def _release(self) -> None:
        """Let go of copies that no arriving row needs (Fig. 5, 2-1-4)."""
        for stream, part in enumerate(self.slices):
            if part.copies:
                part.release(min((marks[stream][0] for marks in self.marks.values()), default=part.moved))
