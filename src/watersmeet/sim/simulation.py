"""A join between simulated sites, driven event by event.

Rows arrive at their sites, sites process them and send messages, messages arrive over links. Everything
happens at instants of a simulated clock in microseconds; the same seed gives the same run. A site that
stops keeps its state as it was after the last thing it did, and whatever comes meanwhile waits: that is
what the host on Spark does.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pyarrow as pa
import simpy

from watersmeet.cost.site import Constants
from watersmeet.kernel import encoding
from watersmeet.kernel.sites.node import Addressed, Node, Outcome
from watersmeet.kernel.sites.packet import from_bytes, times, to_bytes
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.sim.fixed_delay import FixedDelay, FixedRule
from watersmeet.sim.link import SECOND, Link, LinkModel, Links, Traffic


@dataclass(frozen=True, slots=True)
class Arrival:
    """Rows of a stream come to their site.

    Attributes:
        at: When, microseconds.
        stream: Which stream.
        rows: The rows; None for none.
        watermark: No row up to this time will come any more.
    """

    at: int
    stream: int
    rows: pa.RecordBatch | None
    watermark: int


@dataclass(frozen=True, slots=True)
class Outage:
    """A site that stops for a while, in microseconds."""

    site: str
    begin: int
    end: int


Process = Generator[simpy.Event, None, None]
# How many bytes a message has.
Size = Callable[[list[Addressed]], int]


def encoded_size(packets: list[Addressed]) -> int:
    """As the mailbox writes it."""
    return len(to_bytes([(str(number), packet) for number, packet in packets]))


def bare_size(packets: list[Addressed]) -> int:
    """The values alone, as the papers count: tables without their headings, and 4 bytes per number."""
    return sum(
        sum(table.nbytes for table in packet.tables.values()) + 4 * len(packet.numbers)
        for _, packet in packets
    )


# What to do with results, and when they came about.
TakeResults = Callable[[pa.RecordBatch, int], None]

# Of all that happens at one instant messages come first, then what fixed delays ask for, in this order.
_PROBE, _REMOVE = 2, 3


class _Afterwards(simpy.Event):
    """Something that happens at an instant, after whatever else does."""

    def __init__(self, environment: simpy.Environment, rank: int) -> None:
        super().__init__(environment)
        self._ok, self._value = True, None
        environment.schedule(self, simpy.events.EventPriority(rank))


@dataclass(slots=True)
class Measured:
    """What a simulation saw.

    Attributes:
        results: The results, in the order they came about, unless somebody else took them.
        emitted: Per block of results when it came about, microseconds.
        traffic: What went from site to site.
        work: Elementary operations per site.
        late: Per stream the rows that came too late.
        finished: When the last thing happened, microseconds.
    """

    results: list[pa.RecordBatch] = field(default_factory=list)
    emitted: list[int] = field(default_factory=list)
    traffic: dict[tuple[str, str], Traffic] = field(default_factory=dict)
    work: dict[str, Counter[str]] = field(default_factory=dict)
    late: dict[int, int] = field(default_factory=dict)
    finished: int = 0

    @property
    def rows(self) -> int:
        """How many results there are."""
        return sum(batch.num_rows for batch in self.results)

    @property
    def transmission(self) -> float:
        """Seconds all messages took but promises, whichever link they used (Tran & Lee 2010, S(x))."""
        return sum(traffic.transmission for traffic in self.traffic.values())

    def processing(self, constants: Constants) -> dict[str, float]:
        """Seconds of work per site, from what elementary operations take (Tran & Lee 2010, Table 4)."""
        return {
            site: work["probe"] * constants.probe
            + work["insert"] * constants.insert
            # To insert and to expire is one constant in the paper.
            + work["expire"] * (constants.update - constants.insert)
            + work["hash"] * constants.hashing
            for site, work in self.work.items()
        }

    def latencies(self) -> list[float]:
        """Seconds from the last row of every result to the result."""
        return [
            (at - time) / SECOND
            for at, batch in zip(self.emitted, self.results, strict=True)
            for time in times(batch).tolist()
        ]


class Simulation:
    """Sites and links at work."""

    def __init__(
        self,
        wiring: Wiring,
        links: Links,
        *,
        seed: int = 0,
        size: Size = encoded_size,
        outages: Iterable[Outage] = (),
        through_bytes: bool = False,
        delay: FixedDelay | None = None,
        take_results: TakeResults | None = None,
    ) -> None:
        """Empty sites.

        Args:
            wiring: What runs where.
            links: How the link between two sites behaves.
            seed: For all that is random.
            size: How many bytes a message has.
            outages: When sites stop.
            through_bytes: Whether messages are really encoded and decoded.
            delay: Fixed times to probe and to remove rows, instead of what sites promise each other.
            take_results: Takes results, which are not kept then.
        """
        self.wiring = wiring
        self.nodes = {site: Node(wiring, site) for site in wiring.sites}
        self.measured = Measured()
        self._environment = simpy.Environment()
        self._size = size
        self._through_bytes = through_bytes
        self._links = {
            pair: Link(links(*pair), Random(f"{seed} {pair}"), Traffic())  # noqa: S311
            for pair in wiring.links()
        }
        self._outages = list(outages)
        self._delay = delay
        self._rule = None if delay is None else FixedRule(wiring)
        self._take_results = take_results or self._keep
        self._waiting: dict[str, deque[Callable[[Node], Outcome]]] = {site: deque() for site in wiring.sites}

    @property
    def now(self) -> int:
        """The time, microseconds."""
        return int(self._environment.now)

    def run(self, arrivals: Iterable[Arrival], progress: Callable[[int], None] | None = None) -> Measured:
        """Let everything happen.

        Args:
            arrivals: Rows as they arrive, in the order of time.
            progress: Told the time, microseconds, whenever rows arrive.
        """
        for outage in self._outages:
            self._environment.process(self._restart(outage))
        self._environment.process(self._arrive(arrivals, progress))
        self._environment.run()
        self.measured.finished = self.now
        self.measured.traffic = {pair: link.traffic for pair, link in self._links.items()}
        for site, node in self.nodes.items():
            self.measured.work[site] = node.work
            self.measured.late |= node.late
        return self.measured

    def _arrive(self, arrivals: Iterable[Arrival], progress: Callable[[int], None] | None) -> Process:
        for arrival in arrivals:
            yield self._environment.timeout(arrival.at - self.now)
            for site in self.wiring.sites:
                if arrival.stream in self.wiring.streams_at(site):
                    self._at(site, partial(_take_rows, arrival))
            if self._delay is not None and self._rule is not None:
                self._environment.process(self._probe(self._rule, self._delay, arrival))
                self._environment.process(self._remove(self._rule, self._delay, arrival))
            if progress is not None:
                progress(arrival.at)

    def _probe(self, rule: FixedRule, delay: FixedDelay, arrival: Arrival) -> Process:
        yield self._environment.timeout(round(delay.probe * SECOND))
        yield _Afterwards(self._environment, _PROBE)
        for site, edge in rule.knowing[arrival.stream]:
            self._at(site, partial(rule.assume, edge, arrival.watermark))

    def _remove(self, rule: FixedRule, delay: FixedDelay, arrival: Arrival) -> Process:
        yield self._environment.timeout(round(delay.removal * SECOND))
        yield _Afterwards(self._environment, _REMOVE)
        for site, edge, name in rule.windows[arrival.stream]:
            self._at(site, partial(rule.remove, edge, name, arrival.watermark + 1))

    def _at(self, site: str, act: Callable[[Node], Outcome]) -> None:
        """Do something at a site, now or when it is back, in the order it came up."""
        self._waiting[site].append(act)
        now = self.now
        if not any(outage.site == site and outage.begin <= now < outage.end for outage in self._outages):
            self._catch_up(site)

    def _catch_up(self, site: str) -> None:
        while self._waiting[site]:
            self._send(site, self._waiting[site].popleft()(self.nodes[site]))

    def _restart(self, outage: Outage) -> Process:
        """Memory is lost; what was saved comes back."""
        yield self._environment.timeout(outage.begin)
        kept = encoding.encode(self.nodes[outage.site].save())
        fresh = Node(self.wiring, outage.site)
        fresh.restore(encoding.decode(kept))
        self.nodes[outage.site] = fresh
        yield self._environment.timeout(outage.end - outage.begin)
        self._catch_up(outage.site)

    def _send(self, site: str, outcome: Outcome) -> None:
        now = self.now
        for rows in outcome.results:
            self._take_results(rows, now)
        for receiver, packets in outcome.messages.items():
            link = self._links[site, receiver]
            size = self._size(packets)
            link.traffic.packets += len(packets)
            link.traffic.rows += sum(packet.rows.num_rows for _, packet in packets if packet.rows is not None)
            promise = not any(packet.tables or packet.numbers for _, packet in packets)
            at = link.arrival(now, size, promise=promise)
            self._environment.process(self._deliver(receiver, packets, at))

    def _keep(self, rows: pa.RecordBatch, now: int) -> None:
        self.measured.results.append(rows)
        self.measured.emitted.append(now)

    def _deliver(self, receiver: str, packets: list[Addressed], at: int) -> Process:
        yield self._environment.timeout(at - self.now)
        if self._through_bytes:
            message = to_bytes([(str(number), packet) for number, packet in packets])
            packets = [(int(number), packet) for number, packet in from_bytes(message)]
        self._at(receiver, partial(self._take_packets, packets))

    def _take_packets(self, packets: list[Addressed], node: Node) -> Outcome:
        return node.on_packets(packets if self._rule is None else self._rule.held_back(packets))


def _take_rows(arrival: Arrival, node: Node) -> Outcome:
    return node.on_rows(arrival.stream, arrival.rows, arrival.watermark)


def same_links(model: LinkModel) -> Links:
    """The same behaviour between all sites."""
    return lambda _one, _other: model
