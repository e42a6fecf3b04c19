"""The ring as a whole: who is next to whom, how many arriving rows are on it, and how nodes come and go.

    arriving rows -> waiting -> | head | -> | node 2 | -> ... -> | tail | -+
                                    ^                                      |
                                    +----- partial results, ENDs ----------+

Hosts give every node its messages in the order in which the one before has sent them, and ask who comes next
when a message *arrives*: a node that was put in between meanwhile gets all that is on the way, and nothing
overtakes. A node can go only while no row is on the ring, since partial results end where they were born.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from watersmeet.errors import InvalidQuery
from watersmeet.kernel.ring.join import Join
from watersmeet.kernel.ring.message import Build, Message, Probe, Row
from watersmeet.kernel.ring.node import Node, Outcome
from watersmeet.kernel.ring.slice import Slice

# Per node and stream the age at which the node's slice ends.
Ends = Sequence[Sequence[int]]


def equal_ends(join: Join, nodes: int) -> list[list[int]]:
    """Slices of the same length on all nodes.

    >>> from watersmeet.kernel.ring.join import AgeWindow
    >>> from watersmeet.kernel.ring.predicate import PairHash
    >>> from watersmeet.plan.plan import ProbePath
    >>> paths = (ProbePath(0, (1,)), ProbePath(1, (0,)))
    >>> equal_ends(Join((AgeWindow(12), AgeWindow(10, rows=True)), paths, PairHash([(0, 1)], 0.1)), 4)
    [[3, 2], [6, 5], [9, 7], [12, 10]]
    """
    return [[window.length * node // nodes for window in join.windows] for node in range(1, nodes + 1)]


class Ring:
    """Nodes in a ring.

    Attributes:
        nodes: From head to tail.
        in_flight: How many arriving rows may be on the ring; 1 is the paper's basic PSP, more are PSP-I.
        early: Whether a row makes room as soon as its last END sets out, not when it has come round. Nothing
            overtakes, so no node can tell the difference.
        paused: Whether rows have to wait, so that nodes can go.
    """

    def __init__(self, join: Join, ends: Ends, *, in_flight: int = 1, early: bool = False) -> None:
        """An empty ring."""
        if in_flight < 1:
            raise InvalidQuery("ring takes no rows", f"{in_flight} may be on it.", "allow 1 or more.")
        self.join = join
        self.in_flight = in_flight
        self.early = early
        self.paused = False
        self.nodes: list[Node] = []
        self._numbers = 0
        self._waiting: deque[Probe] = deque()
        self._admitted: set[int] = set()
        self._unfinished: set[int] = set()
        self._arrived = 0
        self._counts = [0] * join.streams
        self._clocks = (0,) * join.streams
        for node_ends in ends:
            self.insert(len(self.nodes), node_ends)
        if not self.nodes:
            raise InvalidQuery("ring has no nodes", "it is 0 nodes long.", "give it one node or more.")

    @property
    def idle(self) -> bool:
        """Whether no row is on the ring."""
        return not self._unfinished

    @property
    def waiting(self) -> int:
        """Rows that have arrived and are not on the ring yet."""
        return len(self._waiting)

    @property
    def clocks(self) -> tuple[int, ...]:
        """Per stream the place of a row of age 0, as of the last row that was let in."""
        return self._clocks

    def next(self, node: Node) -> Node:
        """The node behind another."""
        return self.nodes[(self.nodes.index(node) + 1) % len(self.nodes)]

    def arrive(self, stream: int, time: int, value: Any = None) -> Row:
        """Take a row of a stream; rows arrive in the order of time.

        Args:
            stream: Its stream.
            time: Its time, microseconds.
            value: What predicates look at.
        """
        number = self._counts[stream]
        self._counts[stream] += 1
        rows = self.join.windows[stream].rows
        row = Row(stream, self._arrived, number if rows else time, value)
        self._arrived += 1
        clocks = (
            count - 1 if window.rows else time
            for count, window in zip(self._counts, self.join.windows, strict=True)
        )
        self._waiting.append(Probe(row, tuple(clocks)))
        return row

    def admit(self) -> list[Message]:
        """What the head gets of rows that may enter now."""
        messages: list[Message] = []
        while self._waiting and len(self._admitted) < self.in_flight and not self.paused:
            probe = self._waiting.popleft()
            self._admitted.add(probe.row.id)
            self._unfinished.add(probe.row.id)
            self._clocks = probe.clocks
            # In this order: a row that does not look for partners of its own stream cannot meet itself.
            messages += (Build(probe.row), probe)
        return messages

    def settle(self, outcome: Outcome) -> None:
        """Note which rows have left the ring."""
        if outcome.finished is not None:
            self._unfinished.discard(outcome.finished)
        leaving = outcome.released if self.early else outcome.finished
        if leaving is not None:
            self._admitted.discard(leaving)

    def insert(self, position: int, ends: Sequence[int]) -> Node:
        """Put an empty node into the ring, at any time.

        Args:
            position: How many nodes are before it: one or more, the head stays the head.
            ends: Per stream the age at which its slice ends.
        """
        node = Node(self._numbers, self.join, ends)
        if bool(position) != bool(self.nodes):
            raise InvalidQuery("head of a ring cannot be replaced", hint="insert nodes behind it.")
        self._numbers += 1
        self.nodes.insert(position, node)
        self._name_ends()
        return node

    def arrange(self, nodes: Sequence[Node], ends: Ends) -> Counter[tuple[int, int]]:
        """Move all rows at once to where their ages belong, while no row is on the ring (Sect. 6).

        Args:
            nodes: The nodes that are to hold them, in their order; others leave the ring.
            ends: Per node and stream the age at which its slice is to end.

        Returns:
            How many rows went from node to node, by their numbers.
        """
        if not self.idle:
            raise InvalidQuery(
                "rows cannot be moved while partial results look for them",
                f"{len(self._unfinished)} rows are on the ring.",
                "pause the ring and wait until it is idle.",
            )
        moves: Counter[tuple[int, int]] = Counter()
        for stream, (clock, window) in enumerate(zip(self._clocks, self.join.windows, strict=True)):
            shares: list[list[Row]] = [[] for _ in nodes]
            # Where ends do not grow, the slice is empty: older rows are never before younger ones.
            bounds = list(accumulate((node_ends[stream] for node_ends in ends), max))
            for holder in reversed(self.nodes):
                for row in holder.slices[stream].held:
                    age = clock - row.place
                    if age < window.length:
                        place = min(bisect_right(bounds, age), len(nodes) - 1)
                        shares[place].append(row)
                        moves[holder.number, nodes[place].number] += 1
            for node, share in zip(nodes, shares, strict=True):
                node.slices[stream] = Slice(share)
        self.nodes = list(nodes)
        self.reslice(ends)
        self._name_ends()
        return Counter({move: count for move, count in moves.items() if move[0] != move[1]})

    def reslice(self, ends: Ends) -> None:
        """Change where slices end, at any time; rows move with the rows that arrive from then on.

        A node whose slice shrinks passes on what is too old with the next row that arrives. One whose slice
        grows keeps what it would have passed on. No row is lost or seen twice on the way.
        """
        for node, node_ends in zip(self.nodes, ends, strict=True):
            node.ends = list(node_ends)

    def _name_ends(self) -> None:
        for node in self.nodes:
            node.head, node.tail = node is self.nodes[0], node is self.nodes[-1]
