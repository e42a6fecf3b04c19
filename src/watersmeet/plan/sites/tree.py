"""One order for all streams, intermediate results kept (Tran & Lee 2010, Sect. 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.columns import final_columns, step_between
from watersmeet.plan.sites.sequences import Building, Remote, refuse_row_windows
from watersmeet.plan.sites.wiring import RESULTS, TimeOrderSpec, WindowSpec, Wiring
from watersmeet.query import JoinQuery


@dataclass(frozen=True, slots=True)
class TwoWayHop:
    """A stream joined with the results so far, in both directions.

    Attributes:
        stream: The stream.
        results: How results so far look back into its window.
        arrivals: How its rows look back into the kept results.
        home: The site where joined results are kept for the next join; none after the last one.
    """

    stream: int
    results: Algorithm
    arrivals: Algorithm
    home: str | None


@dataclass(frozen=True, slots=True)
class LeftDeep:
    """The first stream, then the others, each joined with all before it."""

    first: int
    joins: tuple[TwoWayHop, ...]

    def wiring(self, query: JoinQuery, sites: Sequence[str]) -> Wiring:
        """The parts that compute it, for streams at these sites."""
        refuse_row_windows(query, "intermediate results cannot be kept")
        building = Building(query, sites)
        wires = building.wires
        left, site = building.sources[self.first], sites[self.first]
        done: tuple[int, ...] = (self.first,)
        kept = Remote(site, f"window {query.names[self.first]}", left, building.limits(self.first)[0])
        for number, join in enumerate(self.joins):
            name = f"join {number + 1}"
            ends = join.home is not None
            # Of rows of equal time those of the results count as the first.
            over = step_between(query, done, (join.stream,), ties=False, ends=ends)
            back = step_between(query, (join.stream,), done, ties=True, ends=ends)
            one, _ = building.join(f"{name} results", left, site, join.results, over, join.stream)
            other, _ = building.one_way(
                f"{name} arrivals",
                building.sources[join.stream],
                sites[join.stream],
                join.arrivals,
                back,
                kept,
            )
            done = (*done, join.stream)
            if join.home is None:
                wires.connect(one, "out", RESULTS, "")
                wires.connect(other, "out", RESULTS, "")
                break
            left, site = wires.add(TimeOrderSpec(f"{name} together", join.home)), join.home
            wires.connect(one, "out", left, "in")
            wires.connect(other, "out", left, "in")
            window = wires.add(WindowSpec(f"window of {name}", site, kept.reach))
            wires.connect(left, "out", window, "in")
            kept = Remote(site, window, left, kept.reach)
        return wires.finish(final_columns(query))
