"""All kinds of windows that others do not have, on Spark, packed into one query, against DuckDB.

Would catch: results of sessions that leave a batch too late, so that Spark drops them, or not at all when
nothing comes; slots that are wrong in the sink; rows that wait and are lost in a restart; state of one window
read for another.
"""

from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm
from harness.scenario import SECOND, Scenario
from harness.streaming import sink_rows, to_sink
from oracles import duck, reference
from oracles.reference import Hops, Latest, Result, Sessions, Table, Window, assert_same_rows

LATENESS = (2, 3)
WINDOWS: dict[str, list[Window]] = {
    "sessions": [Sessions(2 * SECOND)] * 2,
    "slots": [Hops(6 * SECOND, 3 * SECOND)] * 2,
    "latest": [0, Latest()],
}
SQL = {
    "sessions": ["[SESSION {gap} SECONDS]"] * 2,
    "slots": ["[HOPPING 6 SECONDS EVERY 3 SECONDS]"] * 2,
    "latest": ["[RANGE 0 SECONDS]", "[LATEST]"],
}


def joined(scenario: Scenario, spark: SparkSession, *, plain: bool = False, gap: int = 2) -> DataFrame:
    """One join of each kind over the same rows, with its results in one form."""
    sources = {f"f{i}": f.plain(spark) if plain else f.stream(spark) for i, f in enumerate(scenario.feeds)}
    found = []
    for kind, windows in SQL.items():
        streams = [
            f"f{i} {window} s{i} [LATENESS {late} SECONDS]"
            for i, (window, late) in enumerate(zip(windows, LATENESS, strict=True))
        ]
        text = f"SELECT * FROM {', '.join(streams)} WHERE s0.h = s1.h AND s0.k = s1.k"  # noqa: S608
        results = wm.sql(text.format(gap=gap), sources, buckets=2).to_dataframe()
        slot = "window_start, window_end" if kind == "slots" else "NULL, NULL"
        columns = [f"'{kind}'", "s0.value", "s1.value", *slot.split(", "), "result_time"]
        names = ["kind", "s0", "s1", "window_start", "window_end", "result_time"]
        found.append(results.selectExpr(*columns).toDF(*names))
    return reduce(DataFrame.unionAll, found)


def rows_by_kind(results: DataFrame) -> dict[str, list[Result]]:
    times = [f"unix_micros({name})" for name in ("window_start", "window_end", "result_time")]
    rows = results.selectExpr("kind", "s0", "s1", *times).toArrow().to_pylist()
    found: dict[str, list[Result]] = {kind: [] for kind in WINDOWS}
    for row in rows:
        found[row["kind"]].append(tuple(v for v in list(row.values())[1:] if v is not None))
    return found


def expected(tables: list[Table], reached: int | None = None) -> dict[str, list[Result]]:
    """By the definition; of what waits for the watermark, what it has reached."""
    found: dict[str, Any] = {}
    for kind, windows in WINDOWS.items():
        rows = duck.join([table._replace(window=w) for table, w in zip(tables, windows, strict=True)])
        late = reached is not None and kind != "slots"
        found[kind] = [row for row in rows if not late or row[-1] <= reached]
        assert len(found[kind]) > 50, kind
    return found


@pytest.mark.usefixtures("one_partition")
def test_streaming_with_a_restart_and_plain_equal_the_oracle(spark: SparkSession, tmp_path: Path) -> None:
    # A seed without a silent stream right after the start: Spark does not keep how far each stream has come.
    scenario = Scenario(tmp_path, (8, 8), LATENESS, seed=2, late_rows=True, groups=60)
    scenario.feed()
    to_sink(joined(scenario, spark), tmp_path)
    scenario.feed(2)
    with pytest.raises(StreamingQueryException, match="was session 2 s and is now session 5 s"):
        to_sink(joined(scenario, spark, gap=5), tmp_path)
    query = to_sink(joined(scenario, spark), tmp_path)
    # One batch more than there are files: the watermark has moved on, and nothing comes.
    silence: list[list[list[reference.Row]]] = [[[] for _ in LATENESS]]
    reached = reference.watermarks([*scenario.batches, *silence], scenario.lateness, unit=1000)[-1]
    wanted = expected(scenario.tables(), reached)
    found = rows_by_kind(sink_rows(spark, tmp_path))
    for kind, rows in wanted.items():
        assert_same_rows(found[kind], rows)
    reports = [report for progress in query.recentProgress for report in wm.metrics(progress)]
    assert sum(report.streams["s0"].late for report in reports) % 3 == 0, "each row counts once in each join"
    assert sum(report.streams["s0"].late for report in reports) > 0
    plain = rows_by_kind(joined(scenario, spark, plain=True))
    for kind, rows in expected(scenario.everything()).items():
        assert_same_rows(plain[kind], rows)
