"""The rates of joined streams and what a placed plan sends between nodes (Zhou et al. 2006).

Would catch: a predicate that is counted twice or not at all, rates under skew taken from pairs, a stream that
is counted as sent though it stays, and the wrong size of results.
"""

from itertools import product
from math import inf, nan, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.communication import communication_cost
from watersmeet.cost.traffic import Feed, Flow, GraphTraffic, Traffic, ValueTraffic, load, one_attribute
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.sites.placement import Leaf, MJoin

# Table 1 of the paper: values a, b, c in three streams, windows of half a second.
RATES = np.array([[0.1, 0.1, 100.0], [0.03, 50.0, 0.04], [50.0, 0.01, 0.02]])
S1, S2, S3 = (Leaf(stream, node=stream) for stream in range(3))


def routers(sizes: str = "grow") -> ValueTraffic:
    return ValueTraffic((0, 1, 2), RATES, 0.5 * RATES, sizes)


def some(*streams: int) -> frozenset[int]:
    return frozenset(streams)


amounts = st.floats(0, 1000)


@st.composite
def graphs(draw: st.DrawFn) -> GraphTraffic:
    count = draw(st.integers(2, 6))
    feeds = tuple(Feed(draw(amounts), draw(amounts), draw(st.integers(0, 2))) for _ in range(count))
    edges = {some(stream, draw(st.integers(0, stream - 1))) for stream in range(1, count)}
    edges |= draw(st.sets(st.sets(st.integers(0, count - 1), min_size=2, max_size=2).map(frozenset)))
    return GraphTraffic(feeds, {edge: draw(st.floats(0, 1)) for edge in sorted(edges, key=sorted)})


@st.composite
def skewed(draw: st.DrawFn) -> ValueTraffic:
    streams, values = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    table = st.lists(st.lists(amounts, min_size=values, max_size=values), min_size=streams, max_size=streams)
    return ValueTraffic(tuple(range(streams)), np.array(draw(table)), np.array(draw(table)))


@pytest.mark.parametrize(
    ("streams", "per_value", "total"),
    [
        ((0, 1), [0.003, 5, 4], 9.003),
        ((0, 2), [5, 0.001, 2], 7.001),
        ((1, 2), [1.5, 0.5, 0.0008], 2.0008),
    ],
)
def test_table_1(streams: tuple[int, ...], per_value: list[float], total: float) -> None:
    found = [routers().only([value]).joined(some(*streams)).rate for value in range(3)]
    assert found == pytest.approx(per_value)
    assert routers().joined(some(*streams)).rate == pytest.approx(total)


def test_example_1_whole_streams() -> None:
    assert communication_cost(MJoin((S2, S3, S1)), routers()) == pytest.approx(100.1)
    assert communication_cost(MJoin((MJoin((S3, S2)), S1)), routers()) == pytest.approx(54.0316)
    # Were all tuples of one size, the intermediate result would cost half.
    assert communication_cost(MJoin((MJoin((S3, S2)), S1)), routers("flat")) == pytest.approx(52.0308)


def test_example_1_value_by_value() -> None:
    plans = [MJoin((MJoin((S2, S1)), S3)), MJoin((MJoin((S3, S1)), S2)), MJoin((MJoin((S3, S2)), S1))]
    costs = [communication_cost(plan, routers().only([value])) for value, plan in enumerate(plans)]
    assert costs == pytest.approx([0.036, 0.012, 0.0216])
    assert sum(costs) == pytest.approx(0.0696)


@given(graphs(), st.randoms(use_true_random=False))
def test_rates_do_not_depend_on_the_order_of_joins(traffic: GraphTraffic, random: st.DataObject) -> None:
    """Eq. 2 and 3, applied to random pairs of parts until one is left."""
    parts = {some(stream): Flow(feed.rate, feed.window) for stream, feed in enumerate(traffic.feeds)}
    while len(parts) > 1:
        left, right = random.sample(sorted(parts, key=sorted), 2)
        one, other = parts.pop(left), parts.pop(right)
        f = prod(p for edge, p in traffic.matches.items() if edge & left and edge & right)
        parts[left | right] = Flow(
            f * (one.rate * other.window + other.rate * one.window), f * one.window * other.window
        )
    ((streams, flow),) = parts.items()
    assert traffic.joined(streams).rate == pytest.approx(flow.rate)
    assert traffic.joined(streams).window == pytest.approx(flow.window)


def test_one_attribute_counts_no_predicate_twice() -> None:
    """Three streams have three pairs, but two equalities imply the third."""
    feeds = [Feed(3, 10, node) for node in range(3)]
    assert one_attribute(feeds, 0.1).joined(some(0, 1, 2)).window == pytest.approx(10**3 * 0.1**2)
    assert one_attribute(feeds, 0.1).joined(some(0, 2)).window == pytest.approx(10**2 * 0.1)
    assert one_attribute(feeds[:1], 0.1).joined(some(0)) == Flow(3, 10)


