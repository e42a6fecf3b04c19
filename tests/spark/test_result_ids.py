"""Ids of results: the same when a batch runs again in another order, different for different results.

Would catch: an id that depends on the order of rows, on blocks or on partitions; equal results with one id;
results that move to another bucket when a batch runs again.
"""

import os
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from harness.graphs import SHAPES, in_batches, random_events, random_query
from harness.kinds import KINDS, random_history
from harness.tree import Tree
from oracles.graph import Event
from watersmeet.kernel.digest import digests
from watersmeet.kernel.result_ids import ResultIds
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly

SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))


def alike(event: Event) -> Event:
    """With a value that others have as well, so that results are equal."""
    return event._replace(value=event.value % 2)


def assert_told_apart(tree: Tree) -> int:
    """All ids differ; returns how many results have an equal one."""
    assert len(set(tree.ids)) == len(tree.ids) == len(tree.results)
    return sum(count - 1 for count in Counter(tree.results).values())


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_all_kinds_of_join_are_the_same_in_a_batch_that_runs_again(kind: str) -> None:
    found = equal = 0
    for number in range(30):
        history = random_history(Random(f"{SEED} ids {kind} {number}"), kind)  # noqa: S311
        batches = [[[alike(event) for event in events] for events in batch] for batch in history.batches]
        tree = replace(history, batches=batches, repeated=True).tree()
        equal += assert_told_apart(tree)
        found += len(tree.results)
    assert found > 20
    assert equal > 2


@pytest.mark.parametrize("routing", ["sliced", "replicated", "aligned"])
def test_ids_without_a_key_are_the_same_in_a_batch_that_runs_again(routing: str) -> None:
    random = Random(f"{SEED} ids {routing}")  # noqa: S311
    found = equal = 0
    for shape in SHAPES * 2:
        streams = random.choice([2, 3])
        query = random_query(random, shape, streams, functions=0.8)
        rows = [[alike(event) for event in events] for events in random_events(random, streams, 16)]
        rows[0] += rows[0][:5]
        kept = [f"s{i}.value" for i in range(streams)]
        made = join_query(query.streams(), query.texts, kept, "inner", ColumnsOnly(), cross=True)
        planning = Planning(routing=routing, segment=timedelta(seconds=random.choice([1, 7])))
        plan = choose_plan(made, buckets=random.randint(2, 6), planning=planning)
        tree = Tree(plan, repeated=True)
        for batch in in_batches(random, rows, random.randint(1, 4), disorder=30):
            tree.batch(batch)
        equal += assert_told_apart(tree)
        found += len(tree.results)
    assert found > 100
    assert equal > 10


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole numbers": (pa.int32(), [0, 1, -1, None]),
    "truth": (pa.bool_(), [True, False, None]),
    "numbers": (pa.float64(), [0.0, -0.0, 1.5, float("nan"), float("inf"), None]),
    "short numbers": (pa.float32(), [0.0, -0.0, 1.5, float("nan"), None]),
    "texts": (pa.string(), ["", "a", "ab", "a\0", "abcdefgh", "abcdefgh\0", None]),
    "bytes": (pa.binary(), [b"", b"\0", b"\0\0", None]),
    "decimals": (pa.decimal128(38, 2), [0, 1, -1, 10**30, None]),
    "lists": (pa.list_(pa.float64()), [[], [0.0], [-0.0], [0.0, 0.0], [None], None]),
    "maps": (pa.map_(pa.string(), pa.int64()), [[], [("a", 1)], [("a", 2)], [("a", 1), ("b", 1)], None]),
    "structs": (
        pa.struct([("a", pa.float64()), ("b", pa.string())]),
        [{"a": 0.0, "b": None}, {"a": -0.0, "b": None}, {"a": None, "b": ""}, {"a": None, "b": None}, None],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_digest_tells_values_apart_and_nothing_else(name: str) -> None:
    kind, values = VALUES[name]
    column = pa.array(values, kind)
    found = digests([column], len(values))
    assert len(set(map(tuple, found.tolist()))) == len(values)
    assert len(set(found[:, 0].tolist()) | set(found[:, 1].tolist())) == 2 * len(values)
    # In other blocks, and after other rows.
    double = pa.concat_arrays([column, column]).slice(1)
    again = digests([double], len(double))
    assert (again == np.concatenate([found[1:], found])).all()


def test_values_do_not_flow_together() -> None:
    left, right = pa.array(["ab", "a", None, ""]), pa.array(["c", "bc", "", None])
    assert len(set(map(tuple, digests([left, right], 4).tolist()))) == 4


def test_an_id_depends_on_all_that_makes_a_result_another() -> None:
    row, other = [pa.array([1])], [pa.array([2])]
    made = [
        ResultIds(["a", "b"], "0", 0).of(row, 1),
        ResultIds(["a", "c"], "0", 0).of(row, 1),
        ResultIds(["a", "b"], "1", 0).of(row, 1),
        ResultIds(["a", "b"], "0", 1).of(row, 1),
        ResultIds(["a", "b"], "0", 0).of(other, 1),
    ]
    assert len({ids[0].as_py() for ids in made}) == len(made)


def test_ids_written_today_are_those_of_tomorrow() -> None:
    """Sinks keep them. A batch that a new version runs again must get those of the old one."""
    columns = [pa.array([7, 7, None]), pa.array(["x", "x", "y"])]
    assert ResultIds(["orders", "payments"], "3", 11).of(columns, 3).to_pylist() == [
        "156b9e9d7945989721163cb23e0ab95f",
        "43fd7f6d2a13213d076e2e1230ede750",
        "c2c977b64763bc9d035ebf860b95a6dc",
    ]


def test_equal_results_are_counted_over_all_blocks_of_a_batch() -> None:
    """More of them than the table of the first block has room for."""
    ids = ResultIds(["a"], "0", 0)
    block = pa.array(np.arange(3000) % 1000)
    found = [one for _ in range(3) for one in ids.of([block], 3000).to_pylist()]
    assert len(set(found)) == 9000
    mixed = ResultIds(["a"], "0", 0).of([pa.array(np.arange(9000)[::-1] % 1000)], 9000).to_pylist()
    assert set(mixed) == set(found)
