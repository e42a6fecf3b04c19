"""The ring of Wang & Rundensteiner 2009, driven message by message in any order that keeps links in order.

Would catch: a result lost, repeated or made up; a pair compared twice or never; a row on two nodes or on
none; an END that comes too early, or two of them; rows lost while slices and nodes change. The paper taken at
its word, which loses results, is here as subclasses: a check that the checks would see it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.errors import InvalidQuery
from watersmeet.kernel.ring import ring as ring_module
from watersmeet.kernel.ring.join import AgeWindow, Join
from watersmeet.kernel.ring.message import Build, Inter, Message, Probe, Row
from watersmeet.kernel.ring.node import Node, Outcome
from watersmeet.kernel.ring.predicate import Ids, Mask, PairFunction, PairHash, Predicate, Values
from watersmeet.kernel.ring.ring import Ring, equal_ends
from watersmeet.kernel.ring.slice import Slice
from watersmeet.optimize.ring.slicing import relocation
from watersmeet.plan import ProbePath

randoms = st.integers(0, 2**32 - 1).map(Random)
seeded = Random
# Stream and time of each row, in the order they arrive.
History = list[tuple[int, int]]
Combination = tuple[int, ...]


class Noted:
    """A predicate that notes which pairs it was asked about."""

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate
        self.pairs: Counter[tuple[Combination, int]] = Counter()

    def __call__(self, rows: Sequence[Row], stream: int, ids: Ids, values: Values) -> Mask:
        bound = tuple(row.id for row in rows)
        self.pairs.update((bound, id_) for id_ in ids.tolist())
        return self.predicate(rows, stream, ids, values)


def random_join(random: Random, streams: int, *, rows: bool = True) -> Join:
    """Windows of time and of rows, any order, a tree of conditions and perhaps one more."""
    windows = tuple(
        AgeWindow(random.randint(1, 4), rows=True)
        if rows and random.random() < 0.3
        # Some are far longer than others.
        else AgeWindow(random.choice([1, 3, 8, 15, 30]))
        for _ in range(streams)
    )
    edges = [(random.randrange(stream), stream) for stream in range(1, streams)]
    paths = []
    for head in range(streams):
        others = [stream for stream in range(streams) if stream != head]
        random.shuffle(others)
        paths.append(ProbePath(head, tuple(others)))
    return Join(windows, tuple(paths), Noted(PairHash(edges, random.choice([0.3, 0.6, 1.0]), seed=7)))


def random_history(random: Random, streams: int, count: int) -> History:
    """Rows that often share a time, and sometimes leave a gap in which windows empty."""
    found, now = [], 0
    for _ in range(count):
        now += random.choice([0, 0, 1, 1, 2, 3]) if random.random() > 0.04 else 25
        found.append((random.randrange(streams), now))
    return sorted(found, key=lambda row: row[1])


def random_ends(random: Random, join: Join, nodes: int) -> list[list[int]]:
    """Any slices: windows on fewer nodes than there are, empty slices, slices that end before they begin."""
    return [[random.randint(0, window.length) for window in join.windows] for _ in range(nodes)]


def reference(join: Join, history: History) -> Counter[Combination]:
    """Every combination whose last row finds all others alive, by the definition."""
    placed: list[Row] = []
    counts = [0] * join.streams
    found: Counter[Combination] = Counter()
    for id_, (stream, time) in enumerate(history):
        last = Row(stream, id_, counts[stream] if join.windows[stream].rows else time)
        counts[stream] += 1
        combinations = [(last,)]
        for other, window in enumerate(join.windows):
            if other == stream:
                continue
            alive = [
                row
                for row in placed
                if row.stream == other
                and (counts[other] - 1 if window.rows else time) - row.place < window.length
            ]
            combinations = [(*rows, row) for rows in combinations for row in alive if match(join, rows, row)]
        found.update(tuple(row.id for row in sorted(rows)) for rows in combinations)
        placed.append(last)
    return found


def match(join: Join, rows: Sequence[Row], row: Row) -> bool:
    predicate = join.predicate
    assert isinstance(predicate, Noted)
    ids = np.array([row.id])
    return bool(predicate.predicate(rows, row.stream, ids, ids.astype(object))[0])


class Host:
    """Carries messages in an order of its own: any node with something to do may be the next to do it."""

    def __init__(self, ring: Ring, random: Random) -> None:
        self.ring, self.random = ring, random
        # What a node has sent, and what it has been given; with the hops a message has made.
        self.sent: dict[int, deque[tuple[Message, int]]] = defaultdict(deque)
        self.inbox: dict[int, deque[tuple[Message, int]]] = defaultdict(deque)
        self.results: Counter[Combination] = Counter()
        self.most_hops = 0
        self.watch: Callable[[Node, Message], None] = lambda node, message: None
        self.watch_after: Callable[[Node, Message, Outcome], None] = lambda node, message, outcome: None

    def run(self, history: History, disturb: Callable[[], None] = lambda: None) -> Counter[Combination]:
        rows = deque(history)
        while rows or self.busy or self.ring.waiting:
            if rows and (self.random.random() < 0.2 or not self.busy):
                self.ring.arrive(*rows.popleft())
            self.enter()
            self.step()
            disturb()
        assert self.ring.idle
        return self.results

    @property
    def busy(self) -> bool:
        return any(self.sent.values()) or any(self.inbox.values())

    def enter(self) -> None:
        self.inbox[self.ring.nodes[0].number].extend((message, 0) for message in self.ring.admit())

    def step(self) -> None:
        able = [
            (node, box) for node in self.ring.nodes for box in (self.sent, self.inbox) if box[node.number]
        ]
        if not able:
            return
        node, box = self.random.choice(able)
        message, hops = box[node.number].popleft()
        if box is self.sent:
            self.inbox[self.ring.next(node).number].append((message, hops + 1))
            return
        self.watch(node, message)
        outcome = node.handle(message)
        self.watch_after(node, message, outcome)
        self.sent[node.number].extend((each, hops) for each in (*outcome.forwarded, *outcome.found))
        for result in outcome.results:
            self.results[tuple(row.id for row in result)] += 1
            self.most_hops = max(self.most_hops, hops)
        self.ring.settle(outcome)

    def drain(self) -> None:
        """Let nobody in until nobody is on the ring."""
        self.ring.paused = True
        while self.busy:
            self.step()
        self.ring.paused = False

    @property
    def on_the_way(self) -> list[Message]:
        return [m for box in (self.sent, self.inbox) for queue in box.values() for m, _ in queue]


def pairs_of_definition(join: Join, history: History) -> Counter[tuple[Combination, int]]:
    """What one node that does everything would compare."""
    assert isinstance(join.predicate, Noted)
    join.predicate.pairs.clear()
    Host(Ring(join, equal_ends(join, 1)), seeded(0)).run(history)
    found = Counter(join.predicate.pairs)
    join.predicate.pairs.clear()
    return found


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


def two_streams(window: int) -> Join:
    paths = (ProbePath(0, (1,)), ProbePath(1, (0,)))
    return Join((AgeWindow(window), AgeWindow(window)), paths, PairHash([(0, 1)], 1.0))


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


# --- Moving rows at once ---


def ring_of(nodes: int, rows: int) -> Ring:
    """A window that is exactly full of evenly spaced rows, ages 0 to rows - 1."""
    join = two_streams(window=rows)
    ring = Ring(join, equal_ends(join, nodes))
    host = Host(ring, seeded(0))
    host.run([(0, time) for time in range(2 * rows)])
    return ring


@pytest.mark.parametrize(("nodes", "added"), [(3, 1), (3, 2), (1, 2), (2, 1), (4, 3), (5, 5), (7, 4)])
def test_more_nodes_and_fewer_again(nodes: int, added: int) -> None:
    """Rows move as Sect. 6 has it: 1/3 and 2/3 of a new slice for 3 -> 4, and one fills the new node."""
    rows = 4 * nodes * (nodes + added)
    ring, plan = ring_of(nodes, rows), relocation(nodes, added)
    old = list(ring.nodes)
    ends = equal_ends(ring.join, nodes + added)
    for count, after in enumerate(plan.after):
        ring.insert(after + count, ends[after + count])
    moves = ring.arrange(ring.nodes, ends)
    unit = rows // (nodes + added)
    fresh = [node for node in ring.nodes if node not in old]
    flows = [moves[one.number, other.number] for one, other in pairwise(old)]
    assert [Fraction(flow, unit) for flow in flows] == list(plan.flows[:-1])
    assert [
        moves[old[after - 1].number, node.number] for node, after in zip(fresh, plan.after, strict=True)
    ] == [unit] * added
    assert moves.total() == sum(flows) + added * unit
    assert [len(node.slices[0]) for node in ring.nodes] == [unit] * (nodes + added)

    back = ring.arrange(old, equal_ends(ring.join, nodes))
    assert back == Counter({(there, here): count for (here, there), count in moves.items()})
    assert [len(node.slices[0]) for node in ring.nodes] == [rows // nodes] * nodes


def test_three_nodes_become_four_and_five() -> None:
    ring = ring_of(3, 60)
    ring.insert(3, [60, 60])
    assert ring.arrange(ring.nodes, equal_ends(ring.join, 4)) == {(0, 1): 5, (1, 2): 10, (2, 3): 15}
    ring = ring_of(3, 60)
    ring.insert(2, [60, 60])
    ring.insert(4, [60, 60])
    assert [node.number for node in ring.nodes] == [0, 1, 3, 2, 4]
    moves = ring.arrange(ring.nodes, equal_ends(ring.join, 5))
    assert moves == {(0, 1): 8, (1, 3): 12, (1, 2): 4, (2, 4): 12}


def test_changes_that_would_lose_rows_are_refused() -> None:
    join = two_streams(window=10)
    ring = Ring(join, equal_ends(join, 2))
    ring.arrive(0, 0)
    assert ring.admit()
    with pytest.raises(InvalidQuery, match="partial results look for them"):
        ring.arrange(ring.nodes[:1], [[10, 10]])
    with pytest.raises(InvalidQuery, match="head of a ring"):
        ring.insert(0, [10, 10])
    with pytest.raises(InvalidQuery, match="no nodes"):
        Ring(join, [])
    with pytest.raises(InvalidQuery, match="takes no rows"):
        Ring(join, equal_ends(join, 2), in_flight=0)
    with pytest.raises(InvalidQuery, match="described in part"):
        Join(join.windows, join.paths[:1], join.predicate)
    with pytest.raises(InvalidQuery, match="holds no row"):
        Join((AgeWindow(0), AgeWindow(1)), join.paths, join.predicate)
    with pytest.raises(InvalidQuery, match="match probability"):
        PairHash([(0, 1)], 1.5)


def test_a_slice_grows_and_shrinks() -> None:
    """Positions stay what they are, whatever room is made."""
    part, random = Slice(), seeded(3)
    for id_ in range(500):
        part.append(Row(0, id_, id_, value=str(id_)))
        if random.random() < 0.6:
            part.move(random.randint(0, len(part)))
            part.release(random.randint(part.first, part.moved))
        ids, values = part.view(part.first, part.next)
        assert ids.tolist() == list(range(part.first, id_ + 1))
        assert [*map(int, values)] == ids.tolist()
        assert [part.row(position).id for position in range(part.first, part.next)] == ids.tolist()
        assert [row.id for row in part.held] == ids.tolist()[part.copies :]


# --- The paper taken at its word ---


class DropsBeforeComparing(Node):
    """Steps 2-2 and 3-1 as printed: what is dropped is not compared."""

    def _compare(self, rows: tuple[Row, ...], arrived: int, outcome: Outcome) -> None:
        if outcome.forwarded and not isinstance(outcome.forwarded[-1], Build):
            super()._compare(rows, arrived, outcome)


class ForgetsEarly(Node):
    """Marks dropped with END number M - 2."""

    def _inter(self, message: Inter) -> Outcome:
        outcome = super()._inter(message)
        if message.end == self._last_end - 1:
            self._forget(message.input)
        return outcome


class TrustsTheTail(Node):
    """Limits by number, and only the last node looks at ages."""

    def _purge(self, stream: int, clock: int, outcome: Outcome) -> None:
        if self.tail:
            super()._purge(stream, clock, outcome)
        else:
            rows = self.slices[stream].move(max(0, len(self.slices[stream]) - 2))
            outcome.forwarded += map(Build, rows)


@pytest.mark.parametrize("literal", [DropsBeforeComparing, ForgetsEarly, TrustsTheTail])
def test_the_paper_at_its_word_is_wrong(literal: type[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    """And the same run with our nodes is right."""

    def run(node: type[Node]) -> tuple[Counter[Combination], Counter[Combination]]:
        monkeypatch.setattr(ring_module, "Node", node)
        ring = Ring(join, equal_ends(join, 4), in_flight=3)
        for each in ring.nodes:
            each.limits = [2, 2, 2]
        found = Host(ring, seeded(5)).run(history)
        return found - expected, expected - found

    join = three_streams()
    history = random_history(seeded(4), 3, 150)
    expected = reference(join, history)
    assert run(Node) == (Counter(), Counter())
    more, less = run(literal)
    # A row that has outlived its window makes results that are none.
    assert more if literal is TrustsTheTail else less


def three_streams() -> Join:
    paths = (ProbePath(0, (1, 2)), ProbePath(1, (2, 0)), ProbePath(2, (0, 1)))
    return Join((AgeWindow(12),) * 3, paths, Noted(PairHash([(0, 1), (1, 2)], 0.6)))
