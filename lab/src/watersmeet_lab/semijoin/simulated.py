"""One-way joins run in the simulator, to be set beside the formulas of Tran & Lee 2010 (Fig. 7).

Streams have steady rates and evenly used keys, those of the smaller set within the larger, as the formulas
take it. Counting begins when windows are full. The links of Fig. 7 are asked for more than they can carry,
so messages travel on links of the same latency that never fill, and are priced afterwards: a latency each
and their bytes over the bandwidth, S(x) of the paper.

    message               bytes
    rows                  F of their stream each
    keys                  P each
    counts and numbers    as they are

Messages that only promise something are left out: the paper has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from math import ceil

from watersmeet.cost.semijoin import OneWayJoin
from watersmeet.cost.site import SiteStream, Work
from watersmeet.kernel.sites.node import Addressed
from watersmeet.kernel.sites.packet import Packet
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.plan.sites.step import column_name
from watersmeet.sim.distribution import Values
from watersmeet.sim.link import SECOND, LinkModel
from watersmeet.sim.scenario import Scenario, SimStream
from watersmeet.sim.simulation import Measured, Simulation, same_links
from watersmeet.sim.workload import Generated, arrivals

SITES = ("first", "second")
# How long is measured.
SECONDS = 2.0
# How long after windows are full it begins, so that what is removed is removed by then.
_SETTLED = 0.3
_NUMBER = 4
# How the names of its columns begin on their way.
_OF_SECOND = column_name(1, "")


@dataclass(slots=True)
class Meter:
    """Counts what is sent from some instant on; as a `Size` it tells the simulator that nothing fills a link.

    Attributes:
        streams: Both streams; their keys are equally long.
        counting: Whether the instant has come.
        messages: How many there were.
        bytes: How long they were.
    """

    streams: tuple[SiteStream, SiteStream]
    counting: bool = False
    messages: int = 0
    bytes: float = 0.0

    def __call__(self, packets: list[Addressed]) -> int:
        """Take note of a message."""
        if self.counting and any(packet.tables or packet.numbers for _, packet in packets):
            self.messages += 1
            self.bytes += sum(self._size(packet) for _, packet in packets)
        return 0

    def _size(self, packet: Packet) -> float:
        size = float(_NUMBER * len(packet.numbers))
        for name, table in packet.tables.items():
            if name == "rows":
                whose = any(column.startswith(_OF_SECOND) for column in table.schema.names)
                each = self.streams[whose].full
            else:
                each = self.streams[0].partial if name == "keys" else _NUMBER
            size += table.num_rows * each
        return size


@dataclass(slots=True)
class Simulated:
    """Runs one-way joins, each once; the bandwidth of a link changes the price only.

    Attributes:
        seed: For all that is random.
    """

    seed: int = 1
    _known: dict[tuple[OneWayJoin, Algorithm], tuple[float, float, float]] = field(default_factory=dict)

    def work(self, join: OneWayJoin, algorithm: Algorithm) -> Work:
        """Seconds of work per second of arrivals."""
        alike = replace(join, link=replace(join.link, bandwidth=1.0)), algorithm
        if alike not in self._known:
            self._known[alike] = _run(join, algorithm, self.seed)
        messages, size, processing = self._known[alike]
        return Work(messages * join.link.latency + size / join.link.bandwidth, processing)


def _run(join: OneWayJoin, algorithm: Algorithm, seed: int) -> tuple[float, float, float]:
    """Messages, bytes and seconds of processing, all per second of arrivals."""
    tick = join.setting.tick
    filling = ceil((max(join.first.window, join.second.window) + _SETTLED) / tick)
    measuring = ceil(SECONDS / tick)
    scenario = Scenario(
        tuple(
            SimStream(site, site, timedelta(seconds=one.window), _feed(one))
            for site, one in zip(SITES, (join.first, join.second), strict=True)
        ),
        on="k",
        duration=(filling + measuring) * tick,
        tick=tick,
        seed=seed,
    )
    # Rows of the second stream look for nothing: this is one direction of the join.
    wiring = Sequences(((Hop(1, algorithm),), ())).wiring(scenario.query, SITES)
    meter = Meter((join.first, join.second))
    simulation = Simulation(
        wiring,
        same_links(LinkModel(join.link.latency)),
        seed=seed,
        size=meter,
        take_results=lambda _rows, _now: None,
    )
    told = count(1)
    seen: list[float] = []

    def watch(_now: int) -> None:
        # Told of the rows of each stream one by one: a tick is over after both.
        if next(told) in (len(SITES) * filling, len(SITES) * (filling + measuring)):
            meter.counting = not meter.counting
            seen.append(_processing(simulation, join))

    simulation.run(arrivals(scenario.query, scenario.sources(), round(tick * SECOND)), watch)
    begun, ended = seen
    lasted = measuring * tick
    return meter.messages / lasted, meter.bytes / lasted, (ended - begun) / lasted


def _feed(stream: SiteStream) -> Generated:
    return Generated(stream.rate, {"k": Values(round(stream.distinct))})


def _processing(simulation: Simulation, join: OneWayJoin) -> float:
    so_far = Measured(work={site: node.work for site, node in simulation.nodes.items()})
    return sum(so_far.processing(join.setting.constants).values())
