"""Joins between simulated sites give exactly the rows of the definition.

Would catch: results lost or doubled when messages are late, links fail or jitter, sites restart; rows of
equal time that two heads claim; rows dropped while a slow site still needs them; state that is never let go
of.
"""

from dataclasses import replace
from random import Random

import pytest

from harness.graphs import SHAPES, GraphQuery, function, random_events, random_query
from harness.sites import (
    ALGORITHMS,
    arrivals,
    events_of,
    join_of,
    random_placed,
    random_sequences,
    random_slices,
    random_tree,
    results_of,
    simulate,
    spread,
)
from oracles import graph
from oracles.graph import LastRows
from oracles.reference import assert_same_rows
from watersmeet.kernel.sites.window import SiteWindow
from watersmeet.optimize.sites.placed_wiring import placed_wiring
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.sequences import Sequences
from watersmeet.plan.sites.sliced import Sliced
from watersmeet.sim.link import LinkModel
from watersmeet.sim.simulation import Simulation, same_links

ROUNDS = 20


def check(random: Random, method: str, streams: int, choices: tuple[Algorithm, ...] = ALGORITHMS) -> None:
    """One random query, plan, network and history."""
    functions = 0.5 if "sliced" in method else 0.1
    tumbling = 0.7 if "tumbling" in method else 0.0
    query = random_query(random, random.choice(SHAPES), streams, functions, tumbling)
    if "row windows" in method:
        windows = tuple(
            LastRows(random.choice([1, 2, 4])) if random.random() < 0.6 else w for w in query.windows
        )
        query = replace(query, windows=windows)
    join = join_of(query)
    rows = random_events(random, streams, random.choice([6, 10, 14]) if streams < 4 else 8)
    tick = random.choice([1, 2, 5])
    coming = arrivals(random, join, rows, tick=tick, disorder=random.choice([0, 0, 3]))
    sites = spread(random, streams)
    places = sorted(set(sites))
    if "tree" in method:
        wiring = random_tree(random, join, places).wiring(join, sites)
    elif "sliced" in method:
        wiring = random_slices(random, join).wiring(join)
    elif "placed" in method:
        wiring = placed_wiring(join, random_placed(random, join, places), sites)
    else:
        wiring = random_sequences(random, join, choices).wiring(join, sites)
    measured, simulation = simulate(random, wiring, coming, tick=tick)
    assert_same_rows(results_of(join, measured), graph.join(events_of(query, rows), query.conditions))
    assert not any(measured.late.values())
    assert_nothing_is_left(simulation)


def assert_nothing_is_left(simulation: Simulation) -> None:
    """When all streams have ended, every site knows it and holds nothing."""
    for node in simulation.nodes.values():
        assert node.ended
        assert {name: part for name, part in node.parts.items() if part.rows_held or part.rows_waiting} == {}


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.value)
@pytest.mark.parametrize("method", ["sequences", "row windows", "tumbling, row windows"])
def test_an_algorithm_alone(algorithm: Algorithm, method: str) -> None:
    for number in range(ROUNDS // 2):
        random = Random(f"{algorithm} {number}")  # noqa: S311
        check(random, method, streams=2 + number % 2, choices=(algorithm,))


@pytest.mark.parametrize(
    "method", ["sequences", "row windows", "tree", "placed", "tumbling", "tumbling, tree", "tumbling, placed"]
)
@pytest.mark.parametrize("streams", [2, 3, 4])
def test_any_plan(method: str, streams: int) -> None:
    for number in range(ROUNDS):
        check(Random(f"{method} {streams} {number}"), method, streams)  # noqa: S311


def test_the_same_seed_gives_the_same_run() -> None:
    def run() -> object:
        random = Random(7)  # noqa: S311
        query = random_query(random, "chain", 3)
        join = join_of(query)
        rows = random_events(random, 3, 10)
        coming = arrivals(random, join, rows, tick=1, disorder=2)
        plan: Sequences = random_sequences(random, join)
        measured, _ = simulate(random, plan.wiring(join, ["a", "b", "c"]), coming, tick=1)
        return results_of(join, measured), measured.emitted, measured.traffic, measured.work

    assert run() == run()


@pytest.mark.parametrize("method", ["sliced", "sliced, row windows", "sliced, tumbling"])
@pytest.mark.parametrize("streams", [2, 3, 4, 5])
def test_slices(method: str, streams: int) -> None:
    """Windows spread over one to eight nodes, each over a number of its own."""
    for number in range(ROUNDS // 2):
        check(Random(f"{method} {streams} {number}"), method, streams)  # noqa: S311


def test_slices_hold_every_row_once_and_as_many_each() -> None:
    random = Random("even")  # noqa: S311
    query = GraphQuery((30, 30, 30), (function(0, 1, 0), function(1, 2, 0)))
    join = join_of(query)
    rows = random_events(random, 3, 270, span=90)
    wiring = Sliced(((1, 2), (0, 2), (1, 0)), (4, 4, 4)).wiring(join)
    simulation = Simulation(wiring, same_links(LinkModel(latency=0.0)))
    most = 0

    def look(_now: int) -> None:
        nonlocal most
        held = [
            [part.store.rows for part in node.parts.values() if isinstance(part, SiteWindow)]
            for node in simulation.nodes.values()
        ]
        for loads in zip(*held, strict=True):
            # Rows leave chunk by chunk, of which one has a few seconds.
            assert max(loads) - min(loads) <= 18
        most = max(most, sum(map(sum, held)))

    simulation.run(arrivals(random, join, rows, tick=3, disorder=0), look)
    # Three rows a second of each stream, for a window, a tick or two, and what leaves only as a whole.
    assert 3 * 3 * 30 <= most <= 3 * 3 * 40
