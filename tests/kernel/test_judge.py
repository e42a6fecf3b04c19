"""Asking Python functions about pairs.

Would catch: a function asked about nulls, an answer of the wrong length or type taken for booleans, an error
that does not say which pair brought it about, a function whose answers change unnoticed, the dear one of two
functions asked first, a block too large for the cache.
"""

import importlib
import operator
import pickle
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from watersmeet.errors import InvalidPredicate, PredicateFailed, WorkerSetup
from watersmeet.kernel.judge import Judge, PredicateWarning
from watersmeet.query.function import Function, predicate


def asked(function: Function, *columns: pa.Array, judge: Judge | None = None) -> list[bool]:
    found = judge or Judge(function)
    mask = found.mask(len(columns[0]), 16, lambda block: [column[block] for column in columns])
    return mask.tolist()


def near(left: Any, right: Any) -> Any:
    return abs(left - right) < 2


LEFT, RIGHT = pa.array([1, 5, None, 7]), pa.array([2, 9, 3, None])


@pytest.mark.parametrize("vectorized", [True, False])
def test_nulls_match_nothing_and_are_not_asked_about(vectorized: bool) -> None:
    seen: list[Any] = []

    def remembering(left: Any, right: Any) -> Any:
        seen.append((left, right))
        return near(left, right)

    function = predicate(remembering, "a.x", "b.x", vectorized=vectorized)
    assert asked(function, LEFT, RIGHT) == [True, False, False, False]
    values = [np.ravel(value).tolist() for pair in seen for value in pair]
    assert all(None not in value for value in values)


def test_arrays_of_every_kind() -> None:
    kinds: list[type] = []

    def kind(left: Any, right: Any) -> Any:
        kinds.append(type(left))
        return np.ones(len(right), bool)

    asked(predicate(kind, "a.x", "b.x"), pa.array([1, 2]), pa.array(["a", "b"]))
    asked(predicate(kind, "a.x", "b.x", arrays="arrow"), pa.array([1, 2]), pa.array(["a", "b"]))
    assert set(kinds) == {np.ndarray, pa.Int64Array}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"abc", b"xyz", b"abd"]),
        pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        pa.array([b"long ago", b"abc", b"xyz", b"abd"])[1:],
    ],
)
def test_stacked_columns_are_rows_of_one_array(column: pa.Array) -> None:
    def first(left: Any, right: Any) -> Any:
        assert left.ndim == 2
        return left[:, 0] == right[:, 0]

    function = predicate(first, "a.x", "b.x", stacked=True)
    order = pa.array([0, 2, 1])
    expected = [column[i].as_py()[0] == column[j].as_py()[0] for i, j in enumerate(order.to_pylist())]
    assert asked(function, column, column.take(order)) == expected


def test_what_is_not_equally_long_cannot_be_stacked() -> None:
    function = predicate(near, "a.x", "b.x", stacked=True)
    with pytest.raises(PredicateFailed, match=r"a\.x of predicate near\(a\.x, b\.x\) cannot") as raised:
        asked(function, pa.array([b"ab", b"c"]), pa.array([b"ab", b"cd"]))
    assert raised.value.detail == "there are values of 2 and of 1 items."


def test_other_values_come_as_objects_or_numbers() -> None:
    def check(*columns: Any) -> Any:
        for column in columns:
            assert len(column) == 1
        assert columns[0][0] == np.datetime64("2026-01-02T03:04:05")
        assert columns[1][0] == {"k": 1}
        assert columns[2].tolist() == [True]
        return np.array([True])

    names = ["a.t", "b.s", "b.f"]
    time_ = pa.array([1767323045_000000], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    assert asked(predicate(check, *names), time_, pa.array([{"k": 1}]), pa.array([True])) == [True]


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (lambda left, _: left, "it returned int64 of 1 dimensions, not booleans."),
        (lambda _left, _right: True, "it returned bool, not booleans."),
        (lambda _left, _right: None, "it returned NoneType, not booleans."),
        (lambda left, _: (left > 0)[:-1], "it returned 1 values for 2 pairs."),
        (lambda left, _: np.ones((len(left), 2), bool), "it returned bool of 2 dimensions, not booleans."),
    ],
)
def test_answers_that_say_nothing(answer: Any, detail: str) -> None:
    with pytest.raises(PredicateFailed, match=r"predicate f\(a.x, b.x\) says nothing") as raised:
        asked(predicate(answer, "a.x", "b.x", name="f"), pa.array([1, 2]), pa.array([1, 2]))
    assert raised.value.detail == detail


