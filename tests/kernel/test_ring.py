"""The ring of Wang & Rundensteiner 2009, driven message by message in any order that keeps links in order.

Would catch: a result lost, repeated or made up; a pair compared twice or never; a row on two nodes or on
none; an END that comes too early, or two of them; rows lost while slices and nodes change.
"""

from collections import Counter, defaultdict
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from harness.ring import (
    Host,
    Noted,
    pairs_of_definition,
    random_ends,
    random_history,
    random_join,
    randoms,
    reference,
    seeded,
    three_streams,
    two_streams,
)
from watersmeet.kernel.ring.join import AgeWindow, Join
from watersmeet.kernel.ring.message import Build, Inter, Message, Probe, Row
from watersmeet.kernel.ring.node import Node, Outcome
from watersmeet.kernel.ring.predicate import PairFunction
from watersmeet.kernel.ring.ring import Ring, equal_ends
from watersmeet.plan import ProbePath


@given(randoms, st.integers(2, 5), st.integers(1, 8), st.integers(1, 6), st.booleans())
def test_results_are_those_of_the_definition(
    random: Random, streams: int, nodes: int, in_flight: int, early: bool
) -> None:
    """One row on the ring or several, any slices; and every pair is compared exactly once."""
    join = random_join(random, streams)
    history = random_history(random, streams, 28)
    pairs = pairs_of_definition(join, history)
    assert isinstance(join.predicate, Noted)
    ring = Ring(join, random_ends(random, join, nodes), in_flight=in_flight, early=early)
    host = Host(ring, random)
    assert host.run(history) == reference(join, history)
    assert set(join.predicate.pairs.values()) <= {1}
    assert join.predicate.pairs == pairs
    assert host.most_hops <= (streams - 1) * nodes


@given(randoms, st.integers(2, 4), st.integers(1, 5), st.booleans())
def test_anything_may_change_at_any_time(random: Random, streams: int, in_flight: int, early: bool) -> None:
    """Slice ends of one node, limits, nodes that are put in, all uncoordinated; nodes that go in a pause."""
    join = random_join(random, streams)
    history = random_history(random, streams, 40)
    ring = Ring(join, random_ends(random, join, random.randint(1, 4)), in_flight=in_flight, early=early)
    host = Host(ring, random)

    def disturb() -> None:
        dice = random.random()
        if dice < 0.05:
            random.choice(ring.nodes).ends = random_ends(random, join, 1)[0]
        elif dice < 0.08:
            limits = [random.choice([None, 0, 1, 3]) for _ in join.windows]
            random.choice(ring.nodes).limits = limits
        elif dice < 0.1 and len(ring.nodes) < 8:
            ring.insert(random.randint(1, len(ring.nodes)), random_ends(random, join, 1)[0])
        elif dice < 0.115:
            host.drain()
            left = [node for node in ring.nodes[1:] if random.random() < 0.7]
            ring.arrange([ring.nodes[0], *left], random_ends(random, join, 1 + len(left)))

    assert host.run(history, disturb) == reference(join, history)


@given(randoms, st.integers(2, 4), st.integers(1, 6), st.integers(1, 4))
def test_rows_are_where_their_age_says(random: Random, streams: int, nodes: int, in_flight: int) -> None:
    """Property 1 of the paper, before and after every probe."""
    join = random_join(random, streams)
    ends = equal_ends(join, nodes)
    ring = Ring(join, ends, in_flight=in_flight)
    host = Host(ring, random)

    def ages(node: Node, probe: Probe) -> list[tuple[int, int]]:
        return [
            (stream, probe.clocks[stream] - row.place)
            for stream, part in enumerate(node.slices)
            for row in part.held
            # Rows of the same time may have come behind it.
            if row.id <= probe.row.id
        ]

    def before(node: Node, message: Message) -> None:
        if isinstance(message, Probe):
            place = ring.nodes.index(node)
            for earlier in ring.nodes[:place]:
                for stream, age in ages(earlier, message):
                    assert age < ends[place - 1][stream]

    def after(node: Node, message: Message, _: Outcome) -> None:
        if isinstance(message, Probe):
            place = ring.nodes.index(node)
            for stream, age in ages(node, message):
                assert age < ends[place][stream]
                assert place == 0 or age >= ends[place - 1][stream]

    host.watch, host.watch_after = before, after
    host.run(random_history(random, streams, 40))


