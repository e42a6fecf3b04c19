"""Statistics as users give them: what is known, how well, and what cannot be true.

Would catch: an absent figure that counts as zero, a negative rate that plans, figures about a stream the
query does not have.
"""

import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest

from watersmeet.errors import InvalidStatistics
from watersmeet.query import Column, JoinQuery, RowWindow, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.stats import ABSENT, NOTHING_KNOWN, Figure, Frequencies, Known, Statistics
from watersmeet.stats.check import refuse_foreign_statistics
from watersmeet.stats.given import statistics


def query() -> JoinQuery:
    columns = (Column("ts", "timestamp"), Column("k", "bigint"), Column("v", "double"))
    streams = [
        Stream("a", columns, "ts", timedelta(seconds=10)),
        Stream("b", columns, "ts", timedelta(seconds=20)),
        Stream("c", columns, "ts", RowWindow(5)),
    ]
    return join_query(streams, ["k", "a.v < b.v"], None, "inner", ColumnsOnly())


def test_what_is_not_given_is_absent_and_not_zero() -> None:
    known = statistics({"a": {"rate": 0}})
    assert known.of("a").rate == Figure(0.0, Known.EXACT)
    assert known.of("a").row_bytes == ABSENT
    assert known.of("b").rate == ABSENT
    assert known.batch_seconds == ABSENT
    assert (known.of("a").rate * ABSENT) == ABSENT
    assert not known.is_empty
    assert NOTHING_KNOWN.is_empty


def test_figures_know_how_well_they_are_known() -> None:
    exact, estimated = Figure.exact(6), Figure.estimated(3)
    assert (exact * estimated).known is Known.ESTIMATED
    assert (exact * exact).known is Known.EXACT
    assert (exact + estimated).value == 9
    assert (exact / estimated).value == 2
    assert (exact / 0) == ABSENT
    assert (Figure.exact(1e300) * 1e300) == ABSENT
    assert (2 * exact).value == 12


def test_a_key_may_be_named_as_a_column_as_text_or_not_at_all() -> None:
    known = statistics({"a": {"distinct": 5}, "b": {"distinct": {"b.k": 6}}, "c": {"distinct": {"k": 7}}})
    found = [known.of(name).distinct_of(f"{name}.k", "k").value for name in "abc"]
    assert found == [5, 6, 7]
    spread = statistics({"a": {"frequencies": {"k": {1: 0.5, 2: 0.25}}}})
    assert spread.of("a").distinct_of("a.k", "k").value == 2


