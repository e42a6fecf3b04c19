"""Plans for streams at different nodes against all plans there are, and against the paper's comparison.

Would catch: an algorithm taken from another stream, a step to a stream no join leads to, a search that
overlooks a plan or keeps one that only looked cheap, rates that depend on how they were computed, search
steps that end unnoticed.
"""

import statistics
from dataclasses import replace
from itertools import permutations, product
from random import Random

import pytest

from watersmeet.cost.semijoin import FORMULAS, OneWayJoin, output
from watersmeet.cost.site import Link, Setting, SiteStream, Work
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.papers.tran_lee.exhaustive import exhaustive
from watersmeet.optimize.papers.tran_lee.greedy import greedy
from watersmeet.optimize.papers.tran_lee.plan import Network, SitesPlan, SitesQuery, Step
from watersmeet.optimize.papers.tran_lee.tree import both_ways, tree
from watersmeet.plan.sites.algorithm import PUBLISHED, Algorithm

LINK = Link(latency=0.025, bandwidth=128_000)
GRAPHS = {
    "chain": frozenset({(0, 1), (1, 2), (2, 3)}),
    "star": frozenset({(0, 1), (0, 2), (0, 3)}),
    "cycle": frozenset({(0, 1), (1, 2), (2, 3), (3, 0)}),
    "full": frozenset({(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}),
}


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311


def drawn(rng: Random, nodes: tuple[int, ...] = (0, 1, 2, 3)) -> tuple[SiteStream, ...]:
    """Streams with parameters of Tran & Lee 2010, Table 2."""
    return tuple(
        SiteStream(
            node,
            rate=rng.choice((10, 50, 100, 150, 200)),
            window=rng.choice((0.4, 0.8, 1.2, 1.6, 2.0)),
            distinct=1 / rng.choice((0.02, 0.04, 0.06, 0.08, 0.1)),
            full=5 * rng.choice((10, 50, 100, 150, 200)),
            partial=5,
        )
        for node in nodes
    )


def shared_nodes(rng: Random, count: int) -> SitesQuery:
    """Some streams share a node, and links differ: where results come out matters."""
    nodes = tuple(rng.randrange(count - 1) for _ in range(count))
    links = {
        (one, other): Link(rng.choice((0.001, 0.02, 0.2)), rng.choice((10_000, 128_000, 10**7)))
        for one in range(count)
        for other in range(one)
    }
    joins = {(stream, rng.randrange(stream)) for stream in range(1, count)}
    joins |= {tuple(rng.sample(range(count), 2)) for _ in range(rng.randrange(3))}
    return SitesQuery(drawn(rng, nodes), frozenset(joins), Network(LINK, links))


def orders(query: SitesQuery, start: int | None = None) -> list[tuple[int, ...]]:
    """Every order in which each stream is joined with one before it."""
    joined = query.joins | {(other, one) for one, other in query.joins}
    return [
        order
        for order in permutations(range(len(query.streams)))
        if start in (None, order[0])
        and all(any((past, order[at]) in joined for past in order[:at]) for at in range(1, len(order)))
    ]


def toward(query: SitesQuery, current: SiteStream, past: tuple[int, ...], stream: int) -> SiteStream:
    members = [p for p in past if (p, stream) in query.joins or (stream, p) in query.joins]
    return replace(current, distinct=min(query.streams[member].distinct for member in members))


def priced(
    query: SitesQuery, order: tuple[int, ...], algorithms: tuple[Algorithm, ...]
) -> list[tuple[int, Algorithm, int, Work]]:
    """A sequence computed step by step from the formulas, without the planner."""
    current, steps = query.streams[order[0]], []
    for at, algorithm in enumerate(algorithms, start=1):
        first, second = toward(query, current, order[:at], order[at]), query.streams[order[at]]
        link = query.network.between(first.node, second.node)
        node = first.node if algorithm.value in ("SP-S", "SM-S1", "SM-S2") else second.node
        work = FORMULAS[algorithm](OneWayJoin(first, second, link, query.setting))
        steps.append((order[at], algorithm, node, work))
        current = output(first, second, node)
    return steps


def seconds(steps: list[tuple[int, Algorithm, int, Work]]) -> float:
    return sum(step[-1].total for step in steps)


def total(sequence: tuple[Step, ...]) -> float:
    return sum(step.work.total for step in sequence)


def check(query: SitesQuery, plan: SitesPlan) -> None:
    """Every sequence is valid, and costs and nodes are those of its own streams and algorithms."""
    assert len(plan.sequences) == len(query.streams)
    for head, sequence in enumerate(plan.sequences):
        order = (head, *(step.stream for step in sequence))
        assert order in orders(query, head)
        algorithms = tuple(step.algorithm for step in sequence)
        found = [(step.stream, step.algorithm, step.node, step.work) for step in sequence]
        assert found == priced(query, order, algorithms)
    everything = sum(total(sequence) for sequence in plan.sequences)
    assert plan.work.total == pytest.approx(everything)


@pytest.mark.parametrize(
    ("graph", "count"), {"chain": 8, "star": 12, "cycle": 16, "full": 24}.items(), ids=str
)
def test_valid_orders_of_four_streams(graph: str, count: int) -> None:
    """The planner walks along joins only: the orders it can take are as many as there should be."""
    query = SitesQuery(drawn(seeded(1)), GRAPHS[graph], Network(LINK))

    def walks(done: frozenset[int]) -> int:
        return sum(walks(done | {stream}) for stream in query.adjacent(done)) or 1

    assert sum(walks(frozenset({head})) for head in range(4)) == count == len(orders(query))


@pytest.mark.parametrize("seed", range(12))
def test_exhaustive_against_all_plans(seed: int) -> None:
    rng = seeded(seed)
    query = shared_nodes(rng, 4 if seed < 3 else 3)
    plan = exhaustive(query)
    check(query, plan)
    assert plan.skipped == ""
    for head, sequence in enumerate(plan.sequences):
        cheapest = min(
            seconds(priced(query, order, algorithms))
            for order in orders(query, head)
            for algorithms in product(PUBLISHED, repeat=len(query.streams) - 1)
        )
        assert total(sequence) == pytest.approx(cheapest, rel=1e-9)


def test_a_dear_step_can_pay() -> None:
    """Streams 1 and 2 share a node: bringing the results there makes the last step free of transmission.

    Taking the cheapest algorithm of each step of an order, which would do on equal links, misses it.
    """
    head = SiteStream(0, rate=60, window=1, distinct=10, full=1000, partial=5)
    near = SiteStream(1, rate=50, window=1, distinct=10, full=1000, partial=5)
    query = SitesQuery((head, near, replace(near, rate=300)), frozenset({(0, 1), (1, 2)}), Network(LINK))
    sequence = exhaustive(query).sequences[0]
    assert not sequence[0].algorithm.at_source
    assert sequence[1].work.transmission == 0
    assert total(sequence) < 0.5 * total(greedy(query).sequences[0])


def test_results_of_the_same_streams_can_have_different_rates() -> None:
    """Which join of a cycle comes last decides how many results there are, so the cheaper way may not do."""
    numbers = ((200, 0.4, 2, 1000), (200, 0.4, 10, 1000), (200, 0.4, 2, 50), (5, 2, 2, 50), (200, 0.4, 2, 50))
    streams = tuple(SiteStream(node, *given, partial=5) for node, given in enumerate(numbers))
    query = SitesQuery(streams, GRAPHS["cycle"] | {(0, 4)}, Network(LINK))
    for head, sequence in enumerate(exhaustive(query).sequences):
        # On equal links it does not matter where results come out: each step has its own cheapest algorithm.
        each = [[priced(query, order, (a,) * 4) for a in PUBLISHED] for order in orders(query, head)]
        cheapest = min(sum(min(steps[at][-1].total for steps in ways) for at in range(4)) for ways in each)
        assert total(sequence) == pytest.approx(cheapest, rel=1e-9)


@pytest.mark.parametrize("graph", GRAPHS)
def test_greedy_is_never_cheaper_and_equal_for_equal_streams(graph: str) -> None:
    rng = seeded(2)
    for _ in range(10):
        query = SitesQuery(drawn(rng), GRAPHS[graph], Network(LINK))
        plan, best = greedy(query), exhaustive(query)
        check(query, plan)
        check(query, best)
        for sequence, cheapest in zip(plan.sequences, best.sequences, strict=True):
            assert total(sequence) >= total(cheapest)
    # Fig. 9.
    alike = tuple(SiteStream(node, 100, 1.2, 1 / 0.06, 500, 5) for node in range(4))
    query = SitesQuery(alike, GRAPHS[graph], Network(LINK))
    assert greedy(query) == exhaustive(query)


def test_ties_go_to_the_smallest_stream_and_the_first_algorithm() -> None:
    alike = tuple(SiteStream(0, 100, 1.2, 10, 500, 5) for _ in range(4))
    free = Setting(constants=replace(Setting().constants, probe=0, insert=0, update=0, hashing=0))
    query = SitesQuery(alike, GRAPHS["full"], Network(LINK), free)
    expected = [(1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2)]
    for plan in (greedy(query), exhaustive(query)):
        assert [tuple(step.stream for step in sequence) for sequence in plan.sequences] == expected
        assert {step.algorithm for sequence in plan.sequences for step in sequence} == {Algorithm.SP_S}
    shape = tree(query)
    assert (shape.first, [join.stream for join in shape.joins]) == (0, [1, 2, 3])


def test_greedy_keeps_a_stream_with_its_algorithm() -> None:
    """Taking the algorithm of the stream looked at last, as printed, gives others in 17 of these."""
    rng = seeded(3)
    printed_differs = 0
    for _ in range(60):
        query = SitesQuery(drawn(rng), GRAPHS["full"], Network(LINK))
        first_steps = {
            stream: min((priced(query, (0, stream), (a,))[0] for a in PUBLISHED), key=lambda s: s[-1].total)
            for stream in (1, 2, 3)
        }
        stream, algorithm, _, work = min(first_steps.values(), key=lambda step: step[-1].total)
        found = greedy(query).sequences[0][0]
        assert (found.stream, found.algorithm, found.work) == (stream, algorithm, work)
        printed_differs += first_steps[3][1] is not algorithm
    assert printed_differs > 10


def test_table_3() -> None:
    """Greedy against exhaustive on 100 random queries per graph.

    The paper measured 1.02 for the star and 1.06 for the chain; by its formulas the star, with more orders
    to choose from, is not below the chain.
    """
    means = {}
    for graph, joins in GRAPHS.items():
        rng = seeded(4)
        ratios = []
        for _ in range(100):
            query = SitesQuery(drawn(rng), joins, Network(LINK))
            ratios.append(greedy(query).work.total / exhaustive(query).work.total)
        assert min(ratios) >= 1 - 1e-12
        means[graph] = statistics.mean(ratios)
    assert means["full"] > means["cycle"] > means["chain"] > 1
    assert max(means.values()) < 1.25


def test_search_steps_that_end_are_said_and_greedy_is_the_least() -> None:
    # In the last two the cheapest start of some head leads to a dearer end than the greedy steps.
    for seed, search_steps in ((5, 0), (3, 8), (7, 40), (18, 40)):
        query = shared_nodes(seeded(seed), 5)
        plan = exhaustive(query, search_steps=search_steps)
        check(query, plan)
        assert plan.skipped.startswith(f"{search_steps} search steps ended before every order of heads 0, ")
        for found, other in zip(plan.sequences, greedy(query).sequences, strict=True):
            assert total(found) <= total(other)
        shape = tree(query, search_steps=search_steps // 4)
        assert shape.skipped == f"{search_steps // 4} search steps ended before every order was searched"
        assert sorted([shape.first, *(join.stream for join in shape.joins)]) == [0, 1, 2, 3, 4]


def tree_cost(query: SitesQuery, order: tuple[int, ...]) -> float:
    """The cheapest tree of an order: every pair of algorithms, every place to keep results."""

    def from_here(left: SiteStream, at: int) -> float:
        left, right = toward(query, left, order[:at], order[at]), query.streams[order[at]]
        link = query.network.between(left.node, right.node)
        last = at == len(order) - 1
        ways = []
        for home in (left.node, right.node):
            pairs = []
            for algorithms in product(PUBLISHED, repeat=2):
                cost = 0.0
                for first, second, algorithm in zip((left, right), (right, left), algorithms, strict=True):
                    cost += FORMULAS[algorithm](OneWayJoin(first, second, link, query.setting)).total
                    results = output(first, second, first.node if algorithm.at_source else second.node)
                    if not last and results.node != home:
                        batch = results.rate * query.setting.tick * results.full
                        cost += link.time(batch) / query.setting.tick
                pairs.append(cost)
            later = 0.0 if last else from_here(both_ways(left, right, home), at + 1)
            ways.append(min(pairs) + later)
        return min(ways)

    return from_here(query.streams[order[0]], 1)


@pytest.mark.parametrize("seed", range(8))
def test_tree_against_all_trees(seed: int) -> None:
    query = shared_nodes(seeded(seed), 4)
    plan = tree(query)
    assert plan.skipped == ""
    assert plan.work.total == pytest.approx(min(tree_cost(query, order) for order in orders(query)), rel=1e-9)
    assert (plan.first, *(join.stream for join in plan.joins)) in orders(query)


def test_the_two_directions_of_a_tree_are_chosen_on_their_own() -> None:
    """Rows of the busy stream stay where they are; those of the quiet one come to them, both ways."""
    busy = SiteStream(0, rate=200, window=1, distinct=20, full=1000, partial=5)
    quiet = SiteStream(1, rate=10, window=1, distinct=20, full=50, partial=5)
    (join,) = tree(SitesQuery((busy, quiet), frozenset({(0, 1)}), Network(LINK))).joins
    assert (join.results.algorithm.at_source, join.results.node) == (True, 0)
    assert (join.arrivals.algorithm.at_source, join.arrivals.node) == (False, 0)
    assert join.node is None
    assert join.work == join.results.work + join.arrivals.work


@pytest.mark.parametrize("graph", ["chain", "star", "full"])
def test_a_tree_has_as_many_results_as_all_heads_together(graph: str) -> None:
    """Two ways to count the same results, whatever the order."""
    query = SitesQuery(drawn(seeded(6)), GRAPHS[graph], Network(LINK))
    rates = []
    for order in orders(query):
        kept = alone = query.streams[order[0]]
        for at in range(1, 4):
            right = query.streams[order[at]]
            kept = both_ways(toward(query, kept, order[:at], order[at]), right, 0)
            alone = output(toward(query, alone, order[:at], order[at]), right, 0)
        rates.append((order[0], kept.rate, alone.rate))
    per_head = {head: rate for head, _, rate in rates}
    for head, kept_rate, rate in rates:
        assert rate == pytest.approx(per_head[head])
        assert kept_rate == pytest.approx(sum(per_head.values()))


def test_streams_at_one_node_ship_nothing() -> None:
    query = SitesQuery(drawn(seeded(7), (3, 3, 3, 3)), GRAPHS["cycle"], Network(LINK))
    for plan in (greedy(query), exhaustive(query), tree(query)):
        assert plan.work.transmission == 0
        assert plan.work.processing > 0


@pytest.mark.parametrize(
    ("joins", "fact"),
    [
        ({(0, 1), (2, 3)}, "the join graph falls apart"),
        (set(), "the join graph falls apart"),
        ({(0, 1), (1, 2), (2, 3), (1, 1)}, "streams 1 and 1 cannot be joined"),
        ({(0, 1), (1, 2), (2, 4)}, "streams 2 and 4 cannot be joined"),
        ({(0, 1), (1, 2), (2, -1)}, "streams 2 and -1 cannot be joined"),
    ],
    ids=str,
)
def test_join_graphs_that_are_refused(joins: set[tuple[int, int]], fact: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        SitesQuery(drawn(seeded(8)), frozenset(joins), Network(LINK))
    assert refused.value.fact == fact
    assert refused.value.detail


def test_one_stream_and_negative_search_steps_are_refused() -> None:
    with pytest.raises(InvalidQuery, match="two streams or more"):
        SitesQuery(drawn(seeded(9), (0,)), frozenset(), Network(LINK))
    query = SitesQuery(drawn(seeded(9)), GRAPHS["chain"], Network(LINK))
    for search in (exhaustive, tree):
        with pytest.raises(InvalidQuery, match="number of search steps must be 0 or more"):
            search(query, search_steps=-1)
