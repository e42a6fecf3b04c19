"""The reports of all groups become one: sums, what only all buckets together know, the largest, hot keys.

Would catch: a state that looks smaller because a bucket said nothing, a sum over what no one reported, a key
that is called hot because it is alone in its bucket.
"""

from datetime import timedelta
from typing import Any

from watersmeet.kernel.numbers import path_number, text_numbers
from watersmeet.plan import ProbePath
from watersmeet.spark.host.metrics import BatchMetrics, metric_names
from watersmeet.spark.host.report import Reports


def together(*reports: dict[str, Any], buckets: int = 2, functions: tuple[str, ...] = ()) -> BatchMetrics:
    names = metric_names(2, len(functions))
    assert all(report.keys() <= {*names} for report in reports)
    numbers = [[report.get(name) for name in names] for report in reports]
    return Reports(numbers, buckets, ("a", "b"), functions or None).together("watersmeet 1: a, b", 7)


def hot(rows: int, of: int, key: str) -> dict[str, int]:
    words = {f"hot_text_{i}": word for i, word in enumerate(text_numbers(key))}
    return {"hot_rows": rows, "hot_of": of, "hot_input": 1, **words}


def test_counts_are_added_and_what_nobody_reports_is_none_or_nothing() -> None:
    one = {"buckets": 1, "results": 3, "rows_examined": 8, "kernel_us": 1500, "rows_0": 2, "late_by_us_0": 5}
    found = together(one, {"buckets": 1, "results": 1, "rows_0": 4, "late_by_us_0": 9}, {"rows_1": 6})
    assert (found.results, found.rows_examined_per_result, found.kernel_ms) == (4, 2.0, 1.5)
    assert (found.streams["a"].rows, found.streams["b"].rows) == (6, 6)
    assert found.streams["a"].late_by == timedelta(microseconds=9)
    assert found.streams["b"].late_by is None
    assert (found.watermark_held_by, found.scans, found.waiting) == (None, 0, None)
    assert together().rows_examined_per_result is None


def test_state_is_known_only_when_all_buckets_report() -> None:
    one, other = {"buckets": 1, "live_0": 3}, {"buckets": 1, "live_0": 5}
    assert (together(one, other).streams["a"].live, together(one, other).streams["a"].largest) == (8, 5)
    assert (together(one).streams["a"].live, together(one).streams["a"].largest) == (None, None)


def test_paths_are_counted_by_bucket() -> None:
    forth, back = path_number(ProbePath(0, (1,))), path_number(ProbePath(1, (0,)))
    found = together({"path_0": forth, "path_1": back}, {"path_0": forth})
    assert [(use.visits, use.buckets) for use in found.streams["a"].paths] == [(("a", "b"), 2)]
    assert [(use.visits, use.buckets) for use in found.streams["b"].paths] == [(("b", "a"), 1)]


def test_hot_keys_with_the_most_rows_are_shown() -> None:
    found = together(*[hot(10 * n, 1000, f"key {n}") for n in range(1, 8)])
    assert [one.key for one in found.hot_keys] == [f"key {n}" for n in (7, 6, 5, 4, 3)]
    assert (found.hot_keys[0].stream, found.hot_keys[0].rows, found.hot_keys[0].share) == ("b", 70, 0.07)


def test_a_key_that_is_alone_is_hot_beside_those_of_half_the_buckets() -> None:
    alone = hot(1000, 1000, "alone") | {"live_1": 1000, "keys_1": 1}
    cool = {"live_1": 20, "keys_1": 10}
    assert together(alone, cool).hot_keys[0].key == "alone"
    assert together(alone, {"live_1": 1000, "keys_1": 1}, {"live_1": 900, "keys_1": 1}).hot_keys == ()


def test_functions_are_told_apart_by_their_text() -> None:
    found = together({"pairs_0": 4, "judge_us_0": 2_000_000, "pairs_1": 1}, functions=("f(a, b)", "g(b)"))
    assert (found.predicates["f(a, b)"].pairs, found.predicates["f(a, b)"].seconds) == (4, 2.0)
    assert found.predicates["g(b)"].pairs == 1
