"""One model of sizes for all planners: it is the papers' models where they speak of the same thing.

Would catch: a probability that is counted twice, a result size that depends on the order of streams, an
absent figure that is taken for a number.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.cost.comparisons import result_size
from watersmeet.cost.semijoin import output
from watersmeet.cost.site import SiteStream
from watersmeet.cost.sizes import Sizes
from watersmeet.cost.traffic import Feed, one_attribute
from watersmeet.query import Column, JoinQuery, RowWindow, Stream
from watersmeet.query.common_window import HoppingWindow
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import WindowLike
from watersmeet.stats import Statistics
from watersmeet.stats.given import statistics


def query_of(windows: Sequence[WindowLike], on: list[str]) -> JoinQuery:
    columns = tuple(Column(name, "bigint") for name in ("k", "x", "y", "v"))
    streams = [
        Stream(f"s{i}", (Column("ts", "timestamp"), *columns), "ts", window)
        for i, window in enumerate(windows)
    ]
    return join_query(streams, on, None, "inner", ColumnsOnly())


def seconds(*lengths: float) -> list[WindowLike]:
    return [timedelta(seconds=length) for length in lengths]


loads = st.lists(
    st.tuples(st.integers(1, 500), st.integers(1, 300), st.integers(2, 400)), min_size=2, max_size=5
)


@given(loads)
def test_windows_that_match_have_the_size_of_golab_and_ozsu(loads: list[tuple[int, int, int]]) -> None:
    query = query_of(seconds(*(length for _, length, _ in loads)), ["k"])
    known = statistics({f"s{i}": {"rate": rate, "distinct": v} for i, (rate, _, v) in enumerate(loads)})
    sizes = Sizes(query, known)
    for count in range(1, len(loads) + 1):
        for members in combinations(range(len(loads)), count):
            counts = [loads[i][0] * loads[i][1] for i in members]
            expected = result_size(counts, [loads[i][2] for i in members])
            assert sizes.alive_together(members).number == pytest.approx(expected)


@given(loads, st.integers(2, 400))
def test_three_models_agree_on_the_rate_of_results(loads: list[tuple[int, int, int]], distinct: int) -> None:
    """On one shared attribute: Golab & Özsu's sizes, Zhou et al.'s rates, the sum of Tran & Lee's heads."""
    query = query_of(seconds(*(length for _, length, _ in loads)), ["k"])
    known = statistics(
        {f"s{i}": {"rate": rate, "distinct": distinct} for i, (rate, _, _) in enumerate(loads)}
    )
    streams = range(len(loads))
    ours = Sizes(query, known).arriving(streams).number

    by_sizes = 0.0
    for head in streams:
        counts = [1.0 if i == head else loads[i][0] * loads[i][1] for i in streams]
        by_sizes += loads[head][0] * result_size(counts, [distinct] * len(loads))
    assert ours == pytest.approx(by_sizes)

    feeds = [Feed.timed(rate, length, node) for node, (rate, length, _) in enumerate(loads)]
    assert ours == pytest.approx(one_attribute(feeds, 1 / distinct).joined(frozenset(streams)).rate)

    sites = [SiteStream(i, rate, length, distinct, 100, 8) for i, (rate, length, _) in enumerate(loads)]
    by_heads = 0.0
    for head in streams:
        current = sites[head]
        for other in streams:
            if other != head:
                current = output(current, sites[other], head)
        by_heads += current.rate
    assert ours == pytest.approx(by_heads)


def test_different_attributes_thin_independently() -> None:
    query = query_of(seconds(10, 10, 10), ["s0.x = s1.x", "s1.y = s2.y"])
    known = statistics(
        {
            "s0": {"rate": 1, "distinct": {"x": 10}},
            "s1": {"rate": 1, "distinct": {"x": 20, "y": 5}},
            "s2": {"rate": 1, "distinct": {"y": 50}},
        }
    )
    sizes = Sizes(query, known)
    assert sizes.match([0, 1]).number == pytest.approx(1 / 20)
    assert sizes.match([0, 2]).number == 1
    assert sizes.match([0, 1, 2]).number == pytest.approx(1 / 20 / 50)
    assert sizes.match([0, 1, 2], attributes=[1]).number == pytest.approx(1 / 50)
    assert sizes.arriving([0, 1, 2]).number == pytest.approx(3 * 100 / 1000)


def test_given_matches_count_once_however_many_equalities_there_are() -> None:
    query = query_of(seconds(10, 10), ["s0.x = s1.x", "s0.y = s1.y"])
    known = statistics({}, matches={("s0", "s1"): 0.125})
    assert Sizes(query, known).match([0, 1]).number == 0.125


def test_three_skewed_streams_meet_more_often_than_their_pairs_tell() -> None:
    query = query_of(seconds(10, 10, 10), ["k"])
    spread = {"rate": 1, "frequencies": {"k": {1: 0.9, 2: 0.1}}}
    sizes = Sizes(query, statistics({f"s{i}": spread for i in range(3)}))
    pair = sizes.match([0, 1]).number
    assert pair == pytest.approx(0.82)
    assert sizes.match([0, 1, 2]).number == pytest.approx(0.73)
    assert sizes.match([0, 1, 2]).number > pair**2


def test_windows_of_rows() -> None:
    figures = {"rate": 3, "distinct": 40}
    windows: list[WindowLike] = [RowWindow(100), RowWindow(2, per_key=True), timedelta(seconds=10)]
    sizes = Sizes(query_of(windows, ["k"]), statistics({f"s{i}": figures for i in range(3)}))
    assert [sizes.alive(i).number for i in range(3)] == [100, 80, 30]


def test_what_is_missing_is_named() -> None:
    query = query_of(seconds(10, 10, 10), ["k"])
    known = statistics({"s0": {"rate": 1, "distinct": 3}, "s1": {"distinct": 3}})
    sizes = Sizes(query, known)
    assert not sizes.arriving([0, 1]).is_known
    assert sizes.missing() == [
        "the rate of s1",
        "the rate of s2",
        "the distinct values of s2.k",
    ]


def test_a_condition_nobody_knows_about_is_taken_to_hold() -> None:
    query = query_of(seconds(10, 10), ["s0.x = s1.x", "s0.v < s1.v"])
    known: Statistics = statistics({"s0": {"rate": 1, "distinct": 5}, "s1": {"rate": 1, "distinct": 5}})
    assert Sizes(query, known).match([0, 1]).number == pytest.approx(0.2)
    better = Statistics(known.streams, conditions=statistics({}, conditions={"s0.v < s1.v": 0.5}).conditions)
    assert Sizes(query, better).match([0, 1]).number == pytest.approx(0.1)


def test_rows_that_stand_in_several_slots_meet_in_each() -> None:
    """Two streams in slots of 60 s: as many results as a slot has pairs, as often as slots begin."""
    known = statistics({f"s{i}": {"rate": rate, "distinct": 50} for i, rate in enumerate((20, 30))})
    for every in (60, 30, 10):
        window = HoppingWindow(timedelta(seconds=60), timedelta(seconds=every))
        sizes = Sizes(query_of([window] * 2, ["k"]), known)
        pairs = 20 * 60 * 30 * 60 / 50
        assert sizes.arriving((0, 1)).number == pytest.approx(pairs / every)
        # At a time, 60 / every slots are open, each with half of its rows on average.
        assert sizes.alive(0).number == pytest.approx(60 / every * 20 * 30)
        assert sizes.rate(0).number == sizes.arriving([0]).number == 20
