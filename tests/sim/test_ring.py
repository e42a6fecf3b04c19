"""Joins shared out over simulated machines: the ring, and aligned and coordinated routing.

Would catch: results lost or doubled when messages are slow or jitter, when slices, limits and nodes change or
rates do; figures that are not what they are called; a run that is not the same for the same seed.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import graph
from oracles.graph import Condition, Event, Events, LastRows
from watersmeet.cost.ring import Step, Times, central_work, intermediates, output_rate, reaching
from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.ring.message import Row
from watersmeet.kernel.ring.predicate import PairFunction, PairHash
from watersmeet.kernel.ring.ring import Ring, equal_ends
from watersmeet.plan import ProbePath
from watersmeet.query import RowWindow
from watersmeet.sim.ring import (
    Adaptation,
    RingReport,
    RingScenario,
    RingStream,
    simulate_aligned,
    simulate_coordinated,
    simulate_ring,
)
from watersmeet.sim.ring.coordinated import cover
from watersmeet.sim.ring.host import RingHost

randoms = st.integers(0, 2**32 - 1).map(Random)


def random_scenario(random: Random, streams: int, *, rows: bool = True, busy: bool = True) -> RingScenario:
    """About two dozen rows in a second; nodes that have little to do, or more than they can."""

    def window() -> float | RowWindow:
        if rows and random.random() < 0.3:
            return RowWindow(random.randint(1, 5))
        return random.choice([0.05, 0.2, 0.45, 0.9])

    rate = 24 / streams
    found = tuple(
        RingStream(rate * random.uniform(0.5, 1.5), window(), changes=((0.6, rate * random.uniform(0, 2)),))
        for _ in range(streams)
    )
    paths = []
    for head in range(streams):
        others = [stream for stream in range(streams) if stream != head]
        random.shuffle(others)
        paths.append(ProbePath(head, tuple(others)))
    edges = [(random.randrange(stream), stream) for stream in range(1, streams)]
    slow = random.choice([1e-4, 0.02]) if busy else 1e-4
    times = Times(slow, slow / 3, slow / 5, slow / 2, hop=random.choice([0.0, 1e-3, 0.03]))
    return RingScenario(
        found,
        PairHash(edges, random.choice([0.3, 0.7]), seed=5),
        times,
        tuple(paths),
        duration=1.0,
        warmup=0.0,
        jitter=random.choice([0.0, 0.02]),
        seed=random.randrange(1000),
    )


def expected(scenario: RingScenario) -> Counter[tuple[int, ...]]:
    """By the definition, which an oracle of the other joins knows: both ends of its windows are closed."""
    arrivals = scenario.arrivals()
    assume(len({arrival.time for arrival in arrivals}) == len(arrivals))
    streams = []
    for number, window in enumerate(scenario.join.windows):
        rows = [
            Event(arrival.time, None, None, None, None, id_)
            for id_, arrival in enumerate(arrivals)
            if arrival.stream == number
        ]
        streams.append(Events(LastRows(window.length) if window.rows else window.length - 1, rows))
    predicate = scenario.predicate
    assert isinstance(predicate, PairHash)
    ids = np.arange(len(arrivals))
    conditions = []
    for one, other in (sorted(edge) for edge in predicate.edges):
        table = {id_: predicate([Row(one, id_, 0)], other, ids, ids) for id_ in range(len(arrivals))}
        conditions.append(
            Condition(
                "", "", lambda rows, one=one, other=other, t=table: t[rows[one].value][rows[other].value]
            )
        )
    return Counter(result[:-1] for result in graph.join(streams, conditions))


@given(randoms, st.integers(2, 5), st.integers(1, 8), st.integers(1, 6), st.booleans())
def test_a_ring_finds_what_the_definition_says(
    random: Random, streams: int, nodes: int, in_flight: int, early: bool
) -> None:
    """Windows of time and rows, any order, windows on different numbers of nodes, one row or several."""
    scenario = random_scenario(random, streams)
    lengths = [random.randint(1, nodes) for _ in range(streams)]
    report = simulate_ring(scenario, lengths, in_flight=in_flight, early=early)
    assert Counter(report.results) == expected(scenario)
    assert len(report.latencies) == len(report.results)
    assert len(report.work) == max(lengths)
    assert (report.latencies >= 0).all()


@given(randoms, st.integers(2, 4), st.booleans())
def test_a_ring_that_changes_finds_the_same(random: Random, streams: int, smoothing: bool) -> None:
    """Slice ends and limits at random while it runs; nodes come and go as rates do."""
    scenario = random_scenario(random, streams)
    moving = random.choice(["never", "at once"] if smoothing else ["never", "at once", "gradually"])
    wish = Adaptation(random.choice([0.05, 0.15]), 6, smoothing, moving, steps=random.randint(1, 3))
    join = scenario.join
    nodes = random.randint(1, 4)
    host = RingHost(scenario, Ring(join, equal_ends(join, nodes), in_flight=random.randint(1, 5)), wish)

    def disturb() -> None:
        node = random.choice(host.ring.nodes)
        if smoothing:
            node.limits = [random.choice([None, 0, 2]) for _ in join.windows]
        else:
            node.ends = [random.randint(0, window.length) for window in join.windows]

    for _ in range(6):
        host.clock.at(random.randrange(1_000_000), disturb)
    report = host.run()
    assert Counter(report.results) == expected(scenario)
    assert report.nodes[-1][1] == len(host.ring.nodes)


@given(randoms, st.integers(2, 5), st.integers(1, 8), st.sampled_from(["in turn", "least loaded"]))
def test_aligned_routing_finds_what_the_definition_says(
    random: Random, streams: int, nodes: int, assign: str
) -> None:
    scenario = random_scenario(random, streams, rows=False)
    report = simulate_aligned(
        scenario,
        nodes,
        segment=random.choice([0.04, 0.3, 1.5]),
        master=random.randrange(streams),
        assign=assign,
    )
    assert Counter(report.results) == expected(scenario)


@given(randoms, st.integers(2, 5), st.integers(1, 8))
def test_coordinated_routing_finds_what_the_definition_says(random: Random, streams: int, nodes: int) -> None:
    scenario = random_scenario(random, streams, rows=False)
    report = simulate_coordinated(
        scenario, nodes, copies=random.randint(1, nodes), segment=random.choice([0.03, 0.2, 2.0])
    )
    assert Counter(report.results) == expected(scenario)


# --- Figures ---

TIMES = Times(compare=5e-5, send=5e-6, hop=3e-5)
CHAIN = (ProbePath(0, (1, 2)), ProbePath(1, (0, 2)), ProbePath(2, (1, 0)))


def chain(rate: float = 50, window: float = 0.5, match_prob: float = 0.08, seed: int = 1) -> RingScenario:
    predicate = PairHash([(0, 1), (1, 2)], match_prob)
    return RingScenario((RingStream(rate, window),) * 3, predicate, TIMES, CHAIN, duration=2.5, seed=seed)


METHODS: dict[str, Callable[[RingScenario], RingReport]] = {
    "ring": lambda scenario: simulate_ring(scenario, 4),
    "aligned": lambda scenario: simulate_aligned(scenario, 4, segment=1.0),
    "coordinated": lambda scenario: simulate_coordinated(scenario, 4, copies=2, segment=0.1),
}


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_run(method: str) -> None:
    one, other = METHODS[method](chain()), METHODS[method](chain())
    assert one.results == other.results
    assert one.latencies.tolist() == other.latencies.tolist()
    assert (one.memory, one.work, one.sent) == (other.memory, other.work, other.sent)
    assert METHODS[method](chain(seed=2)).results != one.results


def test_the_state_does_not_depend_on_the_ring() -> None:
    """Rate times window rows of each stream, each on one node."""
    reports = [simulate_ring(chain(), nodes, in_flight=1) for nodes in (1, 3, 8)]
    assert reports[0].memory == pytest.approx(3 * 50 * 0.5, rel=0.1)
    for report in reports[1:]:
        assert report.memory == pytest.approx(reports[0].memory, rel=0.01)
    interleaved = simulate_ring(chain(), 8, in_flight=16)
    # Copies that wait for partial results: some, and not for long.
    assert 0 <= interleaved.memory / reports[2].memory - 1 < 0.02


def test_what_travels_on_a_ring() -> None:
    """Each partial result goes round once, a row to the last node, as a probe and, as it ages, to keep."""
    nodes = 5
    report = simulate_ring(chain(), nodes)
    per_row = {kind: count / report.arrived for kind, count in report.sent.items()}
    steps = [Step(50, 0.5, 0.08)] * 2
    assert per_row["probe"] == pytest.approx(nodes - 1, rel=0.02)
    assert per_row["build"] == pytest.approx(nodes - 1, rel=0.05)
    # Each of two ENDs goes round, one of them often on a partial result.
    assert nodes < per_row["end"] < 2 * nodes
    assert per_row["inter"] == pytest.approx(nodes * intermediates(steps), rel=0.15)
    assert report.compared / report.arrived == pytest.approx(central_work(steps, Times(compare=1)), rel=0.15)
    assert report.messages_per_row == pytest.approx(sum(per_row.values()))
    assert report.tuples_per_row == pytest.approx(sum(per_row.values()) - per_row["end"])
    assert len(report.last_rows) / report.arrived == pytest.approx(reaching(steps)[-1], rel=0.25)


def test_work_is_shared_evenly() -> None:
    report = simulate_ring(chain(), 5)
    total = sum(report.work.values())
    expected_work = 5e-5 * report.compared + 5e-6 * report.tuples_per_row * report.arrived
    assert total * 2.0 == pytest.approx(expected_work, rel=0.01)
    assert 1 <= report.imbalance < 1.15


def test_one_node_sends_nothing() -> None:
    report = simulate_ring(chain(), 1)
    assert not report.sent
    assert report.nodes == ((0.0, 1),)


def test_a_ring_that_cannot_keep_up_has_results_later_and_later() -> None:
    slow = replace(chain(), times=replace(TIMES, compare=5e-4))
    report = simulate_ring(slow, 1)
    halves = report.latencies[report.last_rows < 1.2].mean(), report.latencies[report.last_rows > 2].mean()
    assert halves[1] > 2 * halves[0] > 0.1
    steps = [Step(50, 0.5, 0.08)] * 2
    wanted = 3 * 50 * reaching(steps)[-1]
    assert output_rate(steps, slow.times, 1) < wanted < output_rate(steps, slow.times, 8)
    assert simulate_ring(slow, 8).latency < 0.05 * report.latency


def test_more_rows_on_the_ring_keep_nodes_busy() -> None:
    slow = replace(chain(), times=replace(TIMES, compare=2e-4))
    assert simulate_ring(slow, 8).latency < simulate_ring(slow, 8, in_flight=1).latency


def test_copies_of_aligned_routing() -> None:
    """(T + W_s + W_m) / T of each row but the master's, on enough nodes."""
    for segment in (0.5, 1.0):
        report = simulate_aligned(chain(), 12, segment=segment)
        copies = (1 + 2 * (segment + 1.0) / segment) / 3
        assert report.sent["row"] / report.arrived == pytest.approx(copies, rel=0.12)
    # All that one node is given it is given once.
    assert simulate_aligned(chain(), 1, segment=0.5).sent["row"] == report.arrived


