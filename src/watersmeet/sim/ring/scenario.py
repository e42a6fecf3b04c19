"""What is simulated: streams, what belongs together, and what operations take."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from watersmeet.cost.ring import Times
from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.ring.join import AgeWindow, Join
from watersmeet.kernel.ring.predicate import Predicate
from watersmeet.plan.plan import ProbePath
from watersmeet.query import Window
from watersmeet.sim.distribution import generator
from watersmeet.sim.link import SECOND, LinkModel


@dataclass(frozen=True, slots=True)
class RingStream:
    """A stream whose rows come at random (Poisson).

    Attributes:
        rate: Rows per second.
        window: Seconds that rows live, or how many of them.
        changes: When the rate becomes another: pairs of seconds and rate.
        value: Makes the value of a row, for predicates that look at values.
    """

    rate: float
    window: float | Window
    changes: tuple[tuple[float, float], ...] = ()
    value: Callable[[np.random.Generator], Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what no stream can be."""
        for rate in (self.rate, *(rate for _, rate in self.changes)):
            if not 0 <= rate < math.inf:
                raise InvalidSimulation("rate of a stream on a ring must be 0 or more", f"it is {rate}.")
        if self.seconds is not None and not 1 / SECOND <= self.seconds < math.inf:
            raise InvalidSimulation(
                "window of a stream on a ring must be a microsecond or more", f"it is {self.seconds} s."
            )
        if isinstance(self.window, Window) and not self.window.counts_whole_stream:
            raise InvalidSimulation(
                "rows of a stream on a ring live for some seconds, or are counted together",
                f"its window is: {self.window}.",
            )

    @property
    def seconds(self) -> float | None:
        """How long rows live; None where they are counted."""
        return None if isinstance(self.window, Window) else self.window

    @property
    def ages(self) -> AgeWindow:
        """The window as nodes see it."""
        if not isinstance(self.window, Window):
            return AgeWindow(round(self.window * SECOND))
        return AgeWindow(self.window.most_rows or 0, rows=True)

    def rate_at(self, second: float) -> float:
        """Rows per second at some time."""
        return next(
            (rate for begin, rate in sorted(self.changes, reverse=True) if begin <= second), self.rate
        )


class Arrival(NamedTuple):
    """A row arrives.

    Attributes:
        time: When, microseconds.
        stream: Its stream.
        value: What predicates look at.
    """

    time: int
    stream: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class RingScenario:
    """A join to be shared out over machines.

    Attributes:
        streams: Two or more.
        predicate: What belongs together.
        times: What operations take.
        paths: Per stream the order in which its rows visit the others; in the order of the streams if not
            said.
        duration: Seconds until the last row has arrived.
        warmup: Seconds before anything is measured; the longest window if not said.
        jitter: Up to so many seconds more for every hop, at random. Messages never overtake.
        seed: For all that is random.
    """

    streams: tuple[RingStream, ...]
    predicate: Predicate
    times: Times
    paths: tuple[ProbePath, ...] = ()
    duration: float = 10.0
    warmup: float | None = None
    jitter: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        if not 0 <= self.begin < self.duration < math.inf:
            raise InvalidSimulation(
                "simulation of a ring ends before anything is measured",
                f"it lasts {self.duration} s and windows need {self.begin} s to fill.",
                "let it last longer, or give a warmup.",
            )

    @property
    def join(self) -> Join:
        """The join as nodes see it."""
        everyone = range(len(self.streams))
        paths = self.paths or tuple(
            ProbePath(head, tuple(other for other in everyone if other != head)) for head in everyone
        )
        return Join(tuple(stream.ages for stream in self.streams), paths, self.predicate)

    @property
    def link(self) -> LinkModel:
        """How a hop behaves."""
        return LinkModel(self.times.hop, jitter=self.jitter)

    @property
    def begin(self) -> float:
        """The second from which on something is measured."""
        if self.warmup is not None:
            return self.warmup
        return max((s.seconds for s in self.streams if s.seconds is not None), default=0.0)

    def arrivals(self) -> list[Arrival]:
        """All rows in the order they arrive; the place in the list is a row's id."""
        found = []
        for number, stream in enumerate(self.streams):
            random = generator(self.seed, number)
            cuts = sorted({0.0, self.duration, *(at for at, _ in stream.changes if 0 < at < self.duration)})
            for begin, end in pairwise(cuts):
                count = int(random.poisson(stream.rate_at(begin) * (end - begin)))
                times = np.sort(random.integers(round(begin * SECOND), round(end * SECOND), count))
                found += [
                    Arrival(time, number, stream.value(random) if stream.value else None)
                    for time in times.tolist()
                ]
        return sorted(found, key=lambda arrival: arrival[:2])