@given(randoms, st.integers(2, 4), st.integers(1, 6))
def test_one_row_at_a_time_needs_no_copies(random: Random, streams: int, nodes: int) -> None:
    """Basic PSP: what nodes hold are the rows alive, each once, however many nodes there are."""
    join = random_join(random, streams)
    ring = Ring(join, equal_ends(join, nodes))
    host = Host(ring, random)
    history = random_history(random, streams, 30)
    counts = [0] * streams
    places: list[tuple[int, int]] = []
    for stream, time in history:
        places.append((stream, counts[stream] if join.windows[stream].rows else time))
        counts[stream] += 1
        ring.arrive(stream, time)
        host.enter()
        while host.busy:
            host.step()
        clocks = [c - 1 if window.rows else time for c, window in zip(counts, join.windows, strict=True)]
        alive = Counter(
            id_ for id_, (s, place) in enumerate(places) if clocks[s] - place < join.windows[s].length
        )
        held = Counter(row.id for node in ring.nodes for part in node.slices for row in part.held)
        assert held == alive
        assert sum(node.held for node in ring.nodes) == alive.total()


@given(randoms, st.integers(2, 5), st.integers(1, 6), st.integers(1, 4))
def test_each_row_has_one_end_on_the_way(random: Random, streams: int, nodes: int, in_flight: int) -> None:
    """From 1 to M - 1, and when the last has come round nothing else of the row is left."""
    join = random_join(random, streams)
    host = Host(Ring(join, equal_ends(join, nodes), in_flight=in_flight), random)
    seen: dict[int, list[int]] = defaultdict(list)

    def after(node: Node, message: Message, outcome: Outcome) -> None:
        for each in (*outcome.forwarded, *outcome.found):
            if isinstance(each, Inter) and each.end and each.born == node.number:
                seen[each.input].append(each.end)
        ends = Counter(m.input for m in host.on_the_way if isinstance(m, Inter) and m.end)
        ends.update(m.input for m in (*outcome.forwarded, *outcome.found) if isinstance(m, Inter) and m.end)
        assert set(ends.values()) <= {1}
        assert len(ends) <= in_flight
        if outcome.finished is not None:
            assert outcome.finished not in ends
            left = [m for m in host.on_the_way if isinstance(m, Inter) and m.input == outcome.finished]
            assert not left
            assert not any(outcome.finished in node.marks for node in host.ring.nodes)

    host.watch_after = after
    host.run(random_history(random, streams, 20))
    assert len(seen) == 20
    assert all(ends == list(range(1, streams)) for ends in seen.values())


def test_one_node_is_a_local_join() -> None:
    """All of a row's results before the next row, and as many pairs as nested loops compare."""
    join = three_streams()
    history = random_history(seeded(2), 3, 60)
    ring = Ring(join, equal_ends(join, 1))
    host = Host(ring, seeded(0))
    for count, (stream, time) in enumerate(history, 1):
        ring.arrive(stream, time)
        host.enter()
        while host.busy:
            host.step()
        assert host.results == reference(join, history[:count])
    assert isinstance(join.predicate, Noted)
    partial = Counter(len(bound) for bound, _ in join.predicate.pairs)
    alive = sum(
        other == join.paths[stream].order[0] and time - then < 12
        for number, (stream, time) in enumerate(history)
        for other, then in history[:number]
    )
    assert partial[1] == alive


def test_partial_results_say_what_they_bind() -> None:
    node = Node(3, three_streams(), ends=[12, 12, 12])
    for id_ in range(8):
        node.handle(Build(Row(1, id_, id_)))
    found = node.handle(Probe(Row(0, 8, 8), (8, 8, 8))).found
    assert found
    assert {(inter.schema, inter.born, inter.input, inter.end) for inter in found} == {
        (frozenset({0, 1}), 3, 8, 0)
    }


def test_purged_rows_go_before_the_row_that_purged_them() -> None:
    """The oldest first, and none to a node behind the last: it discards them."""
    join = two_streams(window=10)
    node = Node(0, join, ends=[4, 4])
    for id_, time in enumerate([0, 1, 5]):
        node.handle(Build(Row(1, id_, time)))
    probe = Probe(Row(0, 3, 6), (6, 6))
    outcome = node.handle(probe)
    assert [m.row.place for m in outcome.forwarded[:2] if isinstance(m, Build)] == [0, 1]
    assert outcome.forwarded[2] == probe
    node.tail = True
    assert not node.handle(Probe(Row(0, 4, 15), (15, 15))).forwarded


def test_functions_of_values() -> None:
    join = Join(
        (AgeWindow(10),) * 3,
        (ProbePath(0, (1, 2)), ProbePath(1, (2, 0)), ProbePath(2, (0, 1))),
        PairFunction({(0, 1): lambda one, other: one < other, (2, 1): lambda one, other: one == other[::-1]}),
    )
    ring = Ring(join, equal_ends(join, 3))
    host = Host(ring, seeded(1))
    for time, (stream, value) in enumerate([(0, "ab"), (1, "ac"), (2, "ca"), (1, "aa"), (2, "aa")]):
        ring.arrive(stream, time, value)
    while host.busy or ring.waiting:
        host.enter()
        host.step()
    assert set(host.results) == {(0, 1, 2)}