def test_copies_of_coordinated_routing() -> None:
    for copies in (1, 3):
        report = simulate_coordinated(chain(), 6, copies=copies, segment=0.1)
        # A segment is kept until its youngest row has outlived its window.
        assert report.memory == pytest.approx(copies * 3 * 50 * (0.5 + 0.1), rel=0.15)
        assert (report.doubled > 0) == (copies > 1)
        assert report.entries > 0


def test_a_cover_takes_the_light_nodes() -> None:
    stored = {1: [0, 1], 2: [0, 1], 3: [2]}
    assert cover([1, 2, 3], stored, [1.0, 0.5, 9.0]) == {1: [1, 2], 2: [3]}
    assert cover([], stored, [1.0]) == {}


# --- Adaptation ---


def doubling(seed: int = 1) -> RingScenario:
    streams = (RingStream(20, 0.5, changes=((2.0, 40),)),) * 3
    predicate = PairHash([(0, 1), (1, 2)], 0.15)
    times = Times(compare=8e-4, send=5e-6, hop=3e-5)
    return RingScenario(streams, predicate, times, CHAIN, duration=4.0, seed=seed)


def later(report: RingReport) -> float:
    return float(report.latencies[report.last_rows > 3].mean())


@pytest.mark.parametrize("moving", ["at once", "gradually"])
def test_a_ring_grows_with_the_rate(moving: str) -> None:
    fixed = simulate_ring(doubling(), 4)
    adaptive = simulate_ring(doubling(), 4, adaptation=Adaptation(0.5, 12, moving=moving))
    assert adaptive.nodes[-1][1] > 6
    assert any(2.0 < second < 3.2 for second, _ in adaptive.nodes)
    assert later(adaptive) < (0.3 if moving == "at once" else 0.7) * later(fixed)
    assert (adaptive.pauses > 0) == (moving == "at once")
    assert Counter(adaptive.results) == Counter(fixed.results)


