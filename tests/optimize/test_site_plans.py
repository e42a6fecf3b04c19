"""Plans between sites: the cheapest of what was considered, exact when they run, and predicted right.

Would catch: a plan dearer than one that was looked at; a plan that cannot run or loses rows; predictions
that are not what the kernels send; keys that are taken to match though they are known not to; a missing link
that is used, or that hides a plan without it.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from harness.graphs import SHAPES, random_events, random_query
from harness.sites import arrivals, events_of, join_of, results_of, simulate, spread
from harness.steady import Steady, bytes_per_second, even, known, query_of
from oracles import graph
from oracles.graph import LastRows
from oracles.reference import assert_same_rows
from watersmeet.cost.sizes import Sizes
from watersmeet.errors import InvalidPlanning, InvalidQuery
from watersmeet.kernel.sites.packet import Packet, to_bytes
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.sites.by_bytes import OneWay, Reached
from watersmeet.optimize.sites.choose import choose_site_plan
from watersmeet.optimize.sites.loads import one_way_loads
from watersmeet.optimize.sites.meetings import Meetings
from watersmeet.optimize.sites.planning import METHODS, SitePlanning
from watersmeet.optimize.sites.problem import SiteProblem
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.placed import ByValue
from watersmeet.plan.sites.plan import SitePlan
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.query import JoinQuery, RowWindow
from watersmeet.query.network import Network, network
from watersmeet.spark.query import Query
from watersmeet.stats import NOTHING_KNOWN, Statistics
from watersmeet.stats.given import statistics

Streams = Mapping[str, Steady]

# Two streams with rows of a kilobyte, of whose keys one in fifty is the same.
FEW_MATCH: Streams = {
    "a": Steady(50, 4, {"k": even(*range(1000))}, 1000, "x"),
    "b": Steady(20, 6, {"k": even(*range(980, 1980))}, 1000, "y"),
}
THREE: Streams = {
    "a": Steady(50, 5, {"k": even(*range(300))}, 200, "x"),
    "b": Steady(20, 5, {"k": even(*range(100, 400))}, 600, "y"),
    "c": Steady(30, 4, {"k": even(*range(200, 500))}, 300, "z"),
}
TWO_KEYS: Streams = {
    "a": Steady(20, 5, {"k": even(*range(300))}, 400, "x"),
    "b": Steady(50, 5, {"k": even(*range(100, 400)), "m": even(*range(200))}, 100, "y"),
    "c": Steady(30, 4, {"m": even(*range(190, 390))}, 300, "z"),
}


def plan_of(
    join: JoinQuery, known_: Statistics = NOTHING_KNOWN, net: Network | None = None, **given: Any
) -> SitePlan:
    return choose_site_plan(join, net, Planning(known_, sites=SitePlanning(**given)))


def planned(
    streams: Streams, net: Network | None = None, on: tuple[str, ...] = ("k",), **given: Any
) -> SitePlan:
    return plan_of(query_of(streams, on), known(streams), net, **given)


def random_statistics(random: Random, join: JoinQuery) -> Statistics:
    """Figures that need not be true: they must never change the results."""
    if random.random() < 0.2:
        return NOTHING_KNOWN
    columns: dict[str, dict[str, None]] = {name: {} for name in join.names}
    for attribute in join.attributes:
        for stream in attribute.streams:
            member = attribute.members[stream]
            if member is not None and member.column is not None:
                columns[join.names[stream]][member.column] = None
    often = random.random() < 0.6
    return statistics(
        {
            name: {
                "rate": random.choice([0.1, 1, 20]),
                "distinct": random.choice([2, 50, 1000]),
                **({"frequencies": {key: _shares(random) for key in keys}} if often and keys else {}),
            }
            for name, keys in columns.items()
        },
        batch="1 second",
    )


def _shares(random: Random) -> dict[int, float]:
    first = random.random()
    return {0: first, 1: 1 - first}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("streams", [2, 3, 4])
def test_a_plan_gives_exactly_the_rows_of_the_definition(method: str, streams: int) -> None:
    for number in range(7 - streams):
        random = Random(f"{method} {streams} {number}")  # noqa: S311
        query = random_query(random, random.choice(SHAPES), streams)
        if method in ("auto", "sequences") and random.random() < 0.3:
            query = replace(query, windows=(LastRows(random.choice([1, 3])), *query.windows[1:]))
        join = join_of(query)
        sites = spread(random, streams)
        join = replace(
            join, streams=tuple(replace(s, site=at) for s, at in zip(join.streams, sites, strict=True))
        )
        plan = plan_of(join, random_statistics(random, join), method=method)
        rows = random_events(random, streams, 10 if streams < 4 else 7)
        coming = arrivals(random, join, rows, tick=2, disorder=random.choice([0, 3]))
        measured, _ = simulate(random, plan.wiring, coming, tick=2)
        assert_same_rows(results_of(join, measured), graph.join(events_of(query, rows), query.conditions))


@pytest.mark.parametrize("partition", ["rate", "hash", "range"])
def test_joins_by_value_give_exactly_the_rows_of_the_definition(partition: str) -> None:
    split = 0
    for number in range(12):
        random = Random(f"{partition} {number}")  # noqa: S311
        query = random_query(random, random.choice(SHAPES), random.choice([2, 3]))
        join = join_of(query)
        sites = [f"n{stream}" for stream in range(len(join.streams))]
        join = replace(
            join, streams=tuple(replace(s, site=at) for s, at in zip(join.streams, sites, strict=True))
        )
        try:
            plan = plan_of(join, random_statistics(random, join), partition=partition, groups=2)
        except InvalidPlanning:
            continue
        split += isinstance(plan.shape, ByValue) and len(plan.shape.ways) > 1
        rows = random_events(random, len(join.streams), 10)
        coming = arrivals(random, join, rows, tick=2, disorder=0)
        measured, _ = simulate(random, plan.wiring, coming, tick=2)
        assert_same_rows(results_of(join, measured), graph.join(events_of(query, rows), query.conditions))
    # Two values may have hashes that put them into one group.
    assert split or partition == "hash"


@pytest.mark.parametrize("streams", [FEW_MATCH, THREE, TWO_KEYS], ids=["two", "three", "two keys"])
@pytest.mark.parametrize("price", [0.0, 0.1])
def test_nothing_that_was_considered_is_cheaper(streams: Streams, price: float) -> None:
    on = ("a.k = b.k", "b.m = c.m") if streams is TWO_KEYS else ("k",)
    net = network(price=price, links={("x", "y"): {"price": 3 * price}})
    plan = planned(streams, net, on)
    assert plan.choice.cost is not None
    assert len(plan.choice.alternatives) >= 5
    assert all(plan.choice.cost <= other.cost for other in plan.choice.alternatives)
    one = plan.one_site
    assert one is not None
    if not price:
        assert plan.choice.cost == pytest.approx(plan.bytes.number)
        assert plan.choice.cost <= one.bytes.number
    for method in METHODS:
        asked = planned(streams, net, on, method=method)
        assert asked.choice.cost is not None
        assert plan.choice.cost <= asked.choice.cost
        assert asked.method == method or method == "auto"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("few match", {"method": "sequences"}),
        ("half match", {"method": "placed"}),
        ("three", {"method": "sequences"}),
        ("three", {"method": "tree"}),
        ("three", {"method": "placed", "partition": "none"}),
        ("three", {"method": "one site"}),
        ("two keys", {"method": "sequences"}),
        ("two keys", {"method": "tree"}),
        ("rows", {"method": "sequences"}),
    ],
    ids=str,
)
def test_predictions_are_what_is_sent(name: str, given: dict[str, str]) -> None:
    on = ("a.k = b.k", "b.m = c.m") if name == "two keys" else ("k",)
    streams = {
        "few match": FEW_MATCH,
        "half match": {"a": THREE["a"], "b": THREE["b"]},
        "three": THREE,
        "two keys": TWO_KEYS,
        "rows": {**THREE, "a": replace(THREE["a"], window=RowWindow(250))},
    }[name]
    plan = planned(streams, None, on, **given)
    sent = bytes_per_second(plan.query, streams, plan.wiring, warm=10, seconds=30)
    assert set(sent) == {(link.sender, link.receiver) for link in plan.links}
    total = sum(size for _, size in sent.values())
    assert plan.bytes.number == pytest.approx(total, rel=0.15)
    for link in plan.links:
        # Few rows of a kilobyte make a link's bytes a matter of chance.
        assert link.bytes.number == pytest.approx(sent[link.sender, link.receiver][1], rel=0.3, abs=400)


@pytest.mark.parametrize("algorithm", Algorithm, ids=lambda algorithm: algorithm.value)
def test_every_algorithm_sends_what_is_predicted(algorithm: Algorithm) -> None:
    """Also where it is not the best."""
    streams = THREE
    join = query_of(streams, ["k"])
    problem = SiteProblem(join, None, Meetings(Sizes(join, known(streams))))
    ways = []
    for head, site in enumerate(problem.sites):
        reached = Reached(frozenset({head}), site, 0.0)
        for stream in (stream for stream in range(len(streams)) if stream != head):
            heads, joined, far = frozenset({head}), frozenset({stream}), problem.sites[stream]
            sent = problem.exchanges(reached.done, heads, joined)[algorithm]
            step = OneWay(reached.done, heads, joined, algorithm, reached.site, far, sent)
            reached = Reached(reached.done | joined, step.site, 0.0, (*reached.steps, step))
        ways.append(reached)
    predicted = one_way_loads(problem, ways).links
    hops = tuple(tuple(Hop(min(step.joined), algorithm) for step in way.steps) for way in ways)
    wiring = Sequences(hops).wiring(join, problem.sites)
    sent_bytes = bytes_per_second(join, streams, wiring, warm=8, seconds=30)
    total = sum(size for _, size in sent_bytes.values())
    assert sum(sent.bytes for sent in predicted.values()) == pytest.approx(total, rel=0.12)


def test_keys_that_seldom_match_are_asked_for_first() -> None:
    """Frequencies, and likewise numbers of keys with the probability that rows match."""
    plan = planned(FEW_MATCH, method="sequences")
    matches = statistics(
        {
            "a": {"rate": 50, "distinct": 1000, "row_bytes": 1008},
            "b": {"rate": 20, "distinct": 1000, "row_bytes": 1008},
        },
        matches={("a", "b"): 0.02 / 1000},
        batch="1 second",
    )
    counted = plan_of(query_of(FEW_MATCH, ["k"]), matches, method="sequences")
    assert counted.shape == plan.shape
    assert counted.bytes.number == pytest.approx(plan.bytes.number, rel=0.02)
    assert plan.one_site is not None
    assert plan.bytes.number < 0.1 * plan.one_site.bytes.number
    # Without that, all keys of one stream are taken to be among those of the other.
    alike = plan_of(query_of(FEW_MATCH, ["k"]), replace(matches, matches={}), method="sequences")
    assert alike.bytes.number > 5 * counted.bytes.number


def shares(*rates: float) -> dict[int, float]:
    return {value: rate / sum(rates) for value, rate in enumerate(rates)}


# Example 1 of Zhou et al. 2006, ten times as fast with a tenth of the window.
EXAMPLE_1: Streams = {
    "s1": Steady(1002, 0.05, {"k": shares(1, 1, 1000)}, 0, "n1"),
    "s2": Steady(500.7, 0.05, {"k": shares(0.3, 500, 0.4)}, 0, "n2"),
    "s3": Steady(500.3, 0.05, {"k": shares(500, 0.1, 0.2)}, 0, "n3"),
}


def test_example_1_of_zhou_et_al() -> None:
    plan = planned(EXAMPLE_1)
    single = planned(EXAMPLE_1, method="placed", partition="none")
    rows = [sum(link.rows.number for link in one.links) for one in (plan, single)]
    assert isinstance(plan.shape, ByValue)
    assert [way.site for way in plan.shape.ways] == ["n3", "n2", "n1"]
    assert rows[0] <= 0.01 * rows[1]
    # The paper's figures: a tuple of a source counts once, one of two streams twice.
    assert rows[0] == pytest.approx(10 * (0.03 + 0.003 + 0.01 + 0.001 + 0.02 + 0.0008), rel=1e-3)
    assert rows[1] == pytest.approx(10 * (50.03 + 2.0008), rel=1e-3)


def test_joins_on_different_attributes_are_split_where_values_are_known() -> None:
    streams = {
        **EXAMPLE_1,
        "s3": Steady(500.3, 0.05, {"k": shares(500, 0.1, 0.2), "m": even(0, 1)}, 0, "n3"),
        "s4": Steady(30_000, 0.05, {"m": even(0, 1)}, 0, "n4"),
    }
    on = ("s1.k = s2.k", "s2.k = s3.k", "s3.m = s4.m")
    plan = planned(streams, None, on, method="placed")
    whole = planned(streams, None, on, method="placed", partition="none")
    assert "by k" in plan.choice.by
    assert plan.bytes.number < 0.5 * whole.bytes.number


def test_a_missing_link_is_not_used() -> None:
    net = network(links={("x", "y"): {}, ("y", "z"): {}})
    for method in METHODS:
        for known_ in (known(THREE), NOTHING_KNOWN):
            plan = plan_of(query_of(THREE, ["k"]), known_, net, method=method)
            assert {"x", "z"} not in [{link.sender, link.receiver} for link in plan.links]


def test_sites_that_cannot_talk_are_named() -> None:
    with pytest.raises(InvalidQuery) as error:
        planned(THREE, network(links={("x", "y"): {}}))
    assert error.value.fact == 'there is no link between sites "x" and "z"'
    assert "must meet" in error.value.detail
    assert '"x - y"' in error.value.hint


def test_without_statistics_keys_go_first() -> None:
    plan = plan_of(query_of(THREE, ["k"]))
    assert isinstance(plan.shape, Sequences)
    assert {hop.algorithm.value for hops in plan.shape.hops for hop in hops} == {"SM-D2"}
    assert not plan.bytes.is_known
    assert plan.choice.cost is None
    assert plan.notes[0].startswith("not known: the rate of a")


def test_streams_at_one_site_send_nothing() -> None:
    together = {name: replace(one, site="x") for name, one in THREE.items()}
    plan = planned(together)
    assert plan.method == "one site"
    assert plan.links == ()


def test_links_with_a_price_are_avoided() -> None:
    dear = network(price=0.0, links={("x", "z"): {"price": 1.0}})
    links = planned(THREE, dear).links
    assert links
    assert {"x", "z"} not in [{link.sender, link.receiver} for link in links]


def test_row_windows_run_by_sequences_only() -> None:
    streams = {**THREE, "a": replace(THREE["a"], window=RowWindow(100))}
    assert planned(streams).method == "sequences"
    for method in ("tree", "placed", "one site"):
        with pytest.raises(InvalidPlanning, match="cannot join windows of rows") as error:
            planned(streams, method=method)
        assert 'method="sequences"' in error.value.hint
    streams["a"] = replace(THREE["a"], window=RowWindow(100, per_key=True))
    with pytest.raises(InvalidPlanning, match="cannot be counted per key between sites") as error:
        planned(streams)
    assert "to_dataframe()" in error.value.hint


@pytest.mark.parametrize(
    ("given", "fact", "hint"),
    [
        ({"method": "trees"}, 'there is no method "trees"', '"auto", "one site", "placed"'),
        ({"optimizer": "best"}, 'there is no optimizer "best"', '"exhaustive", "greedy"'),
        ({"partition": "key"}, 'there is no partition "key"', '"hash", "range", "rate", "none"'),
        ({"groups": 0}, "the number of groups is not a whole number", "at most 64"),
        ({"groups": True}, "the number of groups is not a whole number", "at most 64"),
        ({"method": "tree", "groups": 3}, 'method "tree" has one plan for all values', 'method="placed"'),
    ],
)
def test_unknown_settings_are_refused(given: dict[str, Any], fact: str, hint: str) -> None:
    with pytest.raises(InvalidPlanning) as error:
        SitePlanning(**given)
    assert error.value.fact.startswith(fact)
    assert error.value.detail
    assert hint in error.value.hint


def test_a_query_has_its_plan_between_sites() -> None:
    net = network(latency="25 ms")
    query = Query.of(query_of(THREE, ["k"]), None, Planning(known(THREE)), net)
    assert query.site_plan.network == net
    assert query.explain().splitlines()[0] == "join of 3 streams at 3 sites on k"
    changed = query.plan_sites(method="tree").plan_with(search_steps=5000)
    assert changed.site_plan.method == "tree"
    assert changed.plan_sites(method="placed", partition="hash", groups=2).site_plan.method == "placed"
    with pytest.raises(InvalidPlanning, match='there is no form "html" of a plan'):
        query.explain(form="html")


def test_what_is_said_of_one_kind_of_planning_stays_when_another_changes() -> None:
    query = Query.of(query_of(THREE, ["k"]), 4, Planning(known(THREE)), network(latency="25 ms"))
    changed = query.plan_sites(method="tree", optimizer="greedy").plan_with(search_steps=7, adaptive=False)
    changed = changed.plan_sites(optimizer="exhaustive")
    assert (changed.planning.sites.method, changed.planning.sites.optimizer) == ("tree", "exhaustive")
    assert (changed.planning.search_steps, changed.planning.adaptive) == (7, False)
    assert changed.planning.statistics == query.planning.statistics
    assert (changed.network, changed.plan.buckets) == (query.network, 4)
    refused = {
        "the query has windows": lambda: query.plan_memory(tick="2 seconds"),
        "segment is not a duration": lambda: query.plan_with(segment="soon"),
    }
    for fact, plan in refused.items():
        with pytest.raises(InvalidPlanning, match=fact):
            plan()


def test_a_query_without_sites_stays_as_it_is() -> None:
    join = query_of({name: replace(one, site="") for name, one in THREE.items()}, ["k"])
    query = Query.of(join, None, Planning(known(THREE)))
    assert "sites" not in query.explain(verbose=True)
    for ask in (lambda: query.site_plan, lambda: query.plan_sites(method="tree")):
        with pytest.raises(InvalidPlanning, match="the streams of this query have no site") as error:
            ask()
        assert "site=" in error.value.hint
    with pytest.raises(InvalidQuery, match="there is a network, but no stream has a site"):
        Query.of(join, None, Planning(), network(price=1))


def test_values_that_are_not_known_cannot_be_placed_by() -> None:
    with pytest.raises(InvalidPlanning, match="joins cannot be placed by value") as error:
        plan_of(query_of(THREE, ["k"]), partition="hash")
    assert "frequencies" in error.value.hint


def test_frames_are_as_large_as_the_model_says() -> None:
    from watersmeet.cost.site_bytes import COLUMN_BYTES, PACKET_BYTES, TABLE_BYTES

    pa = pytest.importorskip("pyarrow")
    for columns in (1, 3, 6):
        rows = pa.record_batch([pa.array([7] * 10)] * columns, [f"{n}.value" for n in range(columns)])
        size = len(to_bytes([("12", Packet(1_700_000_000_000_000, {"rows": rows}))]))
        model = TABLE_BYTES + columns * (COLUMN_BYTES + 80) + PACKET_BYTES
        assert model == pytest.approx(size, rel=0.02, abs=10)
