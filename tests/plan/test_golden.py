"""Plans of chains, stars, cycles and cliques, kept as files to be read: tree, orders, figures, alternatives.

Would catch: a plan that changes without anybody noticing, an order that depends on chance. After a change
that is meant, run with WATERSMEET_GOLDEN=write and read the difference.
"""

import os
from datetime import timedelta
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from watersmeet.cost.forecast import forecast
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.plan.explain import explain
from watersmeet.query import Column, JoinQuery, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.stats import Statistics
from watersmeet.stats.given import statistics

FOLDER = Path(__file__).parent / "golden"
NAMES = "abcdef"
# Per stream rows per second, distinct values of every key, and seconds of window: no two alike.
RATES = (10, 400, 25, 90, 3, 150)
DISTINCT = (500, 2000, 40, 1000, 60, 250)
WINDOWS = (60, 30, 120, 45, 300, 20)


def edges(shape: str, streams: str) -> list[tuple[str, str]]:
    if shape == "chain":
        return list(pairwise(streams))
    if shape == "star":
        return [(streams[0], other) for other in streams[1:]]
    if shape == "cycle":
        return [*pairwise(streams), (streams[-1], streams[0])]
    return list(combinations(streams, 2))


def query_of(shape: str, count: int) -> JoinQuery:
    """Every edge has an attribute of its own, but for the last shape, where all streams share one."""
    streams = NAMES[:count]
    linked = edges(shape, streams)
    keys = {edge: f"{edge[0]}{edge[1]}" for edge in linked}
    columns = (Column("ts", "timestamp"), Column("k", "bigint"), Column("v", "double"))
    columns += tuple(Column(key, "bigint") for key in keys.values())
    on = ["k"] if shape == "shared key" else [f"{a}.{k} = {b}.{k}" for (a, b), k in keys.items()]
    return join_query(
        [
            Stream(n, columns, "ts", timedelta(seconds=w), timedelta(seconds=5))
            for n, w in zip(streams, WINDOWS, strict=False)
        ],
        on,
        [f"{name}.v" for name in streams],
        "inner",
        ColumnsOnly(),
    )


def known(count: int) -> Statistics:
    return statistics(
        {
            name: {"rate": RATES[i], "distinct": DISTINCT[i], "row_bytes": 20 + 10 * i}
            for i, name in enumerate(NAMES[:count])
        },
        batch="10 seconds",
    )


@pytest.mark.parametrize("count", [3, 4, 5, 6])
@pytest.mark.parametrize("shape", ["chain", "star", "cycle", "clique", "shared key"])
def test_a_plan_is_as_it_was(shape: str, count: int) -> None:
    figures = known(count)
    plan = choose_plan(query_of(shape, count), planning=Planning(figures))
    text = explain(plan, forecast(plan, figures), verbose=True) + "\n"
    path = FOLDER / f"{shape.replace(' ', '-')}-{count}.txt"
    if os.environ.get("WATERSMEET_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_a_stream_is_looked_up_by_all_it_shares() -> None:
    """Hosts are few and names many: dns is followed by ssl, and one operator is enough."""
    columns = tuple(Column(*one) for one in (("ts", "timestamp"), ("host", "string"), ("name", "string")))
    streams = [Stream(name, columns, "ts", timedelta(minutes=5)) for name in ("dns", "ssl", "weird")]
    on = ["dns.host = ssl.host", "ssl.host = weird.host", "dns.name = ssl.name"]
    query = join_query(streams, on, ["dns.ts"], "inner", ColumnsOnly())
    keys = {"host": 50, "name": 20_000}
    figures = statistics(
        {
            "dns": {"rate": 100, "distinct": keys},
            "ssl": {"rate": 80, "distinct": keys},
            "weird": {"rate": 1, "distinct": {"host": 50}},
        },
        batch="10 seconds",
    )
    plan = choose_plan(query, planning=Planning(figures))
    text = explain(plan, forecast(plan, figures), verbose=True) + "\n"
    path = FOLDER / "more-than-the-key.txt"
    if os.environ.get("WATERSMEET_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("shape", ["chain", "star", "cycle", "clique", "shared key"])
def test_a_plan_without_statistics_says_so(shape: str) -> None:
    plan = choose_plan(query_of(shape, 4))
    assert all(choice.cost is None for choice in plan.choices)
    assert "shortest window first, since too little is known" in explain(plan, verbose=True)