def test_one_pair_must_be_true_or_false() -> None:
    function = predicate(lambda left, _: "yes" if left else None, "a.x", "b.x", name="f", vectorized=False)
    with pytest.raises(PredicateFailed) as raised:
        asked(function, pa.array([1, 0]), pa.array([1, 2]))
    assert raised.value.detail == "it returned NoneType, str, not booleans."
    assert raised.value.hint == "let it return True or False."


@pytest.mark.parametrize("vectorized", [True, False])
def test_an_error_names_a_pair_that_brings_it_about(vectorized: bool) -> None:
    def fussy(left: Any, right: Any) -> Any:
        if np.any(np.asarray(left) == 777):
            raise ValueError("no sevens")
        return near(left, right)

    function = predicate(fussy, "cam.x", "door.x", vectorized=vectorized)
    values = np.arange(10_000) + 1000
    values[6543] = 777
    with pytest.raises(PredicateFailed) as raised:
        asked(function, pa.array(values), pa.array(np.arange(10_000) + 1))
    assert raised.value.fact == "predicate fussy(cam.x, door.x) raised ValueError: no sevens"
    assert raised.value.detail == "for example for cam.x = 777, door.x = 6544."
    assert "run again" in raised.value.hint
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_function_that_changes_its_mind_is_noticed_and_still_asked() -> None:
    random = np.random.default_rng(1)
    judge = Judge(predicate(lambda left, _: random.random(len(left)) < 0.5, "a.x", "b.x", name="chance"))
    column = pa.array(np.arange(100))
    with pytest.warns(PredicateWarning, match=r"chance\(a.x, b.x\) did not say the same"):
        asked(judge.function, column, column, judge=judge)
    assert judge.now.inconsistent > 0
    # One word is enough.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge.take()
        asked(judge.function, column, column, judge=judge)


def test_a_function_that_looks_at_other_pairs_is_noticed() -> None:
    function = predicate(lambda left, _: left >= np.mean(left), "a.x", "b.x", name="relative")
    column = pa.array(np.arange(100))
    with pytest.warns(PredicateWarning, match="each pair on its own"):
        asked(function, column, column)


def test_a_function_far_slower_than_declared() -> None:
    def slow(left: Any, _right: Any) -> Any:
        time.sleep(2e-5 * len(left))
        return np.ones(len(left), bool)

    judge = Judge(predicate(slow, "a.x", "b.x", cost="1 us", selectivity=0.5))
    assert judge.cost == 1e-6
    column = pa.array(np.arange(2000))
    with pytest.warns(PredicateWarning, match="us for a pair, not 1 us as was said"):
        asked(judge.function, column, column, judge=judge)
    assert judge.cost > 1e-5
    assert judge.share == 1


def test_what_is_asked_is_counted_and_kept_over_batches() -> None:
    judge = Judge(predicate(near, "a.x", "b.x"))
    column = pa.array(np.arange(1000))
    asked(judge.function, column, column, judge=judge)
    first = judge.take()
    assert (first.pairs, first.accepted) == (1000, 1000)
    assert judge.now.pairs == 0
    assert judge.share == 1


def test_blocks_fit_the_cache() -> None:
    sizes: list[int] = []

    def remembering(left: Any, _right: Any) -> Any:
        sizes.append(len(left))
        return np.ones(len(left), bool)

    judge = Judge(predicate(remembering, "a.x", "b.x"))
    column = pa.array(np.arange(10_000))
    judge.mask(10_000, 8192, lambda block: [column[block], column[block]])
    assert max(sizes) == 64
    assert sum(sizes) == 10_000 + 8


def test_functions_travel_by_value() -> None:
    most = 3
    function = predicate(lambda left, right: abs(left - right) < most, "a.x", "b.x", name="f", cost=1e-6)
    travelled = pickle.loads(pickle.dumps(function))  # noqa: S301
    assert asked(travelled, pa.array([1, 9]), pa.array([2, 2])) == [True, False]
    assert (travelled.text, travelled.cost) == (function.text, function.cost)
    # A plan is known by how it is written, wherever its functions lie.
    assert repr(travelled) == repr(function)


