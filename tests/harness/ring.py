"""Rings and histories at random, and a host that delivers messages in any order that keeps links in order."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from hypothesis import strategies as st

from watersmeet.kernel.ring.join import AgeWindow, Join
from watersmeet.kernel.ring.message import Message, Row
from watersmeet.kernel.ring.node import Node, Outcome
from watersmeet.kernel.ring.predicate import Ids, Mask, PairHash, Predicate, Values
from watersmeet.kernel.ring.ring import Ring, equal_ends
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


def two_streams(window: int) -> Join:
    paths = (ProbePath(0, (1,)), ProbePath(1, (0,)))
    return Join((AgeWindow(window), AgeWindow(window)), paths, PairHash([(0, 1)], 1.0))


def three_streams() -> Join:
    paths = (ProbePath(0, (1, 2)), ProbePath(1, (2, 0)), ProbePath(2, (0, 1)))
    return Join((AgeWindow(12),) * 3, paths, Noted(PairHash([(0, 1), (1, 2)], 0.6)))
