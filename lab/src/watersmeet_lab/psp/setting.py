"""The workload of all experiments: the paper's, scaled so that it can be run.

The paper has 50 rows/s, windows of 10 s and matches with a probability of 0.05 and more: each row then has 25
to 250 partners in each window, and a join of three streams hundreds of thousands of results per second. Rates
stay as they are; windows are shorter and matches rarer, so that a row has one to four partners. What a
comparison and a hop take is not said in the paper; see the page.
"""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.cost.ring import Step, Times
from watersmeet.kernel.ring.predicate import PairHash
from watersmeet.plan.plan import ProbePath
from watersmeet.sim.ring import RingScenario, RingStream

RATE = 50.0
# Conditions between first and second stream, and second and third; all visit neighbours first.
EDGES = ((0, 1), (1, 2))
PATHS = (ProbePath(0, (1, 2)), ProbePath(1, (0, 2)), ProbePath(2, (1, 0)))


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run.

    Attributes:
        window: Seconds.
        partners: Rows that a row matches in a window, for which the ring is tried.
        nodes: How many nodes are tried.
        seconds: How long a ring is measured.
        windows: How many windows aligned routing is run for.
        draws: How many independent draws there are.
    """

    window: float
    partners: tuple[float, ...]
    nodes: tuple[int, ...]
    seconds: float
    windows: int
    draws: int

    @property
    def middle(self) -> float:
        """The partners with which methods are compared."""
        return self.partners[1]

    def match_prob(self, partners: float) -> float:
        """How likely a pair matches, so that a row has so many partners."""
        return partners / (RATE * self.window)

    def steps(self, partners: float) -> tuple[Step, Step]:
        """What an arriving row visits, for the cost model."""
        step = Step(RATE, self.window, self.match_prob(partners))
        return step, step

    def times(self, window: float = 0.002, *, send: float = 5e-6, hop: float = 50e-6) -> Times:
        """What operations take.

        Args:
            window: Seconds to compare a row with all rows of a window: longer windows have cheaper rows, so
                that there is the same to do.
            send: Seconds of work to send a tuple.
            hop: Seconds to the next node.
        """
        return Times(compare=window / (RATE * self.window), send=send, hop=hop)

    def scenario(
        self,
        partners: float,
        seed: int,
        *,
        seconds: float,
        times: Times | None = None,
        doubling: float | None = None,
    ) -> RingScenario:
        """Three streams alike.

        Args:
            partners: Rows that a row matches in each window.
            seed: For all that is random.
            seconds: How long is measured, once windows are full.
            times: What operations take.
            doubling: The second at which rates double; None for never.
        """
        changes = () if doubling is None else ((doubling, 2 * RATE),)
        return RingScenario(
            (RingStream(RATE, self.window, changes),) * len(PATHS),
            PairHash(EDGES, self.match_prob(partners), seed),
            times or self.times(),
            PATHS,
            duration=self.window + seconds,
            seed=seed,
        )


# About a minute and a half.
QUICK = Size(0.8, (1.0, 2.0, 4.0), (2, 4, 8, 12, 16, 19), seconds=1.0, windows=16, draws=3)
# A quarter of an hour; windows with as many rows as a fifth of the paper's.
FULL = Size(2.0, (1.0, 2.0, 4.0), (2, 4, 6, 8, 10, 12, 14, 16, 19), seconds=6.0, windows=60, draws=5)


def seeds(first: int, draws: int) -> list[int]:
    """A seed for each draw."""
    return [1000 * first + draw for draw in range(draws)]
