"""Placed joins run in the simulator: tuples counted on links, to be set beside the rate model.

The model takes windows to be full, so counting begins when the longest has been filled. What an example
counts in bytes is here the number of streams a tuple is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from math import ceil

from watersmeet.cost.traffic import ValueTraffic
from watersmeet.kernel.sites.node import Addressed
from watersmeet.query.window import window_of
from watersmeet.sim.distribution import Values
from watersmeet.sim.link import SECOND, LinkModel
from watersmeet.sim.planned import planned
from watersmeet.sim.scenario import Method, Scenario, SimStream
from watersmeet.sim.simulation import Simulation, same_links
from watersmeet.sim.workload import Generated, arrivals

STAMPS = 60
KEY = "k"


@dataclass(frozen=True, slots=True)
class Counted:
    """What a plan sends per second.

    Attributes:
        expected: Tuples by the rate model.
        tuples: Tuples in the simulator.
        parts: Tuples of streams in them: a result has one of each of its streams.
    """

    expected: float
    tuples: float
    parts: float


@dataclass(slots=True)
class Meter:
    """Counts tuples while it is told to; as a `Size` it tells the simulator that nothing fills a link."""

    counting: bool = False
    tuples: int = 0
    parts: int = 0

    def __call__(self, packets: list[Addressed]) -> int:
        """Take note of a message."""
        for _, packet in packets:
            if self.counting and packet.rows is not None:
                # Columns are called by their stream and their name.
                streams = {name.partition(".")[0] for name in packet.rows.schema.names if "." in name}
                self.tuples += packet.rows.num_rows
                self.parts += packet.rows.num_rows * len(streams)
        return 0


def one_key(traffic: ValueTraffic, *, speed: float = 1.0) -> tuple[SimStream, ...]:
    """Streams that share a key, with the rates, windows and values of the model.

    Args:
        traffic: The streams; windows of time.
        speed: How many times as fast everything happens: rates are multiplied, windows divided.
    """
    found = []
    for number, (node, rates, windows) in enumerate(
        zip(traffic.nodes, traffic.rates, traffic.windows, strict=True)
    ):
        rate, held = float(rates.sum()), float(windows.sum())
        shares = tuple(map(float, rates / rates.sum()))
        feed = Generated(speed * rate, {KEY: Values(len(shares), "given", shares=shares)}, arrivals="poisson")
        window = timedelta(seconds=held / rate / speed)
        found.append(SimStream(f"s{number}", f"n{node:02}", window, feed))
    return tuple(found)


def run(
    streams: Sequence[SimStream], on: str | Sequence[str], method: Method, *, seconds: float, seed: int
) -> Counted:
    """Simulate a plan for so many seconds after its windows have filled."""
    longest = max(window_of(stream.window).longest_us or 0 for stream in streams) / 1e6
    tick = (longest + seconds) / STAMPS
    filling = ceil(longest / tick)
    scenario = Scenario(
        tuple(streams),
        on,
        link=LinkModel(0.001),
        method=method,
        duration=STAMPS * tick,
        tick=tick,
        seed=seed,
    )
    plan = planned(scenario)
    assert plan.sent is not None, "placed joins are planned by what they send"
    meter, told = Meter(), count(1)

    def watch(_now: int) -> None:
        # Told of the rows of each stream one by one: a tick is over after all.
        if next(told) in (len(streams) * filling, len(streams) * STAMPS):
            meter.counting = not meter.counting

    simulation = Simulation(
        plan.wiring,
        same_links(LinkModel(0.001)),
        seed=seed,
        size=meter,
        take_results=lambda _rows, _now: None,
    )
    simulation.run(arrivals(scenario.query, scenario.sources(), round(tick * SECOND)), watch)
    lasted = (STAMPS - filling) * tick
    return Counted(plan.sent, meter.tuples / lasted, meter.parts / lasted)