@pytest.mark.parametrize("moving", ["at once", "gradually"])
def test_a_ring_shrinks_with_the_rate(moving: str) -> None:
    streams = (RingStream(80, 0.4, changes=((2.0, 10),)),) * 2
    scenario = RingScenario(streams, PairHash([(0, 1)], 0.1), replace(TIMES, hop=1e-3), duration=6.0)
    report = simulate_ring(scenario, 7, adaptation=Adaptation(0.5, 10, moving=moving))
    assert report.nodes[-1][1] < 7
    assert Counter(report.results) == Counter(simulate_ring(scenario, 7).results)


def test_smoothing_shares_a_burst() -> None:
    """Without it, all new rows of a burst are on the first nodes until they have aged."""
    streams = (RingStream(20, 2.0, changes=((2.5, 160),)),) * 2
    scenario = RingScenario(streams, PairHash([(0, 1)], 0.02), TIMES, duration=3.2, warmup=2.7)
    fixed = simulate_ring(scenario, 4)
    smooth = simulate_ring(scenario, 4, adaptation=Adaptation(0.05, smoothing=True, moving="never"))
    assert Counter(smooth.results) == Counter(fixed.results)
    assert fixed.imbalance > 2
    assert smooth.imbalance < 1.8


def test_memory_is_that_of_all_nodes() -> None:
    report = simulate_ring(doubling(), 4, adaptation=Adaptation(0.5, 12))
    assert sum(report.node_memory.values()) == pytest.approx(report.memory)
    assert report.memory < report.peak
    assert all(earlier <= next_ for (earlier, _), (next_, _) in pairwise(report.nodes))