BAD: dict[str, tuple[Callable[[], Statistics], str, str]] = {
    "negative": (
        lambda: statistics({"a": {"rate": -1}}),
        'rate of stream "a" is not a number from zero up',
        "absent is not zero",
    ),
    "not a number": (
        lambda: statistics({"a": {"rate": float("nan")}}),
        'rate of stream "a" is not a number from zero up',
        "leave out",
    ),
    "infinite": (
        lambda: statistics({"a": {"distinct": {"k": math.inf}}}),
        'distinct k of stream "a" is not a number from one up',
        "leave out",
    ),
    "text": (
        lambda: statistics({"a": {"row_bytes": "12"}}),
        'row_bytes of stream "a" is not a number from zero up',
        "leave out",
    ),
    "a truth value": (
        lambda: statistics({"a": {"rate": True}}),
        'rate of stream "a" is not a number from zero up',
        "leave out",
    ),
    "an unknown figure": (
        lambda: statistics({"a": {"speed": 3}}),
        'stream "a" has no statistic "speed"',
        '"rate", "window_rows"',
    ),
    "more than certain": (
        lambda: statistics({}, matches={("a", "b"): 1.5}),
        "matches of ('a', 'b') is not a probability",
        "from 0 to 1",
    ),
    "a match with itself": (
        lambda: statistics({}, matches={("a", "a"): 0.5}),
        "matches are between two different streams",
        "",
    ),
    "a condition that holds too often": (
        lambda: statistics({}, conditions={"a.v < b.v": 2}),
        'condition "a.v < b.v" is not a probability',
        "",
    ),
    "a key larger than its row": (
        lambda: statistics({"a": {"row_bytes": 8, "key_bytes": 16}}),
        'statistics of stream "a" contradict each other',
        "",
    ),
    "more frequent values than values": (
        lambda: statistics({"a": {"distinct": {"k": 1}, "frequencies": {"k": {1: 0.5, 2: 0.5}}}}),
        'statistics of stream "a" contradict each other',
        "leave out distinct",
    ),
    "frequencies of more than all rows": (
        lambda: statistics({"a": {"frequencies": {"k": {1: 0.9, 2: 0.2}}}}),
        'frequencies of k in stream "a" are not shares of its rows',
        "",
    ),
    "no values": (
        lambda: statistics({"a": {"distinct": 0}}),
        'distinct * of stream "a" is not a number from one up',
        "leave out",
    ),
    "nothing by name": (lambda: statistics([1]), "streams are not given by name", '{"orders"'),  # type: ignore[arg-type]
    "no table": (lambda: statistics({"a": 5}), 'statistics of stream "a" are not a table', ""),  # type: ignore[dict-item]
    "frequencies without a key": (
        lambda: statistics({"a": {"frequencies": 5}}),
        'frequencies of stream "a" are not given by key',
        "",
    ),
    "frequencies without values": (
        lambda: statistics({"a": {"frequencies": {"k": 5}}}),
        'frequencies of k in stream "a" are not given by value',
        "",
    ),
    "a share that is no number": (
        lambda: statistics({"a": {"frequencies": {"k": {1: "x"}}}}),
        'frequencies of k in stream "a" are not shares of its rows',
        "",
    ),
    "a sample of nothing": (
        lambda: statistics({"a": {"frequencies": {"k": Frequencies({1: 0.5}, sampled=0)}}}),
        'frequencies of k in stream "a" are not shares of its rows',
        "",
    ),
    "the same pair twice": (
        lambda: statistics({}, matches={("a", "b"): 0.5, ("b", "a"): 0.1}),
        "matches of ('b', 'a') are given twice",
        "give one",
    ),
    "a batch of no time": (lambda: statistics({}, batch="foo"), "batch is not a duration", "10 seconds"),
    "a batch that ends before it starts": (
        lambda: statistics({}, batch="-5 seconds"),
        "batch is not longer than nothing",
        "10 seconds",
    ),
    "a number too large": (
        lambda: statistics({"a": {"rate": 10**400}}),
        'rate of stream "a" is not a number from zero up',
        "",
    ),
    "an unknown figure that is known": (
        lambda: statistics({"a": {"rate": Figure(None, Known.EXACT)}}),
        'rate of stream "a" is not a number from zero up',
        "",
    ),
    "rows that never came": (
        lambda: statistics({"a": {"rate": 0, "window_rows": 10}}),
        'statistics of stream "a" contradict each other',
        "",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_true_is_refused(case: str) -> None:
    make, fact, hint = BAD[case]
    with pytest.raises(InvalidStatistics) as raised:
        make()
    assert raised.value.fact == fact
    assert hint in raised.value.hint


FOREIGN: dict[str, tuple[Statistics, str, str]] = {
    "another stream": (statistics({"z": {"rate": 1}}), 'the query has no stream "z"', '"a", "b", "c"'),
    "a match of another stream": (
        statistics({}, matches={("a", "y"): 0.5}),
        'the query has no stream "y"',
        '"a", "b", "c"',
    ),
    "another key": (
        statistics({"a": {"distinct": {"v": 4}}}),
        'stream "a" is not joined on "v"',
        '"a.k", "k"',
    ),
    "another condition": (
        statistics({}, conditions={"a.v > 3": 0.5}),
        'the query has no condition "a.v > 3" that the join judges',
        '"a.v < b.v"',
    ),
    "more rows than the window takes": (
        statistics({"c": {"window_rows": 50}}),
        'statistics of stream "c" contradict each other',
        "follows from the window",
    ),
    "groups of different widths": (
        statistics(
            {
                "a": {"frequencies": {"k": Frequencies({1: 0.5}, width=2)}},
                "b": {"frequencies": {"k": {1: 0.5}}},
            }
        ),
        "frequencies of k do not fit together",
        "same values",
    ),
    "a window that does not fit the rate": (
        statistics({"a": {"rate": 10, "window_rows": 1000}}),
        'statistics of stream "a" contradict each other',
        "follows from the rate",
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_statistics_must_belong_to_the_query(case: str) -> None:
    figures, fact, hint = FOREIGN[case]
    with pytest.raises(InvalidStatistics) as raised:
        refuse_foreign_statistics(query(), figures)
    assert raised.value.fact == fact
    assert hint in raised.value.hint


def test_figures_that_fit_are_taken() -> None:
    fitting = statistics(
        {"a": {"rate": 10, "window_rows": 120, "distinct": {"k": 3}}, "c": {"rate": 7, "window_rows": 5}},
        matches={("a", "b"): 0.5},
        conditions={"a.v < b.v": 0.5},
    )
    refuse_foreign_statistics(query(), fitting)
    assert Frequencies({1: 0.5, 2: 0.5}, width=10).distinct == 20


def test_numbers_of_other_kinds_are_numbers() -> None:
    given = {"rate": np.int64(5), "row_bytes": Decimal(7), "distinct": np.float32(3)}
    known = statistics({"a": given}).of("a")
    assert (known.rate.value, known.row_bytes.value, known.distinct_of("k").value) == (5, 7, 3)


def test_what_is_measured_goes_before_what_was_given_and_keeps_the_rest() -> None:
    given = statistics(
        {"a": {"rate": 5, "row_bytes": 9, "distinct": 4}, "b": {"rate": 1}},
        conditions={"a.v < b.v": 0.5},
        batch="4 seconds",
    )
    both = statistics({"a": {"rate": 6, "frequencies": {"k": {1: 0.5, 2: 0.5}}}}).over(given)
    assert both.of("a").rate.value == 6
    assert both.of("a").row_bytes.value == 9
    assert both.of("a").distinct_of("k").value == 2, "not the number that was given before"
    assert (both.of("b").rate.value, both.batch_seconds.value) == (1, 4)
    assert both.conditions["a.v < b.v"].value == 0.5
