"""Windows in slices over several nodes, and heads that look into all slices at once.

PSP of Wang & Rundensteiner 2009 for nodes that are told everything at once instead of one after the other:
new rows come to every node, each stores its share of them, and the rows of every stream go their own way
through the windows of the others. What a node finds goes to all nodes with a slice of the next window:

    rows of a --+--> node 1: slice of b --+--> node 1: slice of c ---> results
                |                         |
                +--> node 2: slice of b --+--> node 2: slice of c ---> results

M streams take M - 1 rounds, of which the first needs no message. No row is stored twice, and nothing between
the rounds is stored at all. Equal values, where there are any, are found by an index within a slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.plan.plan import FOREVER_US
from watersmeet.plan.sites.columns import final_columns, step_between
from watersmeet.plan.sites.wiring import (
    RESULTS,
    ProbeSpec,
    Share,
    TimeOrderSpec,
    WindowSpec,
    Wiring,
    WiringBuilder,
)
from watersmeet.query import JoinQuery


@dataclass(frozen=True, slots=True)
class Sliced:
    """A join in slices.

    Attributes:
        orders: Per stream, as head, the other streams in the order its rows visit them.
        lengths: Per stream over how many nodes its window is spread; the first so many have a slice.
    """

    orders: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes by name."""
        return tuple(f"slice-{number:02d}" for number in range(1, max(self.lengths) + 1))

    def wiring(self, query: JoinQuery) -> Wiring:
        """The parts that compute it."""
        wires = WiringBuilder()
        sources = [self._stream(query, wires, stream) for stream in range(len(query.streams))]
        for head, order in enumerate(self.orders):
            senders: Sequence[str] = sources[head]
            done: tuple[int, ...] = (head,)
            for number, stream in enumerate(order, 1):
                # A combination is found by its last row; of equal times the later stream's row is the last.
                step = step_between(query, done, (stream,), ties=stream < head, ends=False)
                probes = []
                for place, node in enumerate(self.nodes[: self.lengths[stream]]):
                    name = f"{query.names[head]}.{number} {node}"
                    window = _window(query, stream, node)
                    probe = wires.add(ProbeSpec(name, node, step, window))
                    heads = senders[place] if number == 1 else _gathered(wires, senders, name, node)
                    wires.connect(heads, "out", probe, "heads")
                    wires.connect(window, "out", probe, "window")
                    probes.append(probe)
                senders, done = probes, (*done, stream)
            for sender in senders:
                wires.connect(sender, "out", RESULTS, "")
        return wires.finish(final_columns(query))

    def _stream(self, query: JoinQuery, wires: WiringBuilder, stream: int) -> list[str]:
        """A stream at every node, and its slices at some."""
        reach, count = query.reaches[stream], query.streams[stream].window.most_rows
        sources = []
        for place, node in enumerate(self.nodes):
            ends = query.own_ends(stream)
            source = wires.add(TimeOrderSpec(f"source {query.names[stream]} {node}", node, stream, ends=ends))
            sources.append(source)
            if place < self.lengths[stream]:
                share = Share(place, self.lengths[stream])
                name = _window(query, stream, node)
                wires.add(WindowSpec(name, node, FOREVER_US if reach is None else reach, count, share))
                wires.connect(source, "out", name, "in")
        return sources


def _window(query: JoinQuery, stream: int, node: str) -> str:
    return f"window {query.names[stream]} {node}"


def _gathered(wires: WiringBuilder, senders: Sequence[str], name: str, node: str) -> str:
    """What all nodes have found so far, at one of them."""
    merge = wires.add(TimeOrderSpec(f"heads of {name}", node, ordered=False))
    for sender in senders:
        wires.connect(sender, "out", merge, "in")
    return merge
