"""Plans for random join graphs, run as Spark runs them but without Spark, against two oracles.

Would catch: a combination lost or doubled between operators, an equality that no operator sees to, a
condition judged too early or not at all, a window derived too short, a replicated row that meets its partner
in two buckets, state that expires while an intermediate result can still come.
"""

import os
from random import Random

import pytest

from harness.graphs import (
    SECOND,
    SHAPES,
    GraphQuery,
    equality,
    in_batches,
    near,
    on_time,
    random_events,
    random_query,
)
from harness.tree import Tree
from oracles import graph
from oracles.graph import Event, Events, LastRows
from oracles.reference import Hops, assert_same_rows, watermarks
from watersmeet.optimize.choose import choose_plan
from watersmeet.plan import Plan
from watersmeet.plan.plan import operators
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly

SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))
# Rows per stream: few enough for nested loops over all combinations.
ROWS = {2: 60, 3: 24, 4: 12, 5: 8, 6: 6}


def plan_of(query: GraphQuery, buckets: int, lateness: int = 0) -> Plan:
    kept = [f"s{i}.value" for i in range(len(query.windows))]
    made = join_query(query.streams(lateness), query.texts, kept, "inner", ColumnsOnly(), cross=True)
    return choose_plan(made, buckets=buckets)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("streams", [2, 3, 4, 5, 6])
def test_plans_equal_both_oracles(shape: str, streams: int) -> None:
    random = Random(f"{SEED} {shape} {streams}")  # noqa: S311
    found = shapes = 0
    for number in range(10):
        query = random_query(random, shape, streams, tumbling=0.7 * (number % 2))
        rows = random_events(random, streams, ROWS[streams])
        everything = [Events(window, events) for window, events in zip(query.windows, rows, strict=True)]
        expected = graph.join(everything, query.conditions)
        assert_same_rows(graph.duck_join(everything, query.conditions), expected)
        plan = plan_of(query, buckets=random.choice([1, 2, 5]))
        tree = Tree(plan, stored=random.random() < 0.3)
        for batch in in_batches(random, rows, random.randint(1, 5), disorder=30):
            tree.batch(batch)
        assert_same_rows(tree.results, expected)
        found += len(expected)
        shapes += len(operators(plan.root))
    assert found > 20
    assert streams == 2 or shapes > 10


@pytest.mark.parametrize("streams", [2, 3, 4])
def test_slots_that_overlap_through_all_operators(streams: int) -> None:
    """Every link has an equality, so that every operator has a key, and the slot in it."""
    random = Random(f"{SEED} hops {streams}")  # noqa: S311
    found = shapes = 0
    for shape in SHAPES * 4:
        hop = random.choice([1, 2, 5])
        window = Hops(hop * random.randint(1, 4), hop)
        drawn = random_query(random, shape, streams)
        links = [equality(i, random.choice("xy"), i + 1, "x") for i in range(streams - 1)]
        query = GraphQuery((window,) * streams, (*links, *drawn.conditions))
        rows = random_events(random, streams, ROWS[streams], span=25)
        batches = in_batches(random, rows, random.randint(1, 6), disorder=8)
        scaled = [[[e._replace(ts=e.ts * SECOND) for e in events] for events in b] for b in batches]
        under = watermarks(scaled, [0] * streams, unit=1000)
        kept = on_time(batches, 0, query.windows)
        expected = graph.join(kept, query.conditions)
        assert_same_rows(graph.duck_join(kept, query.conditions), expected)
        plan = plan_of(query, buckets=random.choice([1, 2, 5]))
        tree = Tree(plan, stored=random.random() < 0.3, adaptive=random.random() < 0.5)
        for batch, watermark in zip(batches, under, strict=True):
            tree.batch(batch, watermark)
        assert_same_rows(tree.results, expected)
        found += len(expected)
        shapes += len(operators(plan.root))
        tree.batch([[] for _ in range(streams)], 10_000 * SECOND)
        assert tree.held() == 0
    assert found > 20
    assert streams == 2 or shapes > 16


