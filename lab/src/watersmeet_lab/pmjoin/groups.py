"""What is routed with groups of values: the workloads and plans behind Fig. 8 and 9 (Sect. 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.sim.distribution import generator
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.pmjoin.partitioned import PARTITIONERS, VALUES, Routed, workload
from watersmeet_lab.pmjoin.workload import LONG, SHORT, HotSpots, Likeness

STREAMS = 10


@dataclass(frozen=True, slots=True)
class Size:
    """How much is computed.

    Attributes:
        groups: Numbers of groups; the first is 1, the second 2.
        draws: How many random workloads there are.
        values: How many values there are.
    """

    groups: tuple[int, ...] = (1, 2, 5, 20, 100, 1000)
    draws: int = 5
    values: int = VALUES


FULL = Size(groups=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), draws=20)


class Case(NamedTuple):
    """Which streams."""

    windows: str
    hot_spots: HotSpots
    likeness: Likeness

    def __str__(self) -> str:
        return f"{self.hot_spots} hot spots, {self.likeness} distributions"


WINDOWS = {"long": LONG, "short": SHORT}
CASES: tuple[Case, ...] = tuple(
    Case(windows, hot_spots, likeness)
    for windows in ("long", "short")
    for hot_spots in ("contiguous", "random")
    for likeness in ("similar", "different")
)


@dataclass(frozen=True, slots=True)
class Routing:
    """What is routed, by case, partitioner and number of groups.

    Attributes:
        sent: Tuples that go to another node.
        looked_up: All tuples for which a way has to be found.
    """

    sent: Draws[Figures[Case]]
    looked_up: Draws[Figures[Case]]


def routing(size: Size, seed: int, tracker: Tracker) -> Routing:
    """All draws, cases, partitioners and numbers of groups."""
    draws: list[dict[Case, dict[str, list[Routed]]]] = [{} for _ in range(size.draws)]
    for draw, case in tracker.each([(draw, case) for draw in range(size.draws) for case in CASES]):
        load = workload(
            STREAMS,
            STREAMS,
            case.likeness,
            case.hot_spots,
            WINDOWS[case.windows],
            generator(seed, 8, draw),
            size.values,
        )
        draws[draw][case] = {
            name: [load.routed(name, groups) for groups in size.groups] for name in PARTITIONERS
        }
    return Routing(
        averaged([_figures(found, looked_up=False) for found in draws]),
        averaged([_figures(found, looked_up=True) for found in draws]),
    )


def _figures(found: dict[Case, dict[str, list[Routed]]], *, looked_up: bool) -> Figures[Case]:
    return {
        case: {
            name: [each.looked_up if looked_up else each.sent for each in line]
            for name, line in lines.items()
        }
        for case, lines in found.items()
    }
