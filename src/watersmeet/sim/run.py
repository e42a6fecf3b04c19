"""A scenario from beginning to end: planned, simulated, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from watersmeet.sim.link import SECOND, LinkModel
from watersmeet.sim.planned import Planned, planned
from watersmeet.sim.report import Report, Tally, report
from watersmeet.sim.scenario import Scenario
from watersmeet.sim.simulation import Arrival, Simulation, bare_size, encoded_size
from watersmeet.sim.workload import arrivals


def simulate(
    scenario: Scenario, plan: Planned | None = None, progress: Callable[[int], None] | None = None
) -> Report:
    """Simulate a scenario.

    Args:
        scenario: What to simulate.
        plan: How streams are joined, where it is planned already.
        progress: Told the simulated time, microseconds, whenever rows arrive.

    Raises:
        InvalidSimulation: The method does not fit, or sites must talk that have no link.
    """
    chosen = plan or planned(scenario)
    tally, rows = Tally(), Counter[int]()

    def counted() -> Iterator[Arrival]:
        for arrival in arrivals(scenario.query, scenario.sources(), round(scenario.tick * SECOND)):
            rows[arrival.stream] += 0 if arrival.rows is None else arrival.rows.num_rows
            yield arrival

    def link(one: str, other: str) -> LinkModel:
        model = scenario.between(one, other)
        assert model is not None, "a plan that needs it is refused"
        return model

    simulation = Simulation(
        chosen.wiring,
        link,
        seed=scenario.seed,
        size=encoded_size if scenario.bytes == "encoded" else bare_size,
        outages=scenario.outages,
        delay=scenario.delay,
        take_results=tally.take,
    )
    measured = simulation.run(counted(), progress)
    return report(scenario, chosen, measured, tally, rows)
