"""What plans of joins and PMJoins send (Zhou et al. 2006, Sect. 4.3).

Would catch: a result of a PMJoin that is thought to be at one node, parts that are sent though they are there
already or are not sent though they are not, inputs of a PMJoin taken for streams, values that count twice or
not at all, and a PMJoin where none may be.
"""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.communication import communication_cost
from watersmeet.cost.attribute_traffic import AttributeTraffic, SharedAttribute
from watersmeet.cost.traffic import Feed, ValueTraffic, one_attribute
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.papers.zhou.pmjoin import pmjoin
from watersmeet.optimize.papers.zhou.select_baselines import select_random
from watersmeet.optimize.papers.zhou.simple import simple
from watersmeet.optimize.sites.partition.find_partition import Candidate, find_partition
from watersmeet.optimize.sites.partition.groups import grouped
from watersmeet.optimize.sites.partition.select import select
from watersmeet.optimize.sites.placement import Leaf, MJoin
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt
from watersmeet_lab.pmjoin.mixed import mixed


def some(*streams: int) -> frozenset[int]:
    return frozenset(streams)


def shared(**rows: list[float]) -> SharedAttribute:
    """An attribute from frequencies by stream, as in s0=[...]."""
    return SharedAttribute({int(name[1:]): np.array(row) for name, row in rows.items()})


# a and b on x, b and c on y. Windows of one tuple make rates easy: of a and b, 30 times the matches.
FEEDS = (Feed(10, 1, node=0), Feed(20, 1, node=1), Feed(100, 1, node=2))
X = shared(s0=[0.9, 0.1], s1=[0.2, 0.8])
Y = shared(s1=[0.5, 0.5], s2=[0.5, 0.5])
A, B, C = (Leaf(stream, node=feed.node) for stream, feed in enumerate(FEEDS))
PLAN = MJoin((MJoin((A, B)), C))
EACH = ((0,), (1,))


def on_x(traffic: AttributeTraffic) -> Candidate:
    return next(found for found in find_partition(PLAN, traffic.edges) if found.attribute == "x")


def test_a_result_is_sent_from_where_it_comes_about() -> None:
    """By hand. Value 0: a 9, b 4, so b goes to a. Value 1: a 1, b 16, so a goes to b."""
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": Y})
    assert traffic.joined(some(0, 1)).rate == pytest.approx((0.18 + 0.08) * 30)
    found = mixed(PLAN, {on_x(traffic): EACH}, traffic)
    results = {0: 0.18 * 30, 1: 0.08 * 30}
    # Both parts go on to c, at node 2.
    assert found.cost == pytest.approx(4 + 1 + sum(results.values()))
    assert found.results == {2: pytest.approx(traffic.joined(some(0, 1, 2)).rate)}
    assert mixed(PLAN, {}, traffic).cost == pytest.approx(10 + sum(results.values()))


@pytest.mark.parametrize(("node", "stays"), [(0, 0.18 * 30), (1, 0.08 * 30), (2, 0.0)])
def test_what_is_at_the_join_above_is_not_sent(node: int, stays: float) -> None:
    feeds = (*FEEDS[:2], Feed(100, 1, node))
    traffic = AttributeTraffic(feeds, {"x": X, "y": Y})
    plan = MJoin((MJoin((A, B)), Leaf(2, node)))
    (candidate,) = (c for c in find_partition(plan, traffic.edges) if c.attribute == "x")
    assert mixed(plan, {candidate: EACH}, traffic).cost == pytest.approx(4 + 1 + (0.18 + 0.08) * 30 - stays)


def test_an_input_that_is_a_join_has_its_own_values() -> None:
    """PMJoin on y of (a join b at node 1) and c: what the lower join gives of a value is b's share of it."""
    skewed = shared(s1=[0.25, 0.75], s2=[0.99, 0.01])
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": skewed})
    candidate = next(found for found in find_partition(PLAN, traffic.edges) if found.attribute == "y")
    lower = traffic.joined(some(0, 1)).rate
    rates = traffic.value_rates("y", [some(0, 1), some(2)])
    assert rates.tolist() == [
        pytest.approx([0.25 * lower, 0.75 * lower]),
        pytest.approx([99.0, 1.0]),
    ]
    found = mixed(PLAN, {candidate: EACH}, traffic)
    # a goes to b as before; of value 0 the results go to c, of value 1 c comes to them.
    assert found.cost == pytest.approx(10 + 0.25 * lower + 1.0)
    assert set(found.results) == {1, 2}


