"""Examples 1 and 2 and a part of Fig. 8 run in the simulator, beside the rate model (Sect. 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import sqrt

from watersmeet.plot.chart import Chart, Line, Table
from watersmeet.sim.distribution import Values, generator
from watersmeet.sim.scenario import Method, SimStream
from watersmeet.sim.workload import Generated
from watersmeet_lab.papers.claim import Claim
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.pmjoin.examples import FIVE, ROUTERS
from watersmeet_lab.pmjoin.partitioned import VALUES, workload
from watersmeet_lab.pmjoin.planners import panel
from watersmeet_lab.pmjoin.simulated import KEY, Counted, one_key, run
from watersmeet_lab.pmjoin.workload import SHORT

# Values of the third router come every half a minute: rates are multiplied and windows divided by this.
SPEED = 1000.0
STREAMS = 5


@dataclass(frozen=True, slots=True)
class Size:
    """How much is simulated.

    Attributes:
        groups: Numbers of groups of values.
        seconds: How long Fig. 8 and Example 2 run once windows are full.
        routers: How long Example 1 does, a thousand times as fast.
        values: How many values there are in Fig. 8.
    """

    groups: tuple[int, ...] = (1, 2, 10)
    seconds: float = 20.0
    routers: float = 2.0
    values: int = VALUES


FULL = Size(groups=(1, 2, 10, 50), seconds=60.0, routers=6.0)

# Counts vary by chance: those of few tuples by three standard errors, those of results, which come in bursts
# where a value is frequent for a while, by some share more.
_ERRORS = 3.0
_BURSTS = 0.15

_SETTING = """\
The same plans run in the simulator, with rows drawn from the distributions of the model; counting begins when
windows are full. Example 1 runs 1000 times as fast, rates multiplied and windows divided, since a value
that comes every half a minute cannot be counted otherwise; a result counts as many bytes as it has streams.
In Example 2 match probabilities are one over the number of values. Of Fig. 8 the first five streams of the
first draw are run (random hot spots, different distributions), with windows of 0.3 to 3 s, which are ours:
joins over longer ones give billions of results. Groups by rate keep equal values together here."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure of the model and the simulator's."""

    what: str
    model: float
    counted: float
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether the difference may be chance."""
        return abs(self.counted / self.model - 1) <= _BURSTS + _ERRORS / sqrt(self.model * self.seconds)


def in_the_simulator(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """All that is simulated."""
    found: list[Comparison] = []
    lines: list[Line] = []
    for part in tracker.each(("Example 1", "Example 2", "Fig. 8")):
        if part == "Example 1":
            found += routers(size, seed)
        elif part == "Example 2":
            found.append(five_streams(size, seed))
        else:
            points, lines = in_groups(size, seed)
            found += points
    agree = [each for each in found if each.agrees]
    apart = max(found, key=lambda each: abs(each.counted / each.model - 1))
    best = [line for line in lines if line.source == "measured" and line.name == "rate"]
    claims = (
        Claim(
            "What is sent is what the model says, but for chance (15% and three standard errors).",
            f"{len(agree)} of {len(found)} figures; {apart.what} is farthest, by "
            f"{apart.counted / apart.model - 1:+.0%}",
            len(agree) == len(found),
            origin="measured",
        ),
        Claim(
            "Groups by rate save tuples in the simulator too.",
            " to ".join(f"{y:.0f}" for line in best for y in (line.ys[0], line.ys[-1])) + " tuples/s",
            all(line.ys[-1] < line.ys[0] for line in best),
            origin="measured",
        ),
    )
    rows = tuple((each.what, f"{each.model:.4g}", f"{each.counted:.4g}") for each in found)
    table = Table("counted", ("sent per second", "model", "simulator"), rows)
    frame = panel("five streams, random hot spots, short windows (ours)", "groups", lines, log_x=True)
    chart = Chart("fig8_measured", "What is sent with groups of values, by the model and counted", (frame,))
    return Experiment("In the simulator: Examples 1 and 2, Fig. 8", _SETTING, claims, (chart,), (table,))


def routers(size: Size, seed: int) -> list[Comparison]:
    """The three schemes of Example 1, in bytes."""
    schemes = {
        "everything at n1": (Method("placed", "simple"), 100.1),
        "best plan for all values": (Method("placed", "optimal"), 54.0316),
        "a plan for each value": (Method("placed", "optimal", partition="range", groups=3), 0.0696),
    }
    found = []
    for title, (method, model) in schemes.items():
        streams = one_key(ROUTERS, speed=SPEED)
        counted = run(streams, KEY, method, seconds=size.routers, seed=seed).parts / SPEED
        found.append(Comparison(f"Example 1, {title} (bytes)", model, counted, SPEED * size.routers))
    return found


def five_streams(size: Size, seed: int) -> Comparison:
    """The plan of Example 2. An edge is a column that both its streams have."""
    edges = {f"k{number}": (edge, match) for number, (edge, match) in enumerate(FIVE.matches.items())}
    streams = []
    for number, feed in enumerate(FIVE.feeds):
        columns = {name: Values(round(1 / match)) for name, (edge, match) in edges.items() if number in edge}
        window = timedelta(seconds=feed.window / feed.rate)
        source = Generated(feed.rate, columns, arrivals="poisson")
        streams.append(SimStream(f"s{number}", f"n{feed.node}", window, source))
    on = []
    for name, (edge, _) in edges.items():
        one, other = sorted(edge)
        on.append(f"s{one}.{name} = s{other}.{name}")
    counted = run(streams, on, Method("placed", "stream_join_opt"), seconds=10 * size.seconds, seed=seed)
    return Comparison("Example 2, the plan of Algorithm 1", 34.0, counted.tuples, 10 * size.seconds)


def in_groups(size: Size, seed: int) -> tuple[list[Comparison], list[Line]]:
    """What is sent with groups of values, by partitioner."""
    traffic = workload(
        STREAMS, 2 * STREAMS, "different", "random", SHORT, generator(seed, 8, 0), size.values
    ).traffic
    streams = one_key(traffic)

    def points(partition: str, groups: Sequence[int]) -> list[Counted]:
        return [
            run(
                streams,
                KEY,
                Method("placed", "stream_join_opt", partition=partition, groups=number),
                seconds=size.seconds,
                seed=seed,
            )
            for number in groups
        ]

    found, lines = [], []
    for partition, groups in (("rate", size.groups), ("hash", size.groups[-1:])):
        counted = points(partition, groups)
        for number, each in zip(groups, counted, strict=True):
            title = f"Fig. 8, {number} groups by {partition}" if number > 1 else "Fig. 8, without groups"
            found.append(Comparison(title, each.expected, each.tuples, size.seconds))
        xs = tuple(map(float, groups))
        lines.append(Line(partition, xs, tuple(each.expected for each in counted)))
        lines.append(Line(partition, xs, tuple(each.tuples for each in counted), "measured"))
    return found, lines
