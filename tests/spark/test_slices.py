"""Joins without a key, run as Spark runs them but without Spark, against two oracles.

Would catch: a pair compared twice or never, slices that do not agree who stores a row, rows lost when their
number changes or a batch brings none, a row stored in two slices, a function asked about nulls or too early,
segments that miss a partner.
"""

import os
from datetime import timedelta
from random import Random

import numpy as np
import pytest

from harness.graphs import (
    SECOND,
    SHAPES,
    GraphQuery,
    equality,
    function,
    function_of_three,
    in_batches,
    on_time,
    random_events,
    random_query,
)
from harness.tree import Tree
from oracles import graph
from oracles.graph import Event, Events, LastRows
from oracles.reference import assert_same_rows, watermarks
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.plan import Plan
from watersmeet.plan.plan import operators
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly

SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))
ROWS = {2: 60, 3: 24, 4: 12, 5: 8}
ROUTINGS = ("sliced", "replicated", "aligned")


def plan_of(query: GraphQuery, buckets: int, planning: Planning, lateness: int = 0) -> Plan:
    kept = [f"s{i}.value" for i in range(len(query.windows))]
    made = join_query(query.streams(lateness), query.texts, kept, "inner", ColumnsOnly(), cross=True)
    return choose_plan(made, buckets=buckets, planning=planning)


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("streams", [2, 3, 4, 5])
def test_functions_and_other_conditions_equal_both_oracles(routing: str, streams: int) -> None:
    random = Random(f"{SEED} {routing} {streams}")  # noqa: S311
    found = sliced = 0
    for number, shape in enumerate(SHAPES * 2):
        query = random_query(random, shape, streams, functions=0.6, tumbling=0.7 * (number % 2))
        rows = random_events(random, streams, ROWS[streams])
        everything = [Events(window, events) for window, events in zip(query.windows, rows, strict=True)]
        expected = graph.join(everything, query.conditions)
        assert_same_rows(graph.duck_join(everything, query.conditions), expected)
        segment = timedelta(seconds=random.choice([1, 7, 40]))
        plan = plan_of(query, random.randint(1, 8), Planning(routing=routing, segment=segment))
        tree = Tree(plan, stored=random.random() < 0.3, adaptive=random.random() < 0.5)
        for batch in in_batches(random, rows, random.randint(1, 5), disorder=30):
            tree.share_among(random.randint(1, plan.buckets))
            tree.batch(batch)
        assert_same_rows(tree.results, expected)
        found += len(expected)
        sliced += sum(operator.sliced for operator in operators(plan.root))
    assert found > 10
    assert (sliced > 0) == (routing == "sliced")


@pytest.mark.parametrize("streams", [2, 3, 4])
def test_slices_under_watermarks(streams: int) -> None:
    """Late rows, batches without rows, and slices that come and go."""
    random = Random(f"{SEED} watermarks {streams}")  # noqa: S311
    found = 0
    for number in range(12):
        query = random_query(random, "chain", streams, functions=0.8, tumbling=0.7 * (number % 2))
        lateness, disorder = random.choice([(0, 0), (2, 2), (0, 8)])
        rows = random_events(random, streams, ROWS[streams], span=25)
        batches = in_batches(random, rows, random.randint(4, 8), disorder)
        batches.insert(random.randrange(len(batches)), [[] for _ in range(streams)])
        scaled = [[[e._replace(ts=e.ts * SECOND) for e in events] for events in b] for b in batches]
        under = watermarks(scaled, [lateness * SECOND] * streams, unit=1000)
        expected = graph.join(on_time(batches, lateness, query.windows), query.conditions)
        plan = plan_of(query, random.randint(1, 8), Planning(), lateness)
        tree = Tree(plan)
        for batch, watermark in zip(batches, under, strict=True):
            tree.share_among(random.randint(1, plan.buckets))
            tree.batch(batch, watermark)
        assert_same_rows(tree.results, expected)
        found += len(expected)
        tree.batch([[] for _ in range(streams)], 10_000 * SECOND)
        assert tree.held() == 0
    assert found > 20


@pytest.mark.parametrize("streams", [2, 3])
def test_windows_of_rows_in_slices(streams: int) -> None:
    random = Random(f"{SEED} rows {streams}")  # noqa: S311
    found = 0
    for _ in range(10):
        windows = [random.choice([LastRows(random.choice([1, 3, 9])), 4]) for _ in range(streams)]
        windows[0] = LastRows(4)
        links = tuple(function(i, i + 1, random.randint(0, 2)) for i in range(streams - 1))
        query = GraphQuery(tuple(windows), links)
        rows = random_events(random, streams, ROWS[streams])
        everything = [Events(window, events) for window, events in zip(query.windows, rows, strict=True)]
        expected = graph.join(everything, query.conditions)
        plan = plan_of(query, random.randint(1, 5), Planning())
        assert all(operator.sliced for operator in operators(plan.root))
        tree = Tree(plan, stored=random.random() < 0.3)
        for batch in in_batches(random, rows, random.randint(1, 4), disorder=30):
            tree.batch(batch)
        tree.batch([[] for _ in rows], until=1 << 62)
        assert_same_rows(tree.results, expected)
        found += len(expected)
    assert found > 10


def test_a_function_of_three_streams() -> None:
    random = Random(f"{SEED} three")  # noqa: S311
    for link in ((), (function(0, 1, 1),), (equality(0, "x", 1, "x"),)):
        query = GraphQuery((5, 5, 5), (*link, function_of_three(0, 1, 2, 3)))
        rows = random_events(random, 3, 20)
        expected = graph.join([Events(5, events) for events in rows], query.conditions)
        tree = Tree(plan_of(query, 4, Planning()))
        for batch in in_batches(random, rows, 3, disorder=5):
            tree.batch(batch)
        assert_same_rows(tree.results, expected)
        assert expected


def test_no_row_is_stored_twice_and_slices_stay_even_when_rates_change() -> None:
    """Rows of one stream come twenty times as fast for a while; after every batch all slices hold as many."""
    query = GraphQuery((20, 20), (function(0, 1, 0),))
    plan = plan_of(query, 8, Planning())
    tree = Tree(plan)
    now = 0
    for number, rate in enumerate([5] * 10 + [100] * 10 + [5] * 20):
        batch = [
            [Event(now + n % 4, 0, 0, 0, 7 * s, n) for n in range(4 * rate)]
            for s in range(len(query.windows))
        ]
        now += 4
        tree.batch(batch, (now - 5) * SECOND)
        ((left, right),) = tree.loads()
        for loads in (left, right):
            # Equal times come in whole: of four instants a batch has, each is a twentieth of the window.
            assert max(loads) - min(loads) <= 4 * rate / 8 + 2, (number, loads)
        # A window, a batch, and what a slice of the window that is not empty yet keeps.
        assert sum(left) <= (20 + 4 + 4) * max(rate, 100 if number < 27 else 5)


def test_rows_of_one_instant_are_spread_too() -> None:
    query = GraphQuery((20, 20), (function(0, 1, 0),))
    tree = Tree(plan_of(query, 4, Planning()))
    tree.batch([[Event(5, 0, 0, 0, n, n) for n in range(1000)], []])
    ((left, _),) = tree.loads()
    assert np.ptp(left) <= 2