def test_results_are_as_long_as_their_streams() -> None:
    """With growing sizes an input of two streams weighs twice, though it is one input."""
    skewed = shared(s1=[0.25, 0.75], s2=[0.99, 0.01])
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": skewed}, "grow")
    candidate = next(found for found in find_partition(PLAN, traffic.edges) if found.attribute == "y")
    lower = traffic.joined(some(0, 1)).rate
    assert mixed(PLAN, {candidate: EACH}, traffic).cost == pytest.approx(10 + 2 * 0.25 * lower + 1.0)
    assert mixed(PLAN, {}, traffic).cost == pytest.approx(10 + 2 * lower)
    assert sum(mixed(PLAN, {candidate: EACH}, traffic).results.values()) == pytest.approx(
        3 * traffic.joined(some(0, 1, 2)).rate
    )


def test_the_planner_can_be_another() -> None:
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": Y})
    lopsided = mixed(PLAN, {on_x(traffic): ((0, 1),)}, traffic, planner=simple)
    assert lopsided.cost == pytest.approx(10 + (0.18 + 0.08) * 30)


@st.composite
def traffics(draw: st.DrawFn, attributes: int = 3) -> AttributeTraffic:
    """Streams on several attributes, each of which leads to one before it."""
    spare = draw(st.integers(0, 3))
    members: list[list[int]] = [[0, 1]]
    for _ in range(draw(st.integers(0, attributes - 1))):
        seen = sorted({stream for some in members for stream in some})
        members.append([draw(st.sampled_from(seen)), len(seen)])
    count = len({stream for some in members for stream in some})
    for stream in range(count, count + spare):
        draw(st.sampled_from(members)).append(stream)
    feeds = tuple(
        Feed(draw(st.floats(0, 50)), draw(st.floats(0, 5)), draw(st.integers(0, 3)))
        for _ in range(count + spare)
    )
    values = draw(st.integers(1, 4))
    share = st.floats(0, 1, allow_subnormal=False)
    return AttributeTraffic(
        feeds,
        {
            name: SharedAttribute(
                {s: np.array(draw(st.lists(share, min_size=values, max_size=values))) for s in streams}
            )
            for name, streams in zip("xyz", members, strict=False)
        },
        draw(st.sampled_from(["flat", "grow"])),
    )


@given(traffics(), st.data())
def test_rates_against_counting_values(traffic: AttributeTraffic, data: st.DataObject) -> None:
    """Every combination of values of all attributes on its own."""
    streams = data.draw(st.sets(st.sampled_from(range(len(traffic.feeds))), min_size=1).map(frozenset))
    used = [one for one in traffic.attributes.values() if streams & one.frequencies.keys()]
    match = sum(
        prod(
            row[value]
            for attribute, value in zip(used, values, strict=True)
            for stream, row in attribute.frequencies.items()
            if stream in streams
        )
        for values in product(*(range(len(next(iter(one.frequencies.values())))) for one in used))
    )
    feeds = [traffic.feeds[stream] for stream in streams]
    arrivals = sum(
        feeds[at].rate * prod(feeds[other].window for other in range(len(feeds)) if other != at)
        for at in range(len(feeds))
    )
    assert traffic.joined(streams).rate == pytest.approx(match * arrivals)


@given(traffics())
def test_without_pmjoins_it_is_the_plan(traffic: AttributeTraffic) -> None:
    tree = stream_join_opt(traffic).tree
    found = mixed(tree, {}, traffic)
    assert found.cost == pytest.approx(communication_cost(tree, traffic))
    assert list(found.results) == [tree.node]