def test_a_module_that_a_worker_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("beside_the_script.py").write_text(
        "def alike(left, right):\n    return left == right\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("beside_the_script")
    travelling = pickle.dumps(predicate(module.alike, "a.x", "b.x"))
    monkeypatch.undo()
    del sys.modules["beside_the_script"]
    with pytest.raises(WorkerSetup, match=r"alike cannot be loaded .* 'beside_the_script'") as raised:
        pickle.loads(travelling)  # noqa: S301
    assert "addPyFile" in raised.value.hint


def test_a_function_that_cannot_travel_is_refused_at_once() -> None:
    lock = threading.Lock()
    with pytest.raises(InvalidPredicate, match='predicate "locked" cannot be sent') as raised:
        predicate(lambda left, _: lock and left > 0, "a.x", "b.x", name="locked")
    assert "inside the function" in raised.value.hint


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"cost": "soon"}, 'cost of predicate "near" is not a duration'),
        ({"cost": True}, 'cost of predicate "near" is not a duration'),
        ({"cost": 10**400}, 'cost of predicate "near" is not a duration'),
        ({"vectorized": "no"}, "vectorized is neither true nor false"),
        ({"name": "x\ny"}, "the name of a predicate cannot be printed"),
        ({"cost": 0}, 'cost of predicate "near" is not a duration'),
        ({"cost": -1.0}, 'cost of predicate "near" is not a duration'),
        ({"selectivity": 2}, 'selectivity of predicate "near" is not a share'),
        ({"selectivity": "half"}, 'selectivity of predicate "near" is not a share'),
        ({"arrays": "lists"}, 'predicate "near" asks for arrays of an unknown kind'),
        ({"arrays": "arrow", "stacked": True}, 'predicate "near" cannot have its columns stacked'),
        ({"vectorized": False, "stacked": True}, 'predicate "near" cannot have its columns stacked'),
    ],
)
def test_settings_that_make_no_sense(arguments: dict[str, Any], fact: str) -> None:
    with pytest.raises(InvalidPredicate) as raised:
        predicate(near, "a.x", "b.x", **arguments)
    assert raised.value.fact == fact


def test_what_is_masked_does_not_hold() -> None:
    def masked(left: Any, _right: Any) -> Any:
        return np.ma.masked_array(np.ones(len(left), bool), mask=left > 5)

    assert asked(predicate(masked, "a.x", "b.x"), pa.array([1, 9]), pa.array([1, 1])) == [True, False]


def test_a_list_of_booleans_is_an_answer_and_a_ragged_one_is_none() -> None:
    column = pa.array([1, 2])
    objects = predicate(lambda left, _: np.array([True] * len(left), object), "a.x", "b.x", name="f")
    assert asked(objects, column, column) == [True, True]
    ragged = predicate(lambda left, _: [[1], [1, 2]], "a.x", "b.x", name="f")
    with pytest.raises(PredicateFailed, match="says nothing"):
        asked(ragged, column, column)


def test_a_function_that_wants_to_exit_is_an_error_like_others() -> None:
    def leaves(_left: Any, _right: Any) -> Any:
        raise SystemExit("no model")

    with pytest.raises(PredicateFailed, match=r"leaves\(a.x, b.x\) raised SystemExit: no model"):
        asked(predicate(leaves, "a.x", "b.x"), pa.array([1]), pa.array([1]))


def test_names_of_what_has_none() -> None:
    class Close:
        def __call__(self, left: Any, right: Any) -> Any:
            return left == right

    assert predicate(partial(near), "a.x", "b.x").name == "near"
    assert predicate(Close(), "a.x", "b.x").name == "Close"
    with pytest.raises(InvalidPredicate, match="needs a function"):
        predicate(Close, "a.x", "b.x")


UNFIT: list[Any] = [
    lambda _: True,
    lambda _, __, ___: True,
    lambda *, left, right: left == right,
    partial(lambda _, __: True, 1),
]
# Nothing says what `max` takes.
FIT: list[Any] = [
    lambda *_: True,
    lambda _, __, ___=0: True,
    partial(lambda _, __, most: True, most=3),
    np.less,
    operator.lt,
    max,
]


def test_a_function_that_does_not_take_its_columns_is_refused() -> None:
    for function in UNFIT:
        with pytest.raises(InvalidPredicate, match="cannot be called with 2 columns") as caught:
            predicate(function, "a.x", "b.x")
        assert "one column for every argument" in caught.value.hint
    for function in FIT:
        predicate(function, "a.x", "b.x")
