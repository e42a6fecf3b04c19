"""All parts of a join at one site: packets between them are delivered at once, others leave."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from watersmeet.kernel.sites.ask import Answering, Asking
from watersmeet.kernel.sites.mjoin import MJoin
from watersmeet.kernel.sites.offer import Choosing, Offering
from watersmeet.kernel.sites.packet import Packet, rows_packet
from watersmeet.kernel.sites.part import Part
from watersmeet.kernel.sites.probe import Probe
from watersmeet.kernel.sites.pull import Pulling, Serving
from watersmeet.kernel.sites.sieve import Sifted, Sifting
from watersmeet.kernel.sites.split import Split
from watersmeet.kernel.sites.time_order import TimeOrder
from watersmeet.kernel.sites.window import SiteWindow
from watersmeet.plan.plan import Source
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.wiring import (
    RESULTS,
    HeadSideSpec,
    MJoinSpec,
    PartSpec,
    ProbeSpec,
    SplitSpec,
    TimeOrderSpec,
    WindowSideSpec,
    WindowSpec,
    Wiring,
)

# A packet on its way, with the number of its edge.
Addressed = tuple[int, Packet]


@dataclass(slots=True)
class Outcome:
    """What came of some packets.

    Attributes:
        results: Results of the join.
        messages: Per site what to send there, in order.
    """

    results: list[pa.RecordBatch] = field(default_factory=list)
    messages: dict[str, list[Addressed]] = field(default_factory=lambda: defaultdict(list))


class Node:
    """The parts of one site.

    Attributes:
        site: The site.
        parts: The parts by name.
    """

    def __init__(self, wiring: Wiring, site: str) -> None:
        """Empty parts."""
        self.site = site
        self.wiring = wiring
        self.parts: dict[str, Part] = {}
        self._ways: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, edge in enumerate(wiring.edges):
            self._ways[edge.sender, edge.way].append(number)
        self._sites = {part.name: part.site for part in wiring.parts}
        for spec in wiring.parts:
            if spec.site == site:
                self.parts[spec.name] = self._build(spec)
        self._sources = {
            part.stream: part.name
            for part in wiring.parts
            if isinstance(part, TimeOrderSpec) and part.stream is not None and part.site == site
        }

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams that arrive here."""
        return tuple(sorted(self._sources))

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen here: all streams have ended, and all that comes from elsewhere."""
        return all(part.ended for part in self.parts.values())

    @property
    def late(self) -> dict[int, int]:
        """Per stream the rows that came too late."""
        return {stream: self._source(stream).late for stream in self._sources}

    @property
    def work(self) -> Counter[str]:
        """Elementary operations of all parts."""
        return sum((part.work for part in self.parts.values()), Counter())

    @property
    def held(self) -> int:
        """How many rows are kept so that rows to come can meet them, copies included."""
        return sum(part.rows_held for part in self.parts.values())

    @property
    def waiting(self) -> int:
        """How many rows wait: to be put in order, for the window they will look into, for an answer."""
        return sum(part.rows_waiting for part in self.parts.values())

    def rows_by_stream(self, streams: int) -> list[int]:
        """Rows of every stream that lie in windows here as they came, not in results of several streams."""
        found = [0] * streams
        sources = {
            part.name: part.stream
            for part in self.wiring.parts
            if isinstance(part, TimeOrderSpec) and part.stream is not None
        }
        for edge in self.wiring.edges:
            part = self.parts.get(edge.receiver)
            if edge.sender in sources and isinstance(part, SiteWindow):
                found[sources[edge.sender]] += part.store.rows
        for part in self.parts.values():
            if isinstance(part, MJoin):
                for source, window in zip(part.spec.operator.inputs, part.kernel.windows, strict=False):
                    if isinstance(source, Source):
                        found[source.stream] += window.rows
        return found

    def watermark(self, stream: int) -> int:
        """What was promised of a stream so far."""
        return max(self._source(stream).watermarks.values())

    def on_rows(self, stream: int, rows: pa.RecordBatch | None, watermark: int) -> Outcome:
        """Rows of a stream have come, and none up to the watermark will follow; END ends the stream."""
        return self._run([(self._sources[stream], "in", "", rows_packet(rows, watermark))])

    def on_packets(self, packets: Iterable[Addressed]) -> Outcome:
        """Packets have come from one other site, in the order they were sent."""
        waiting = []
        for number, packet in packets:
            edge = self.wiring.edges[number]
            waiting.append((edge.receiver, edge.port, edge.sender, packet))
        return self._run(waiting)

    def _run(self, packets: Iterable[tuple[str, str, str, Packet]]) -> Outcome:
        outcome = Outcome()
        waiting = deque(packets)
        while waiting:
            name, port, sender, packet = waiting.popleft()
            for way, sent in list(self.parts[name].receive(port, sender, packet)):
                for number in self._ways[name, way]:
                    edge = self.wiring.edges[number]
                    if edge.receiver == RESULTS:
                        if sent.rows is not None:
                            outcome.results.append(sent.rows)
                    elif self._sites[edge.receiver] == self.site:
                        waiting.append((edge.receiver, edge.port, name, sent))
                    else:
                        outcome.messages[self._sites[edge.receiver]].append((number, sent))
        return outcome

    def save(self) -> dict[str, Any]:
        """All state, as values that never change."""
        return {
            f"{name}/{key}": value for name, part in self.parts.items() for key, value in part.save().items()
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Take back the state."""
        for name, part in self.parts.items():
            prefix = f"{name}/"
            part.restore({key[len(prefix) :]: value for key, value in kept.items() if key.startswith(prefix)})

    def _source(self, stream: int) -> TimeOrder:
        part = self.parts[self._sources[stream]]
        assert isinstance(part, TimeOrder)
        return part

    def _window(self, name: str) -> SiteWindow:
        part = self.parts[name]
        assert isinstance(part, SiteWindow)
        return part

    def _build(self, spec: PartSpec) -> Part:
        edges = self.wiring.edges
        if isinstance(spec, TimeOrderSpec):
            senders = [edge.sender for edge in edges if edge.receiver == spec.name] or [""]
            return TimeOrder(senders, ordered=spec.ordered, ends=spec.ends)
        if isinstance(spec, WindowSpec):
            readers = [p.name for p in self.wiring.parts if getattr(p, "window", None) == spec.name]
            return SiteWindow(spec.reach, spec.count, readers, spec.share)
        if isinstance(spec, ProbeSpec):
            return Probe(spec.name, spec.step, self._window(spec.window))
        if isinstance(spec, HeadSideSpec):
            return _head_side(spec)
        if isinstance(spec, WindowSideSpec):
            return _window_side(spec, self._window(spec.window))
        if isinstance(spec, MJoinSpec):
            return MJoin(spec, [(edge.port, edge.sender) for edge in edges if edge.receiver == spec.name])
        assert isinstance(spec, SplitSpec)
        return Split(spec)


def _head_side(spec: HeadSideSpec) -> Part:
    bloom = spec.algorithm.bloom
    if spec.algorithm in (Algorithm.SM_S1, Algorithm.SM_S1_BLOOM):
        return Asking(spec.step, spec.reach, spec.count, bloom=bloom)
    if spec.algorithm is Algorithm.SM_S2:
        return Pulling(spec.step, spec.reach, spec.count)
    if spec.algorithm in (Algorithm.SM_D1, Algorithm.SM_D1_BLOOM):
        return Sifting(spec.step)
    return Offering(spec.step, bloom=bloom)


def _window_side(spec: WindowSideSpec, window: SiteWindow) -> Part:
    bloom = spec.algorithm.bloom
    if spec.algorithm in (Algorithm.SM_S1, Algorithm.SM_S1_BLOOM):
        return Answering(spec.name, spec.step, window)
    if spec.algorithm is Algorithm.SM_S2:
        return Serving(spec.name, spec.step, window)
    if spec.algorithm in (Algorithm.SM_D1, Algorithm.SM_D1_BLOOM):
        return Sifted(spec.name, spec.step, window, bloom=bloom)
    return Choosing(spec.name, spec.step, window, bloom=bloom)
