"""The judge of the demos: does it count right, and does it see every kind of wrong answer?"""

from datetime import timedelta
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from watersmeet.demo.answer import KeyedScenario, expected_by_key
from watersmeet.demo.generated import Options, generated


def brute_force(scenario: KeyedScenario) -> pa.Table:
    """Every combination, tried one by one."""
    rows = [feed.rows.to_pylist() for feed in scenario.feeds]
    names = [feed.name for feed in scenario.feeds]
    found = [
        dict(zip(names, combination, strict=True))
        for combination in product(*rows)
        if len({row[scenario.key] for row in combination}) == 1
        and max(row[scenario.time] for row in combination) - min(row[scenario.time] for row in combination)
        <= scenario.window
    ]
    types = [(feed.name, pa.struct(list(feed.rows.schema))) for feed in scenario.feeds]
    return pa.Table.from_pylist(found, pa.schema(types))


@pytest.fixture(scope="module")
def scenario() -> KeyedScenario:
    return generated(Options(streams=3, rate=4, seconds=10, keys=3, window=timedelta(seconds=2)))


@pytest.fixture(scope="module")
def answer(scenario: KeyedScenario) -> pa.Table:
    found = brute_force(scenario)
    assert len(found) > 20
    return found


def test_the_right_answer_passes(scenario: KeyedScenario, answer: pa.Table) -> None:
    assert all(one.holds for one in scenario.check(answer))


def test_the_order_does_not_matter(scenario: KeyedScenario, answer: pa.Table) -> None:
    assert all(one.holds for one in scenario.check(answer.take(list(range(len(answer)))[::-1])))


def test_a_missing_result_is_seen(scenario: KeyedScenario, answer: pa.Table) -> None:
    assert [one.holds for one in scenario.check(answer.slice(1))] == [True, True, False]


def test_no_result_at_all_is_seen(scenario: KeyedScenario, answer: pa.Table) -> None:
    assert [one.holds for one in scenario.check(answer.slice(0, 0))] == [True, True, False]


def test_one_result_twice_in_place_of_another_of_its_key_is_seen(
    scenario: KeyedScenario, answer: pa.Table
) -> None:
    ordered = answer.take(np.argsort([row["key"] for row in answer["s1"].to_pylist()], kind="stable"))
    doubled = pa.concat_tables([ordered.slice(1, 1), ordered.slice(1)])
    assert [one.holds for one in scenario.check(doubled)] == [True, False, True]


def test_a_false_result_is_seen(scenario: KeyedScenario, answer: pa.Table) -> None:
    rows = answer.to_pylist()
    other = next(row["s2"] for row in rows if row["s2"]["key"] != rows[0]["s2"]["key"])
    rows[0]["s2"] = other
    assert not scenario.check(pa.Table.from_pylist(rows, answer.schema))[0].holds


@pytest.mark.parametrize("changes", [{"row": 10**6}, {"row": None}, {"key": 77}, {"key": None}])
def test_a_made_up_row_is_seen(
    scenario: KeyedScenario, answer: pa.Table, changes: dict[str, int | None]
) -> None:
    rows = answer.to_pylist()
    rows[0]["s1"] |= changes
    assert not scenario.check(pa.Table.from_pylist(rows, answer.schema))[0].holds


def test_a_changed_value_is_seen(scenario: KeyedScenario, answer: pa.Table) -> None:
    rows = answer.to_pylist()
    rows[0]["s3"]["ts"] += timedelta(microseconds=1)
    assert not scenario.check(pa.Table.from_pylist(rows, answer.schema))[0].holds


@pytest.mark.parametrize("seed", range(20))
def test_counting_agrees_with_trying_everything(seed: int) -> None:
    random = np.random.default_rng(seed)
    streams = int(random.integers(2, 5))
    keys = [random.integers(0, 3, random.integers(0, 8)) for _ in range(streams)]
    times = [random.integers(-10, 10, len(key)) for key in keys]  # many ties, and times before 1970
    window = int(random.integers(0, 25))
    counted = np.zeros(3)
    rows = [list(zip(key, time, strict=True)) for key, time in zip(keys, times, strict=True)]
    for combination in product(*rows):
        instants = [time for _, time in combination]
        if len({key for key, _ in combination}) == 1 and max(instants) - min(instants) <= window:
            counted[combination[0][0]] += 1
    expected = expected_by_key(keys, times, window)
    assert expected.tolist() == counted[: len(expected)].tolist()
    assert counted[len(expected) :].sum() == 0
