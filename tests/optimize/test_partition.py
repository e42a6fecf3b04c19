"""Plans per group of values, and which operators have them (Zhou et al. 2006).

Would catch: a value in no group or in two, groups that differ from run to run, equal values torn apart, an
exact plan that gets worse with more groups, a PMJoin that feeds another, and one in the place that the other
inputs are sent to.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.cost.traffic import Feed, ValueTraffic, one_attribute
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.papers.zhou.optimal import optimal
from watersmeet.optimize.papers.zhou.pmjoin import pmjoin
from watersmeet.optimize.papers.zhou.select_baselines import select_alternative, select_random
from watersmeet.optimize.sites.partition.by_hash import by_hash
from watersmeet.optimize.sites.partition.by_range import by_range
from watersmeet.optimize.sites.partition.by_rate import by_rate, rank_vectors
from watersmeet.optimize.sites.partition.find_partition import Candidate, find_partition, partitionable
from watersmeet.optimize.sites.partition.groups import Groups
from watersmeet.optimize.sites.partition.select import input_rate, select
from watersmeet.optimize.sites.placement import Leaf, MJoin, Tree, operators
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt

# Table 1 of the paper: values a, b, c in three streams, windows of half a second.
RATES = np.array([[0.1, 0.1, 100.0], [0.03, 50.0, 0.04], [50.0, 0.01, 0.02]])
ROUTERS = ValueTraffic((0, 1, 2), RATES, 0.5 * RATES, "grow")
EACH: Groups = ((0,), (1,), (2,))


@pytest.mark.parametrize("planner", [stream_join_opt, optimal])
def test_example_1(planner: object) -> None:
    plan = pmjoin(ROUTERS, EACH, planner)
    assert [placement.cost for placement in plan.placements] == pytest.approx([0.036, 0.012, 0.0216])
    assert plan.cost == pytest.approx(0.0696)
    trees = [str(placement.tree) for placement in plan.placements]
    assert trees == ["((S1 S0)@0 S2)@2", "((S2 S0)@0 S1)@1", "((S2 S1)@1 S0)@0"]


def test_example_1_groups_by_rate() -> None:
    """The three values have three orders of streams."""
    assert rank_vectors(RATES).tolist() == [[2, 1, 3], [2, 3, 1], [3, 2, 1]]
    assert by_rate(RATES, 3) == EACH


def test_rank_vectors_hold_ranks_and_not_streams() -> None:
    """Sorted by rate 3, 1, 2: the first stream is the second, the second the last, the third the first."""
    assert rank_vectors(np.array([[5.0], [9.0], [1.0]])).tolist() == [[2, 3, 1]]
    # Equally fast ones rank by number.
    assert rank_vectors(np.array([[4.0], [1.0], [4.0], [1.0]])).tolist() == [[3, 1, 4, 2]]


tables = st.integers(2, 4).flatmap(
    lambda streams: st.lists(
        st.lists(st.integers(0, 4).map(float), min_size=streams, max_size=streams), min_size=1, max_size=12
    ).map(lambda rows: np.array(rows).T)
)
counts = st.integers(1, 15)


@given(tables, counts, st.integers(0, 5))
def test_groups_partition_the_domain(rates: np.ndarray, count: int, seed: int) -> None:
    values = rates.shape[1]
    for groups in (
        by_hash(values, count, seed=seed),
        by_range(values, count),
        by_rate(rates, count, seed=seed),
        by_rate(rates, count, seed=seed, mode="paper"),
    ):
        assert sorted(value for group in groups for value in group) == list(range(values))
        assert () not in groups
        assert len(groups) <= count
        assert list(groups) == sorted(groups)


@given(tables, counts, st.integers(0, 5))
def test_groups_by_rate_keep_equal_values_together(rates: np.ndarray, count: int, seed: int) -> None:
    groups = by_rate(rates, count, seed=seed)
    vectors = [tuple(vector) for vector in rank_vectors(rates).tolist()]
    home = [
        next(number for number, group in enumerate(groups) if value in group) for value in range(len(vectors))
    ]
    assert len(set(zip(vectors, home, strict=True))) == len(set(vectors))
    if count >= len(set(vectors)):
        assert len(groups) == len(set(vectors))
    assert groups == by_rate(rates, count, seed=seed)


def test_groups_by_rate_find_what_is_alike() -> None:
    """Two kinds of values, hardly different within a kind: whatever the seed, they are not mixed."""
    streams = np.arange(6.0)
    kind, other = streams + 1, streams[::-1] + 1
    swapped = kind[[1, 0, 2, 3, 4, 5]]
    rates = np.array([kind, other, swapped, other, kind]).T
    assert {by_rate(rates, 2, seed=seed) for seed in range(20)} == {((0, 2, 4), (1, 3))}


def test_the_papers_groups_spread_equal_values() -> None:
    alike = np.outer([1.0, 2.0, 3.0], np.ones(200))
    assert by_rate(alike, 4) == (tuple(range(200)),)
    groups = by_rate(alike, 4, mode="paper")
    assert len(groups) == 4
    assert min(map(len, groups)) > 25
    assert groups == by_rate(alike, 4, mode="paper")
    assert groups != by_rate(alike, 4, mode="paper", seed=1)


def test_ranges_are_even_and_hashes_are_not_ranges() -> None:
    assert {len(group) for group in by_range(1000, 7)} == {142, 143}
    assert all(list(group) == list(range(group[0], group[-1] + 1)) for group in by_range(1000, 7))
    spread = by_hash(1000, 7)
    assert all(100 < len(group) < 190 for group in spread)
    assert all(group[0] < 50 and group[-1] > 950 for group in spread)


@st.composite
def skewed(draw: st.DrawFn) -> ValueTraffic:
    streams, values = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    row = st.lists(st.floats(0, 20), min_size=values, max_size=values)
    rates = np.array(draw(st.lists(row, min_size=streams, max_size=streams)))
    spans = draw(st.lists(st.floats(0, 2), min_size=streams, max_size=streams))
    nodes = draw(st.lists(st.integers(0, 2), min_size=streams, max_size=streams))
    sizes = draw(st.sampled_from(["flat", "grow"]))
    return ValueTraffic(tuple(nodes), rates, np.array(spans)[:, None] * rates, sizes)


@given(skewed())
def test_one_group_is_no_partitioning(traffic: ValueTraffic) -> None:
    for planner in (stream_join_opt, optimal):
        plan = pmjoin(traffic, by_range(traffic.rates.shape[1], 1), planner)
        assert plan.placements == (planner(traffic),)
        assert plan.cost == planner(traffic).cost


@given(skewed(), st.data())
def test_finer_groups_never_cost_more(traffic: ValueTraffic, data: st.DataObject) -> None:
    """With exact plans: what suits a group can be done for each of its parts."""
    values = range(traffic.rates.shape[1])
    coarse = [data.draw(st.integers(0, 2)) for _ in values]
    fine = [2 * label + data.draw(st.integers(0, 1)) for label in coarse]
    costs = []
    for labels in (coarse, fine, list(values)):
        groups = tuple(tuple(v for v in values if labels[v] == label) for label in sorted(set(labels)))
        costs.append(pmjoin(traffic, groups, optimal).cost)
    assert costs[1] <= costs[0] * (1 + 1e-9)
    assert costs[2] <= costs[1] * (1 + 1e-9)


def test_different_distributions_gain_from_two_groups() -> None:
    """Fig. 8: two groups by rate save much when streams have different frequent values, at random places."""
    rng = np.random.default_rng(3)
    frequent = rng.integers(0, 2, 60)
    rates = np.where(frequent == np.arange(4)[:, None] % 2, 10.0, 0.01) * rng.uniform(0.9, 1.1, (4, 60))
    traffic = ValueTraffic((0, 1, 2, 3), rates, 0.2 * rates)
    whole = pmjoin(traffic, by_range(60, 1)).cost
    assert pmjoin(traffic, by_rate(rates, 2)).cost < 0.2 * whole
    assert pmjoin(traffic, by_range(60, 2)).cost > 0.8 * whole


# Joins on different attributes.


def some(*streams: int) -> frozenset[int]:
    return frozenset(streams)


A, B, C, D, E = (Leaf(stream, node=stream) for stream in range(5))


def found(tree: Tree, attributes: dict[frozenset[int], str | None]) -> list[tuple[str, list[str], list[str]]]:
    return [
        (one.attribute, [str(join) for join in one.merged], [str(part) for part in one.inputs])
        for one in find_partition(tree, attributes)
    ]


def test_operators_on_one_attribute_become_one() -> None:
    tree = MJoin((MJoin((MJoin((A, B)), C)), D))
    assert found(tree, {some(0, 1): "y", some(1, 2): "x", some(2, 3): "x"}) == [
        ("x", ["(((S0 S1)@1 S2)@2 S3)@3", "((S0 S1)@1 S2)@2"], ["(S0 S1)@1", "S2", "S3"]),
        ("y", ["(S0 S1)@1"], ["S0", "S1"]),
    ]
    # Three on the same attribute need more than one look at the children.
    assert [len(one[1]) for one in found(tree, dict.fromkeys([some(0, 1), some(1, 2), some(2, 3)], "x"))] == [
        3
    ]
    assert [len(one[1]) for one in found(tree, {some(0, 1, 2, 3): "x"})] == [3]


def test_other_predicates_cannot_be_split_by_value() -> None:
    tree = MJoin((A, B))
    assert found(tree, {some(0, 1): None}) == []
    assert found(MJoin((A, B, C)), {some(0, 1): "x", some(1, 2): "y"}) == []
    assert found(MJoin((A, B, C)), {some(0, 1): "x", some(1, 2): "x", some(0, 2): None}) == []


def test_the_right_input_is_not_split() -> None:
    """It decides the place of its parent, so it must have one."""
    tree = MJoin((C, MJoin((A, B))))
    assert [one[0] for one in found(tree, {some(0, 1): "y", some(1, 2): "x"})] == ["x"]
    # On the attribute of its parent it may be swallowed: then it has no place of its own.
    assert [len(one[1]) for one in found(tree, {some(0, 1): "x", some(1, 2): "x"})] == [2]


def test_the_right_input_of_a_swallowed_operator_is_not_split_either() -> None:
    """Should the upper ones become ordinary joins again, it is what decides the place of one of them."""
    tree = MJoin((MJoin((C, MJoin((A, B)))), D))
    assert [one[0] for one in found(tree, {some(0, 1): "y", some(1, 2): "x", some(2, 3): "x"})] == ["x"]


def test_the_larger_one_is_taken_and_its_neighbours_are_not() -> None:
    tree = MJoin((MJoin((MJoin((A, B)), C)), D))
    edges = {some(0, 1): "x", some(1, 2): "y", some(2, 3): "z"}
    candidates = find_partition(tree, edges)
    assert [one.attribute for one in candidates] == ["z", "y", "x"]
    for fastest, expected in ((3, ["z", "x"]), (1, ["x", "z"]), (2, ["y"])):
        rates = [100.0 if stream == fastest else 1.0 for stream in range(5)]
        traffic = one_attribute([Feed(rate, 0.001, node) for node, rate in enumerate(rates)], 1)
        chosen = select(candidates, traffic)
        assert [one.attribute for one in chosen] == expected
        others = {one.attribute for one in select_alternative(candidates, traffic)}
        assert others == {"x", "y", "z"} - set(expected)
    assert {tuple(c.attribute for c in select_random(candidates, seed=seed)) for seed in range(30)} == {
        ("x", "z"),
        ("z", "x"),
        ("y",),
    }


def test_those_given_up_may_be_neighbours_too() -> None:
    tree = MJoin((MJoin((MJoin((MJoin((A, B)), C)), D)), E))
    candidates = find_partition(tree, {some(n, n + 1): name for n, name in enumerate("wxyz")})
    rates = [50.0, 50.0, 2.0, 1.0, 200.0]
    traffic = one_attribute([Feed(rate, 0.001, node) for node, rate in enumerate(rates)], 1)
    assert [one.attribute for one in select(candidates, traffic)] == ["z", "w"]
    assert [one.attribute for one in select_alternative(candidates, traffic)] == ["x"]


@st.composite
def plans(draw: st.DrawFn) -> tuple[Tree, dict[frozenset[int], str | None]]:
    """A random tree whose operators join on one attribute, sometimes on two or on none."""
    parts: list[Tree] = [Leaf(stream, node=stream % 4) for stream in range(draw(st.integers(2, 9)))]
    edges: dict[frozenset[int], str | None] = {}
    while len(parts) > 1:
        parts = draw(st.permutations(parts))
        count = draw(st.integers(2, min(3, len(parts))))
        inputs, parts = parts[:count], parts[count:]
        name = draw(st.sampled_from(["x", "y", "z"]))
        for left, right in pairwise(inputs):
            other = draw(st.sampled_from([name, name, name, "w", None]))
            edges[some(min(left.streams), max(right.streams))] = other
        parts = [*parts, MJoin(tuple(inputs))]
    return parts[0], edges


def above(tree: Tree) -> dict[frozenset[int], MJoin]:
    return {part.streams: join for join in operators(tree) for part in join.inputs}


def assert_allowed(tree: Tree, chosen: tuple[Candidate, ...]) -> None:
    """No PMJoin feeds a PMJoin, and none is the right-most input of an ordinary join."""
    split = {join.streams for one in chosen for join in one.merged}
    assert len(split) == sum(len(one.merged) for one in chosen)
    for one in chosen:
        parent = above(tree).get(one.streams)
        if parent is not None:
            assert parent.streams not in split
            assert parent.inputs[-1].streams != one.streams


@given(plans(), st.integers(0, 3), st.lists(st.floats(0, 10), min_size=9, max_size=9))
def test_selections_are_allowed_and_complete(
    plan: tuple[Tree, dict[frozenset[int], str | None]], seed: int, rates: list[float]
) -> None:
    tree, edges = plan
    traffic = one_attribute([Feed(rate, 1, node) for node, rate in enumerate(rates)], 0.5)
    candidates = find_partition(tree, edges)
    heuristic = select(candidates, traffic)
    alternative = select_alternative(candidates, traffic)
    at_random = select_random(candidates, seed=seed)
    for chosen in (heuristic, alternative, at_random):
        assert_allowed(tree, chosen)
    assert not set(heuristic) & set(alternative)
    assert at_random == select_random(candidates, seed=seed)
    for chosen in (heuristic, at_random):
        taken = {one.streams for one in chosen}
        fed = {part.streams for one in chosen for part in one.inputs}
        for given_up in set(candidates) - set(chosen):
            assert given_up.streams in fed or taken & {part.streams for part in given_up.inputs}
    if candidates:
        assert input_rate(heuristic[0], traffic) == max(input_rate(one, traffic) for one in candidates)


@given(plans())
def test_candidates_take_all_they_can(plan: tuple[Tree, dict[frozenset[int], str | None]]) -> None:
    tree, edges = plan
    candidates = find_partition(tree, edges)
    swallowed = [join.streams for one in candidates for join in one.merged]
    assert len(swallowed) == len(set(swallowed))
    for join in operators(tree):
        parent = above(tree).get(join.streams)
        right = parent is not None and parent.inputs[-1] is join
        if partitionable(join, edges) is not None and not right:
            assert join.streams in swallowed
    for one in candidates:
        assert {partitionable(join, edges) for join in one.merged} == {one.attribute}
        assert frozenset().union(*(part.streams for part in one.inputs)) == one.streams
        assert not any(isinstance(p, MJoin) and partitionable(p, edges) == one.attribute for p in one.inputs)


REFUSED = {
    "no group": lambda: by_hash(10, 0),
    "no range": lambda: by_range(10, 0),
    "no cluster": lambda: by_rate(RATES, 0),
    "no value": lambda: by_range(0, 1),
    "a value left out": lambda: pmjoin(ROUTERS, ((0,), (2,))),
    "a value twice": lambda: pmjoin(ROUTERS, ((0, 1), (1, 2))),
    "an empty group": lambda: pmjoin(ROUTERS, ((0, 1, 2), ())),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused(name: str) -> None:
    with pytest.raises(InvalidQuery):
        REFUSED[name]()