@pytest.mark.parametrize(("streams", "span"), [(3, 25), (5, 14)])
def test_under_watermarks_nothing_that_can_still_meet_is_let_go(streams: int, span: int) -> None:
    random = Random(f"{SEED} watermarks {streams}")  # noqa: S311
    found = dropped = 0
    for number, shape in enumerate(SHAPES * 10):
        query = random_query(random, shape, streams, tumbling=0.7 * (number % 3 == 0))
        lateness, disorder = random.choice([(0, 0), (2, 2), (0, 8)])
        rows = random_events(random, streams, ROWS[streams], span=span)
        batches = in_batches(random, rows, random.randint(4, 8), disorder)
        scaled = [[[e._replace(ts=e.ts * SECOND) for e in events] for events in b] for b in batches]
        under = watermarks(scaled, [lateness * SECOND] * streams, unit=1000)
        kept = on_time(batches, lateness, query.windows)
        expected = graph.join(kept, query.conditions)
        tree = Tree(plan_of(query, buckets=2, lateness=lateness))
        for batch, watermark in zip(batches, under, strict=True):
            tree.batch(batch, watermark)
        assert_same_rows(tree.results, expected)
        found += len(expected)
        dropped += sum(map(len, rows)) - sum(len(events.rows) for events in kept)
        tree.batch([[] for _ in range(streams)], 10_000 * SECOND)
        assert tree.held() == 0
    assert found > 50
    assert dropped > 4


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("streams", [2, 3, 4])
def test_windows_of_rows_equal_both_oracles(shape: str, streams: int) -> None:
    """Some windows count all rows of their stream; rows that are never in a result count too."""
    random = Random(f"{SEED} rows {shape} {streams}")  # noqa: S311
    found = 0
    for number in range(8):
        plain = random_query(random, shape, streams, tumbling=0.7 * (number % 2))
        query = with_row_windows(random, plain)
        rows = random_events(random, streams, ROWS[streams])
        everything = [Events(window, events) for window, events in zip(query.windows, rows, strict=True)]
        expected = graph.join(everything, query.conditions)
        assert_same_rows(graph.duck_join(everything, query.conditions), expected)
        tree = Tree(plan_of(query, buckets=random.choice([1, 3])), stored=random.random() < 0.3)
        for batch in in_batches(random, rows, random.randint(1, 4), disorder=30):
            tree.batch(batch)
        assert tree.results == []
        tree.batch([[] for _ in rows], until=1 << 62)
        assert_same_rows(tree.results, expected)
        found += len(expected)
    assert found > 20


@pytest.mark.parametrize("count", [1, 2, 5])
def test_windows_of_rows_per_key(count: int) -> None:
    random = Random(f"{SEED} per key {count}")  # noqa: S311
    found = 0
    for streams in (2, 3, 4) * 3:
        windows = [
            LastRows(count, "x"),
            *(random.choice([LastRows(count, "x"), 4]) for _ in range(streams - 1)),
        ]
        random.shuffle(windows)
        shared = tuple(equality(i, "x", i + 1, "x") for i in range(streams - 1))
        query = GraphQuery(tuple(windows), (*shared, near(0, 1, 2)))
        rows = random_events(random, streams, ROWS[streams])
        batches = in_batches(random, rows, random.randint(3, 6), disorder=random.choice([0, 3]))
        check_up_to_the_watermark(query, batches, lateness=random.choice([0, 3]))
        found += len(graph.join(on_time(batches, 0, query.windows), query.conditions))
    assert found > 50


def test_windows_of_rows_under_watermarks() -> None:
    """Results leave with the batch whose watermark has passed them, and none after it."""
    random = Random(f"{SEED} rows under watermarks")  # noqa: S311
    for number, shape in enumerate(SHAPES * 5):
        streams = random.choice([2, 3, 4])
        plain = random_query(random, shape, streams, tumbling=0.7 * (number % 2))
        query = with_row_windows(random, plain)
        rows = random_events(random, streams, ROWS[streams], span=25)
        batches = in_batches(random, rows, random.randint(3, 8), disorder=random.choice([0, 3, 8]))
        check_up_to_the_watermark(query, batches, lateness=random.choice([0, 3]))


def with_row_windows(random: Random, query: GraphQuery) -> GraphQuery:
    """The same query with some of its windows counted; those left to conditions stay so."""
    windows = [
        LastRows(random.choice([1, 2, 4, 9])) if window is not None and random.random() < 0.6 else window
        for window in query.windows
    ]
    if not any(isinstance(window, LastRows) for window in windows):
        windows[random.randrange(len(windows))] = LastRows(random.choice([1, 3]))
    return GraphQuery(tuple(windows), query.conditions)


def check_up_to_the_watermark(query: GraphQuery, batches: list[list[list[Event]]], lateness: int) -> None:
    streams = len(query.windows)
    scaled = [[[e._replace(ts=e.ts * SECOND) for e in events] for events in b] for b in batches]
    under = watermarks([*scaled, [[] for _ in range(streams)]], [lateness * SECOND] * streams, unit=1000)
    expected = graph.join(on_time(batches, lateness, query.windows), query.conditions)
    tree = Tree(plan_of(query, buckets=2, lateness=lateness))
    for batch, watermark in zip([*batches, [[] for _ in range(streams)]], under, strict=True):
        tree.batch(batch, watermark)
        reached = -1 if watermark is None else watermark
        assert_same_rows(tree.results, [row for row in expected if row[-1] * SECOND <= reached])
