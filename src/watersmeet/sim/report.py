"""What came of a simulation, as numbers that are written to a file and shown."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from watersmeet.cost.site import Constants
from watersmeet.kernel.sites.packet import times
from watersmeet.sim.link import SECOND
from watersmeet.sim.planned import Planned
from watersmeet.sim.scenario import Scenario
from watersmeet.sim.simulation import Measured

# Latencies are counted in steps of this many microseconds, so that they need little room.
_STEP = 100


@dataclass(slots=True)
class Tally:
    """Results, counted as they come: how many there are, and how long after their last row."""

    count: int = 0
    steps: Counter[int] = field(default_factory=Counter)

    def take(self, rows: pa.RecordBatch, now: int) -> None:
        """Count results that have come about."""
        self.count += rows.num_rows
        found, counts = np.unique((now - times(rows)) // _STEP, return_counts=True)
        self.steps.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def latency(self, share: float) -> float:
        """So many of the results have at most this latency, seconds."""
        left = share * self.count
        for step in sorted(self.steps):
            left -= self.steps[step]
            if left <= 0:
                return step * _STEP / SECOND
        return 0.0


@dataclass(frozen=True, slots=True)
class LinkReport:
    """One direction of a link; see `sim.link.Traffic`."""

    sender: str
    receiver: str
    messages: int
    promises: int
    packets: int
    rows: int
    bytes: int
    busy: float
    transmission: float


@dataclass(frozen=True, slots=True)
class SiteReport:
    """The work of a site: elementary operations, and the seconds they take."""

    site: str
    operations: dict[str, int]
    processing: float


@dataclass(frozen=True, slots=True)
class StreamReport:
    """What came of a stream, and what of it came too late."""

    stream: str
    site: str
    rows: int
    late: int


@dataclass(frozen=True, slots=True)
class Report:
    """A simulation in numbers.

    Attributes:
        name: What it is called.
        seed: Where random numbers began.
        plan: The plan in words.
        seconds: How long rows arrived.
        streams: What arrived.
        links: What was sent.
        sites: What was done.
        results: How many results there are.
        latency: Seconds from the last row of a result to the result; empty without results.
        work: Seconds of work per second of arrivals (Tran & Lee 2010): on links, at sites, together.
        sent: Rows sent between sites per second of arrivals (Zhou et al. 2006).
        expected: What the planner expected of `work` in total, or of `sent`.
    """

    name: str
    seed: int
    plan: tuple[str, ...]
    seconds: float
    streams: tuple[StreamReport, ...]
    links: tuple[LinkReport, ...]
    sites: tuple[SiteReport, ...]
    results: int
    latency: dict[str, float]
    work: dict[str, float]
    sent: float
    expected: dict[str, float]

    def to_json(self) -> str:
        """The same for programs; the same simulation gives the same text."""
        return json.dumps(asdict(self), indent=2) + "\n"


def report(
    scenario: Scenario, planned: Planned, measured: Measured, tally: Tally, rows: Counter[int]
) -> Report:
    """Put together what was seen.

    Args:
        scenario: What was simulated.
        planned: How.
        measured: What the simulation saw.
        tally: The results.
        rows: How many rows of each stream arrived.
    """
    seconds = scenario.end / SECOND
    processing = measured.processing(Constants())
    shares = {"min": 0.0, "median": 0.5, "95 %": 0.95, "max": 1.0}
    transmission, work = measured.transmission / seconds, sum(processing.values()) / seconds
    expected = {"work": planned.work, "sent": planned.sent}
    return Report(
        name=scenario.name,
        seed=scenario.seed,
        plan=planned.lines,
        seconds=seconds,
        streams=tuple(
            StreamReport(stream.name, stream.site, rows[number], measured.late.get(number, 0))
            for number, stream in enumerate(scenario.streams)
        ),
        links=tuple(
            LinkReport(one, other, **asdict(traffic)) for (one, other), traffic in measured.traffic.items()
        ),
        sites=tuple(
            SiteReport(site, dict(sorted(done.items())), processing[site])
            for site, done in measured.work.items()
        ),
        results=tally.count,
        latency={name: tally.latency(share) for name, share in shares.items()} if tally.count else {},
        work={"transmission": transmission, "processing": work, "total": transmission + work},
        sent=sum(traffic.rows for traffic in measured.traffic.values()) / seconds,
        expected={name: value for name, value in expected.items() if value is not None},
    )
