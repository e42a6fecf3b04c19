"""A ring of one node, run to the end for each arriving row: a plain multi-way join on one machine."""

from __future__ import annotations

from collections import deque

from watersmeet.kernel.ring.join import Join
from watersmeet.kernel.ring.message import Build, Message, Probe
from watersmeet.kernel.ring.node import Node, Outcome


class LocalJoin:
    """A node that is first and last."""

    def __init__(self, join: Join) -> None:
        """An empty join."""
        self.node = Node(0, join, [window.length for window in join.windows])
        self.node.head = self.node.tail = True

    def take(self, probe: Probe) -> Outcome:
        """Join an arriving row with all that is here; what comes of it, added up."""
        messages: deque[Message] = deque([Build(probe.row), probe])
        total = Outcome()
        while messages:
            outcome = self.node.handle(messages.popleft())
            messages.extend(outcome.forwarded)
            messages.extend(outcome.found)
            total.results += outcome.results
            total.inserted += outcome.inserted
            total.purged += outcome.purged
            total.compared += outcome.compared
        return total
