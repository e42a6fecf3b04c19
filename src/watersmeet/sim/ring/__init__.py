"""Joins on a ring of simulated machines, and two other ways to share a join out over machines.

>>> from watersmeet.cost.ring import Times
>>> from watersmeet.kernel.ring.predicate import PairHash
>>> streams = (RingStream(rate=50, window=0.4),) * 2
>>> scenario = RingScenario(streams, PairHash([(0, 1)], 0.1), Times(compare=1e-4), duration=2)
>>> report = simulate_ring(scenario, nodes=4)
>>> len(report.results), f"{report.memory:.0f} rows"
(355, '39 rows')
"""

from watersmeet.sim.ring.adaptation import Adaptation
from watersmeet.sim.ring.aligned import simulate_aligned
from watersmeet.sim.ring.coordinated import simulate_coordinated
from watersmeet.sim.ring.host import simulate_ring
from watersmeet.sim.ring.report import RingReport
from watersmeet.sim.ring.scenario import RingScenario, RingStream

__all__ = [
    "Adaptation",
    "RingReport",
    "RingScenario",
    "RingStream",
    "simulate_aligned",
    "simulate_coordinated",
    "simulate_ring",
]