@given(traffics(), st.data(), st.integers(0, 3))
def test_no_result_is_lost(traffic: AttributeTraffic, data: st.DataObject, seed: int) -> None:
    tree = stream_join_opt(traffic).tree
    candidates = find_partition(tree, traffic.edges)
    for chosen in (select(candidates, traffic), select_random(candidates, seed=seed)):
        groups = {}
        for candidate in chosen:
            values = len(next(iter(traffic.attributes[candidate.attribute].frequencies.values())))
            labels = data.draw(st.lists(st.integers(0, 2), min_size=values, max_size=values))
            groups[candidate] = grouped(labels)
        found = mixed(tree, groups, traffic)
        size = len(tree.streams) if traffic.sizes == "grow" else 1
        assert sum(found.results.values()) == pytest.approx(size * traffic.joined(tree.streams).rate)
        assert found.cost >= 0
        nodes = {feed.node for feed in traffic.feeds}
        assert set(found.results) <= nodes


@given(st.integers(2, 5), st.integers(1, 5), st.data())
def test_on_one_attribute_it_is_a_pmjoin(streams: int, values: int, data: st.DataObject) -> None:
    row = st.lists(st.floats(0.01, 1), min_size=values, max_size=values)
    frequencies = np.array(data.draw(st.lists(row, min_size=streams, max_size=streams)))
    feeds = tuple(
        Feed(data.draw(st.floats(0.1, 50)), data.draw(st.floats(0.1, 5)), node) for node in range(streams)
    )
    whole = AttributeTraffic(feeds, {"x": SharedAttribute(dict(enumerate(frequencies)))})
    by_value = ValueTraffic.spread(feeds, frequencies)
    tree = stream_join_opt(whole).tree
    (candidate,) = find_partition(tree, whole.edges)
    assert set(candidate.inputs) == {Leaf(node, node) for node in range(streams)}
    groups = grouped(data.draw(st.lists(st.integers(0, 2), min_size=values, max_size=values)))
    assert mixed(tree, {candidate: groups}, whole).cost == pytest.approx(pmjoin(by_value, groups).cost)


def test_even_values_are_a_join_graph() -> None:
    feeds = tuple(Feed(rate, 3 * rate, node) for node, rate in enumerate((4.0, 5.0, 6.0)))
    even = AttributeTraffic(feeds, {"x": SharedAttribute({s: np.full(8, 1 / 8) for s in range(3)})})
    for streams in (some(0), some(0, 2), some(0, 1, 2)):
        assert even.joined(streams) == pytest.approx(one_attribute(feeds, 1 / 8).joined(streams))


def test_a_group_leaves_the_other_attributes_alone() -> None:
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": Y})
    parts = [traffic.only("x", values).joined(some(0, 1, 2)).rate for values in EACH]
    assert sum(parts) == pytest.approx(traffic.joined(some(0, 1, 2)).rate)
    assert traffic.only("x", [0]).joined(some(2)).rate == 100
    assert traffic.only("x", [0]).attributes["y"] is traffic.attributes["y"]


def test_a_pmjoin_may_not_feed_another() -> None:
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": Y})
    upper, lower = find_partition(PLAN, traffic.edges)
    assert (upper.attribute, lower.attribute) == ("y", "x")
    with pytest.raises(InvalidQuery, match="feeds another"):
        mixed(PLAN, {upper: EACH, lower: EACH}, traffic)


def test_a_pmjoin_may_not_decide_the_place_of_a_join() -> None:
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": Y})
    swapped = MJoin((C, PLAN.inputs[0]))
    with pytest.raises(InvalidQuery, match="right-most"):
        mixed(swapped, {on_x(traffic): EACH}, traffic)


def test_nonsense_is_refused() -> None:
    traffic = AttributeTraffic(FEEDS, {"x": X, "y": Y})
    with pytest.raises(InvalidQuery, match="partition the domain"):
        mixed(PLAN, {on_x(traffic): ((0,),)}, traffic)
    with pytest.raises(InvalidQuery, match="same values"):
        AttributeTraffic(FEEDS, {"x": shared(s0=[1.0], s1=[0.5, 0.5])})
    with pytest.raises(InvalidQuery, match="cannot be joined"):
        AttributeTraffic(FEEDS, {"x": shared(s0=[1.0], s7=[1.0])})
