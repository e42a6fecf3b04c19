"""Outer, full, semi and anti joins against two oracles: many random histories through whole plans.

Would catch: a row that comes out twice, or never, or too early; a null that should be a partner; a partner
that was dropped too soon; a tie at the end of an interval; rows without a key that are lost; results that
depend on batch boundaries; state that does not survive; a batch that gives something else when it is run
again; a plain join that differs from a stream.
"""

import os
from random import Random

import pytest

from harness.kinds import KINDS, random_history, shrunk
from oracles.reference import assert_same_rows
from watersmeet.kernel import value_index
from watersmeet.plan.plan import operators

# Set them to look for trouble elsewhere than last time, or longer.
SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))
HISTORIES = int(os.environ.get("WATERSMEET_TEST_HISTORIES", "2000"))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_kernel_reference_and_duckdb_agree(kind: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The keys of a history have few rows: in every other part runs are indexed all the same.
    monkeypatch.setattr(value_index, "_FEW_ROWS", 4 * (part % 2))
    found, nulls, trees, several, shared = 0, 0, 0, 0, 0
    for number in range(HISTORIES // (4 * len(KINDS))):
        history = random_history(Random(f"{SEED} {kind} {part} {number}"), kind)  # noqa: S311
        expected = history.expected()
        assert_same_rows(history.by_duck(), expected)
        if (problem := history.problem()) is not None:
            small = shrunk(history, lambda one: one.problem() is not None)
            raise AssertionError(f"{problem}\n{small}\nexpected {small.expected()}: {small.problem()}")
        found += len(expected)
        nulls += sum(None in result for result in expected)
        plan = history.plan()
        trees += len(operators(plan.root)) > 1
        several += len(plan.root.required) > 1
        shared += any(operator.checks for operator in operators(plan.root))
    assert found > 100 * HISTORIES // 2000
    assert (nulls > 40) == (kind in ("outer", "full"))
    assert shared > 8 or kind == "full"
    if kind == "outer":
        assert min(trees, several) > 4


@pytest.mark.parametrize("kind", KINDS)
def test_plain_inputs_give_all_at_once(kind: str) -> None:
    for number in range(40):
        found, expected = random_history(Random(f"{SEED} plain {kind} {number}"), kind).plain()  # noqa: S311
        assert_same_rows(found, expected)
