"""From a scenario to parts at sites, by the method it names, and what the planner expects of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watersmeet.errors import InvalidSimulation, choices
from watersmeet.optimize.papers.tran_lee.exhaustive import exhaustive
from watersmeet.optimize.papers.tran_lee.greedy import greedy
from watersmeet.optimize.papers.tran_lee.tree import tree
from watersmeet.optimize.papers.zhou.local import local
from watersmeet.optimize.papers.zhou.optimal import optimal
from watersmeet.optimize.papers.zhou.pmjoin import Planner, pmjoin
from watersmeet.optimize.papers.zhou.simple import simple
from watersmeet.optimize.sites.partition.by_hash import by_hash
from watersmeet.optimize.sites.partition.by_range import by_range
from watersmeet.optimize.sites.partition.by_rate import by_rate
from watersmeet.optimize.sites.partition.groups import Groups
from watersmeet.optimize.sites.placed_wiring import placed_wiring
from watersmeet.optimize.sites.placement import Leaf
from watersmeet.optimize.sites.placement import Tree as Placement
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt
from watersmeet.plan.sites.placed import At, ByValue, Input, JoinAt
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.plan.sites.tree import LeftDeep, TwoWayHop
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.sim.known import graph_traffic, shared_attribute, sites_query, value_traffic
from watersmeet.sim.scenario import Scenario

_PLACERS: Mapping[str, Planner] = {
    "stream_join_opt": stream_join_opt,
    "local": local,
    "simple": simple,
    "optimal": optimal,
}
# Longer texts of plans help nobody.
_MOST_LINES = 12


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, ready to run.

    Attributes:
        wiring: The parts.
        lines: The plan in words.
        work: Seconds of work per second of arrivals that the planner expects; None if it did not say.
        sent: Rows sent between sites per second that it expects; None if it did not say.
    """

    wiring: Wiring
    lines: tuple[str, ...]
    work: float | None = None
    sent: float | None = None


def planned(scenario: Scenario) -> Planned:
    """Plan a scenario.

    Raises:
        InvalidSimulation: The method does not fit, or sites must talk that have no link.
    """
    method = {"sequences": _sequences, "tree": _tree, "placed": _placed}[scenario.method.kind]
    found = method(scenario)
    for one, other in found.wiring.links():
        if scenario.between(one, other) is None:
            raise InvalidSimulation(
                f'there is no link between "{one}" and "{other}"',
                f'the plan sends something from "{one}" to "{other}".',
                "add a link between them, or one for all sites without a link of their own.",
            )
    return found


def _sequences(scenario: Scenario) -> Planned:
    names = [stream.name for stream in scenario.streams]
    work = None
    if scenario.method.planner == "fixed":
        hops = _fixed(scenario, names)
    else:
        plan = (greedy if scenario.method.planner == "greedy" else exhaustive)(sites_query(scenario))
        hops = tuple(tuple(Hop(s.stream, s.algorithm) for s in steps) for steps in plan.sequences)
        work = plan.work.total
    lines = [
        " ".join([names[head], *(f"-> {names[hop.stream]} by {hop.algorithm.value}" for hop in way)])
        for head, way in enumerate(hops)
    ]
    return Planned(Sequences(hops).wiring(scenario.query, scenario.sites), tuple(lines), work=work)


def _fixed(scenario: Scenario, names: list[str]) -> tuple[tuple[Hop, ...], ...]:
    for head in names:
        others = [name for name in names if name != head]
        visited = [name for name, _ in scenario.method.hops.get(head, ())]
        if sorted(visited) != sorted(others):
            raise InvalidSimulation(
                f'hops of stream "{head}" do not visit every other stream once',
                f"they visit {choices(visited) or 'none'}.",
                f"name {choices(others)} in some order.",
            )
    return tuple(
        tuple(Hop(names.index(name), algorithm) for name, algorithm in scenario.method.hops[head])
        for head in names
    )


def _tree(scenario: Scenario) -> Planned:
    names, places = [stream.name for stream in scenario.streams], sorted(set(scenario.sites))
    plan = tree(sites_query(scenario))
    joins = tuple(
        TwoWayHop(
            join.stream,
            join.results.algorithm,
            join.arrivals.algorithm,
            None if join.node is None else places[join.node],
        )
        for join in plan.joins
    )
    lines = [
        f"{names[plan.first]} first",
        *(
            f"then {names[join.stream]}: results by {join.results.value}, arrivals by {join.arrivals.value}"
            + (f", kept at {join.home}" if join.home else "")
            for join in joins
        ),
    ]
    wiring = LeftDeep(plan.first, joins).wiring(scenario.query, scenario.sites)
    return Planned(wiring, tuple(lines), work=plan.work.total)


def _placed(scenario: Scenario) -> Planned:
    attribute = shared_attribute(scenario)
    planner = _PLACERS[scenario.method.planner]
    if scenario.method.partition is not None:
        if attribute is None:
            raise InvalidSimulation(
                "the join cannot be partitioned",
                "no value is shared by all streams.",
                "join them on one key, or leave out the partition.",
            )
        return _partitioned(scenario, attribute, planner)
    traffic = graph_traffic(scenario) if attribute is None else value_traffic(scenario, attribute)[0]
    plan = planner(traffic)
    placed = _joins(scenario, plan.tree, leaf=At)
    assert isinstance(placed, JoinAt)
    wiring = placed_wiring(scenario.query, placed, scenario.sites)
    return Planned(wiring, (_text(scenario, plan.tree),), sent=plan.cost)


def _partitioned(scenario: Scenario, attribute: int, planner: Planner) -> Planned:
    traffic, values = value_traffic(scenario, attribute)
    count = scenario.method.groups
    groups: Groups
    if scenario.method.partition == "hash":
        groups = by_hash(len(values), count, seed=scenario.seed)
    elif scenario.method.partition == "range":
        groups = by_range(len(values), count)
    else:
        groups = by_rate(traffic.rates, count, seed=scenario.seed)
    plan = pmjoin(traffic, groups, planner)
    ways = []
    for placement in plan.placements:
        way = _joins(scenario, placement.tree, leaf=Input)
        assert isinstance(way, JoinAt)
        ways.append(way)
    inputs = tuple(At(stream) for stream in range(len(scenario.streams)))
    routes = [(values[place], number) for number, group in enumerate(groups) for place in group]
    listed = tuple(value for value, _ in routes), tuple(number for _, number in routes)
    split = ByValue(attribute, inputs, tuple(ways), listed)
    lines = [
        f"{len(group)} value{'s' if len(group) > 1 else ''}: {_text(scenario, placement.tree)}"
        for group, placement in zip(groups, plan.placements, strict=True)
    ]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} groups more"]
    return Planned(placed_wiring(scenario.query, split, scenario.sites), tuple(lines), sent=plan.cost)


def _joins(scenario: Scenario, part: Placement, leaf: type[At | Input]) -> At | Input | JoinAt:
    if isinstance(part, Leaf):
        return leaf(part.stream)
    places = sorted(set(scenario.sites))
    return JoinAt(tuple(_joins(scenario, below, leaf) for below in part.inputs), places[part.node])


def _text(scenario: Scenario, part: Placement) -> str:
    if isinstance(part, Leaf):
        return scenario.streams[part.stream].name
    places = sorted(set(scenario.sites))
    return f"({' '.join(_text(scenario, below) for below in part.inputs)}) at {places[part.node]}"
