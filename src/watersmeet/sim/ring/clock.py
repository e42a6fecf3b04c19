"""Events of a simulated clock that counts microseconds."""

from __future__ import annotations

from collections.abc import Callable

import simpy

from watersmeet.sim.link import SECOND


class Clock:
    """Lets things happen in the order of time; at one instant, in the order they were asked for."""

    def __init__(self) -> None:
        """Time 0."""
        self.environment = simpy.Environment()

    @property
    def now(self) -> int:
        """The time, microseconds."""
        return int(self.environment.now)

    def at(self, time: int, act: Callable[..., None], *arguments: object) -> None:
        """Do something at a time."""
        event = self.environment.timeout(time - self.now)
        event.callbacks.append(lambda _: act(*arguments))

    def run(self) -> None:
        """Until nothing is left to do."""
        self.environment.run()


def micros(seconds: float) -> int:
    """Seconds in microseconds."""
    return round(seconds * SECOND)
