"""How long it takes to plan large joins with full statistics, without Spark."""

from __future__ import annotations

import statistics as spread
import time
from datetime import timedelta
from itertools import combinations, pairwise

from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.query import Column, JoinQuery, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import TimeWindow
from watersmeet.stats.given import statistics

_REPEATS = 15


def queries() -> dict[str, JoinQuery]:
    """The joins to plan; every edge of a graph has a key of its own unless one is shared."""
    six, twelve = [f"s{i}" for i in range(6)], [f"s{i}" for i in range(12)]
    return {
        "clique of 6 streams": _query(six, list(combinations(six, 2))),
        "6 streams on one key": _query(six, []),
        "chain of 12 streams": _query(twelve, list(pairwise(twelve))),
        "12 streams on one key": _query(twelve, []),
    }


def _query(names: list[str], edges: list[tuple[str, str]]) -> JoinQuery:
    keys = [f"k{number}" for number in range(max(1, len(edges)))]
    columns = (Column("ts", "timestamp"), *(Column(key, "bigint") for key in keys))
    streams = [
        Stream(name, columns, "ts", TimeWindow(timedelta(seconds=10 + number)))
        for number, name in enumerate(names)
    ]
    on = [f"{a}.{key} = {b}.{key}" for (a, b), key in zip(edges, keys, strict=False)] or keys
    return join_query(streams, on, None, "inner", ColumnsOnly())


def planning_times() -> dict[str, float]:
    """Milliseconds to plan each query: the median of several times."""
    found = {}
    for name, query in queries().items():
        known = statistics(
            {s: {"rate": 10 + 3 * i, "distinct": 100 + 7 * i} for i, s in enumerate(query.names)},
            batch="5 seconds",
        )
        times = []
        for _ in range(_REPEATS):
            start = time.perf_counter()
            choose_plan(query, planning=Planning(known))
            times.append(time.perf_counter() - start)
        found[name] = 1000 * spread.median(times)
    return found
