"""Windows that are looked up by more than the common key, against an oracle and by what is examined.

Would catch: a partner that an index does not find, a null that equals a null, rows of a value out of order,
a place in an index taken for a row, a search that goes on elsewhere after a full block,
a look-up that goes through all rows of a hot key, a bucket that does not learn what is rare.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from harness.graphs import GraphQuery, equality, in_batches, near
from harness.kernel import join_for, result_blocks
from harness.tree import Tree
from oracles import graph
from oracles.graph import Event, Events
from oracles.reference import assert_same_rows
from watersmeet.kernel import value_index
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.kernel.run import Rows, build_run
from watersmeet.kernel.value_index import hashed_values
from watersmeet.optimize.adapt import Adaptive
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.order.sampled import SampledOrders, Shared
from watersmeet.plan import Plan, ProbePath
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.stats.key_sample import KeySample

# One key for all, and one or two values more that some of them share.
SHARED = {
    "two of three": (3, [(0, "y", 1, "y")]),
    "two values": (3, [(0, "y", 2, "z"), (0, "z", 2, "y")]),
    "two pairs": (4, [(0, "y", 1, "y"), (2, "z", 3, "z")]),
    "three of four": (4, [(0, "y", 1, "y"), (1, "y", 3, "z")]),
    "values of two inputs": (3, [(0, "y", 2, "y"), (1, "z", 2, "z")]),
}


def plan_of(query: GraphQuery, buckets: int = 2) -> Plan:
    kept = [f"s{i}.value" for i in range(len(query.windows))]
    return choose_plan(
        join_query(query.streams(), query.texts, kept, "inner", ColumnsOnly()), buckets=buckets
    )


def in_any_order(random: Random, plan: Plan) -> Plan:
    """The same plan with any paths."""
    count = len(plan.root.inputs)
    paths = [ProbePath.of(head, random.sample(range(count), count)) for head in range(count)]
    return replace(plan, root=replace(plan.root, paths=tuple(paths)))


def rows_of(random: Random, streams: int, count: int) -> list[list[Event]]:
    """Few keys, more values, some nulls and rows that come twice."""

    def value(most: int) -> int | None:
        return None if random.random() < 0.1 else random.randrange(most)

    found = [
        [
            Event(random.randrange(12), value(2), value(3), value(3), random.randrange(4), 1000 * s + n)
            for n in range(count)
        ]
        for s in range(streams)
    ]
    return [[*rows, rows[0]] for rows in found]


@pytest.mark.parametrize("name", SHARED)
def test_any_order_with_indexes_of_all_runs_equals_the_oracle(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams, pairs = SHARED[name]
    random = Random(name)  # noqa: S311
    found = 0
    for number in range(12):
        monkeypatch.setattr(value_index, "_FEW_ROWS", [0, 2, 4][number % 3])
        windows = tuple(random.choice([1, 2, 5, 9]) for _ in range(streams))
        conditions = [equality(i, "x", i + 1, "x") for i in range(streams - 1)]
        conditions += [equality(*pair) for pair in pairs]
        query = GraphQuery(windows, (*conditions, *([near(0, streams - 1, 1)] if number % 2 else [])))
        rows = rows_of(random, streams, 30 if streams == 3 else 14)
        expected = graph.join(
            [Events(window, some) for window, some in zip(windows, rows, strict=True)], query.conditions
        )
        plan = plan_of(query)
        assert plan.root.checks
        tree = Tree(in_any_order(random, plan), stored=number % 4 == 3, adaptive=number % 4 == 1)
        with result_blocks(random.choice([1, 3, 1000])):
            for batch in in_batches(random, rows, random.randint(1, 4), disorder=30):
                tree.batch(batch)
        assert_same_rows(tree.results, expected)
        found += len(expected)
    assert found > 100


def skewed(count: int) -> tuple[Plan, list[Rows]]:
    """One host has all rows of three streams; dns and ssl share one name in a hundred besides."""
    query = GraphQuery(
        (60, 60, 60), (*(equality(i, "x", i + 1, "x") for i in (0, 1)), equality(0, "y", 1, "y"))
    )
    plan = plan_of(query, buckets=1)
    rows = []
    for stream, part in enumerate(plan.root.inputs):
        size = count if stream < 2 else 3
        columns = {"value": np.arange(size), "y": np.arange(size) % 100}
        names = ["value", "y"] if stream < 2 else ["value"]
        batch = pa.record_batch([pa.array(columns[name]) for name in names], names)
        keys = encode_keys([pa.array(np.zeros(size, np.int64))])
        rows.append(Rows(keys, np.arange(size), batch))
        assert part.streams == (stream,)
    return plan, rows


def joined(plan: Plan, rows: Sequence[Rows], open_limit: OpenLimit | None = None) -> MultiwayJoin:
    join = join_for(plan)
    assert isinstance(join, MultiwayJoin)
    join.open_limit = open_limit
    for part, new in enumerate(rows):
        for _ in join.on_rows(part, new):
            pass
    return join


def test_only_rows_with_the_value_are_examined() -> None:
    plan, rows = skewed(1000)
    paths = tuple(ProbePath(*path) for path in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))))
    plan = replace(plan, root=replace(plan.root, paths=paths))
    counts = joined(plan, rows).take_counts()
    assert counts.results == 3 * 1000 * 10
    # The last to come is weird: three rows meet all of dns, and each of these ten of ssl.
    assert counts.examined == 1000 * 10 + 3 * 1000 + 3 * 1000 * 10
    limited = joined(plan, rows, OpenLimit(1 << 30)).take_counts()
    assert limited.results == counts.results
    assert limited.examined > 90 * 1000 * 10, "where memory is limited all rows of the key are looked at"


def test_what_was_learnt_is_kept_and_decides_about_orders() -> None:
    plan, rows = skewed(1000)
    join = join_for(plan)
    assert isinstance(join, MultiwayJoin)
    join.planner = planner = Adaptive.of(plan.query, plan.root)
    for part, new in enumerate(rows):
        list(join.on_rows(part, new))
    (number,) = plan.root.checks
    of_key, left = planner.agreed[number]
    assert left / of_key == pytest.approx(1 / 100)
    later = Adaptive.of(plan.query, plan.root)
    later.recall(planner.remember())
    assert later.agreed == planner.agreed


def test_a_window_that_shares_more_is_visited_before_a_smaller_one() -> None:
    sample = KeySample(np.array([[100.0, 1000, 50]]), np.ones((1, 3)), (1, 1, 1), (False,) * 3, 1.0)
    alone = SampledOrders(sample, 0, stages=True)
    assert alone.cost(0, (0, 2, 1)) > 5_000_000
    shared = SampledOrders(sample, 0, stages=True, shared=[Shared(frozenset({0, 1}), 0.001)])
    # 100 rows are searched for and find one each, which find 50 each.
    assert shared.cost(0, (0, 1, 2)) == 1 + 100 + 100 + 1 + 5000
    assert shared.cost(0, (0, 2, 1)) == 1 + 5000 + 1 + 5000 + 5000


def test_hashes_of_values_are_equal_where_the_values_are() -> None:
    left = hashed_values([pa.array([1, 2, None, 1]), pa.array(["a", "a", "a", None])])
    right = hashed_values([pa.array([1.0, 2.0]).cast(pa.int32()), pa.array(["a", "b"])])
    assert left[0] == right[0]
    assert left[1] != right[1]
    assert left[2:].tolist() == [0, 0]
    nothing = hashed_values([pa.array([0.0, -0.0, float("nan"), float("-nan")])])
    assert nothing[0] == nothing[1] != nothing[2] == nothing[3]
    assert 0 not in nothing


def test_an_index_keeps_rows_with_their_keys_by_value_and_time() -> None:
    random = np.random.default_rng(5)
    keys, values = random.integers(0, 3, 200), random.integers(0, 9, 200)
    times = random.integers(0, 50, 200)
    columns = pa.record_batch([pa.array(values)], ["v"])
    run = build_run(Rows(encode_keys([pa.array(keys)]), times, columns))
    index = value_index.value_index(run, (0,))
    assert index is not None
    assert value_index.value_index(run, (0,)) is index, "it is made once"
    per_key = np.repeat(np.arange(3), np.diff(run.key_rows))
    assert (per_key[index.order] == per_key).all()
    triples = list(zip(per_key.tolist(), index.values.tolist(), index.times.tolist(), strict=True))
    assert triples == sorted(triples)
    assert (index.values == hashed_values([run.columns.column(0)])[index.order]).all()
    few = build_run(Rows(encode_keys([pa.array(np.arange(200))]), times, columns))
    assert value_index.value_index(few, (0,)) is None, "no key has many rows"