@given(st.lists(st.tuples(amounts, amounts), min_size=2, max_size=5), st.integers(1, 50))
def test_even_values_are_the_uniform_case(streams: list[tuple[float, float]], values: int) -> None:
    feeds = [Feed(rate, window, node) for node, (rate, window) in enumerate(streams)]
    even = ValueTraffic.spread(feeds, np.full((len(feeds), values), 1 / values))
    uniform = one_attribute(feeds, 1 / values)
    for count in range(1, len(feeds) + 1):
        found, expected = (traffic.joined(some(*range(count))) for traffic in (even, uniform))
        assert found.rate == pytest.approx(expected.rate)
        assert found.window == pytest.approx(expected.window)


def test_match_probability_under_skew_is_that_of_all_streams_at_once() -> None:
    frequencies = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    traffic = ValueTraffic.spread([Feed(1, 1, node) for node in range(3)], frequencies)
    chance = sum(
        prod(frequencies[stream][value] for stream, value in enumerate(values))
        for values in product(range(2), repeat=3)
        if len(set(values)) == 1
    )
    assert traffic.joined(some(0, 1, 2)).window == pytest.approx(chance)
    pairs = prod(traffic.joined(some(*pair)).window for pair in [(0, 1), (1, 2)])
    assert chance != pytest.approx(pairs, rel=0.05)


@given(skewed(), st.data())
def test_cost_is_the_sum_over_values(traffic: ValueTraffic, data: st.DataObject) -> None:
    leaves = [Leaf(stream, node) for stream, node in enumerate(traffic.nodes)]
    first, *others = data.draw(st.permutations(leaves))
    tree = first
    for leaf in others:
        tree = MJoin((tree, leaf) if data.draw(st.booleans()) else (leaf, tree))
    parts = [communication_cost(tree, traffic.only([value])) for value in range(traffic.rates.shape[1])]
    assert communication_cost(tree, traffic) == pytest.approx(sum(parts))


def test_only_what_changes_its_node_is_sent() -> None:
    traffic = one_attribute([Feed(1, 1, 0), Feed(10, 1, 0), Feed(100, 1, 1), Feed(1000, 1, 2)], 1)
    a, b, c, d = (Leaf(stream, node) for stream, node in enumerate(traffic.nodes))
    assert communication_cost(a, traffic) == 0
    assert communication_cost(MJoin((a, b)), traffic) == 0
    assert communication_cost(MJoin((c, a, b)), traffic) == 100
    assert communication_cost(MJoin((a, b, c)), traffic) == 11
    # The result of a and b is sent, 11 a second, and d; what was joined in place is not.
    assert communication_cost(MJoin((MJoin((a, b)), d, c)), traffic) == 1011


def test_results_grow_with_their_streams() -> None:
    feeds = [Feed(2, 1, node) for node in range(3)]
    flat, grow = (one_attribute(feeds, 1, sizes) for sizes in ("flat", "grow"))
    for count in (1, 2, 3):
        streams = some(*range(count))
        assert load(grow, streams) == count * load(flat, streams) == count * flat.joined(streams).rate


PAIR = (Feed(1, 1, 0), Feed(1, 1, 1))
EDGE = {some(0, 1): 0.5}
REFUSED = {
    "negative rate": lambda: Feed(-1, 1, 0),
    "unknown rate": lambda: Feed(nan, 1, 0),
    "endless window": lambda: Feed(1, inf, 0),
    "negative node": lambda: Feed(1, 1, -1),
    "no stream": lambda: GraphTraffic((), {}),
    "no edge": lambda: GraphTraffic(PAIR, {}),
    "two parts": lambda: GraphTraffic(2 * PAIR, {some(0, 1): 0.5, some(2, 3): 0.5}),
    "probability above 1": lambda: GraphTraffic(PAIR, {some(0, 1): 1.5}),
    "edge to nowhere": lambda: GraphTraffic(PAIR, {some(0, 2): 0.5}),
    "edge of one": lambda: GraphTraffic(PAIR, {some(0): 0.5, **EDGE}),
    "rates of another shape": lambda: ValueTraffic((0, 1), np.ones((2, 3)), np.ones((2, 2))),
    "rates of another stream": lambda: ValueTraffic((0,), np.ones((2, 3)), np.ones((2, 3))),
    "negative rates": lambda: ValueTraffic((0, 1), -np.ones((2, 3)), np.ones((2, 3))),
    "unknown stream": lambda: GraphTraffic(PAIR, EDGE).joined(some(0, 2)),
    "unknown stream by value": lambda: routers().joined(some(-1)),
    "join of nothing": lambda: GraphTraffic(PAIR, EDGE).joined(some()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused(name: str) -> None:
    with pytest.raises(InvalidQuery):
        REFUSED[name]()


def test_both_models_are_traffic() -> None:
    models: list[Traffic] = [GraphTraffic(PAIR, EDGE), routers()]
    assert [model.linked(some(0), some(1)) for model in models] == [True, True]
    assert not models[1].linked(some(0), some())