# --- What is refused ---


def test_what_cannot_be_simulated() -> None:
    with pytest.raises(InvalidSimulation, match="rate of a stream"):
        RingStream(-1, 1.0)
    with pytest.raises(InvalidSimulation, match="a microsecond or more"):
        RingStream(1, 0.0)
    with pytest.raises(InvalidSimulation, match="counted together"):
        RingStream(1, RowWindow(3, per_key=True))
    with pytest.raises(InvalidSimulation, match="before anything is measured"):
        replace(chain(), duration=0.2)
    with pytest.raises(InvalidSimulation, match="a node or more"):
        simulate_ring(chain(), 0)
    with pytest.raises(InvalidSimulation, match="a node or more"):
        simulate_ring(chain(), [2, 2])
    counted = replace(chain(), streams=(RingStream(5, RowWindow(3)),) * 3)
    with pytest.raises(InvalidSimulation, match="windows of time"):
        simulate_aligned(counted, 2, segment=1.0)
    with pytest.raises(InvalidSimulation, match="must be a node"):
        simulate_aligned(chain(), 2, segment=0.0)
    with pytest.raises(InvalidSimulation, match="different nodes"):
        simulate_coordinated(chain(), 2, copies=3, segment=0.1)
    with pytest.raises(InvalidSimulation, match="cannot adapt"):
        Adaptation(every=0)
    with pytest.raises(InvalidSimulation, match="no slice ends"):
        Adaptation(smoothing=True, moving="gradually")


def test_values_of_rows() -> None:
    """Any function of two values, and any values."""
    streams = (RingStream(30, 0.3, value=lambda random: int(random.integers(5))),) * 2
    same = PairFunction({(0, 1): lambda one, other: one == other})
    scenario = RingScenario(streams, same, TIMES, duration=2.0)
    values = [arrival.value for arrival in scenario.arrivals()]
    report = simulate_ring(scenario, 3)
    assert report.results
    assert all(values[one] == values[other] for one, other in report.results)
