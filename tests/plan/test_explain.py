"""Plans as people read them: which operators, which order, where conditions are judged, what is stored.

Would catch: a plan that changes without anybody noticing, an explanation that hides a condition.
"""

import json
from datetime import timedelta
from textwrap import dedent
from typing import Any

import pytest

from watersmeet.cost.forecast import forecast
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.progressive.planning import MemoryPlanning
from watersmeet.plan.explain import explain
from watersmeet.plan.measured import Measured, MeasuredInput, MeasuredOperator
from watersmeet.query import Column, RowWindow, Stream
from watersmeet.query.common_window import hopping, session
from watersmeet.query.function import predicate
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import UNBOUNDED, WindowLike, latest
from watersmeet.stats.given import statistics

MINUTE = timedelta(minutes=1)
COLUMNS = tuple(
    Column(name, kind)
    for name, kind in (
        ("ts", "timestamp"),
        ("x", "bigint"),
        ("y", "bigint"),
        ("s", "string"),
        ("v", "double"),
    )
)


def explained(windows: dict[str, WindowLike], on: list[Any], select: list[str]) -> str:
    streams = [Stream(name, COLUMNS, "ts", window) for name, window in windows.items()]
    return explain(choose_plan(join_query(streams, on, select, "inner", ColumnsOnly()), buckets=4))


def alike(left: Any, right: Any) -> Any:
    return left == right


ALIKE = predicate(alike, "a.s", "b.s", name="eq", cost="50 us", selectivity=0.01)

PLANS: dict[str, tuple[dict[str, WindowLike], list[Any], list[str], str]] = {
    "slots that overlap, in two operators": (
        dict.fromkeys("abc", hopping("10 minutes", every="5 minutes")),
        ["a.x = b.x", "b.y = c.y"],
        ["a.v"],
        """
        join of 3 streams in 2 operators
          a  alive from ts to the end of each of its 2 slots of 10 min, one every 5 min, up to 0 s late
          b  alive from ts to the end of each of its 2 slots of 10 min, one every 5 min, up to 0 s late
          c  alive from ts to the end of each of its 2 slots of 10 min, one every 5 min, up to 0 s late
        operator 1 on x: arriving rows visit
          a  -> b[x]
          b  -> a[x]
        state of operator 1
          a  stores v
          b  stores y
        operator 2 on y: arriving rows visit
          c           -> operator 1[y]
          operator 1  -> c[y]
        state of operator 2
          c           stores nothing but key and time
          operator 1  stores a.v
          4 buckets by hash of the key, windows cut into 12 time slices, results of one operator stored in the next
          hot keys: not spread (hopping windows)
        """,  # noqa: E501 - as it is printed
    ),
    "sessions": (
        dict.fromkeys("ab", session("5 minutes")),
        ["a.x = b.x", "a.v > 3", "b.ts <= a.ts + INTERVAL 1 MINUTE"],
        ["a.v"],
        """
        join of 2 streams on x
          a  in a session with the rows of its key, of all streams, up to 5 min apart by ts, up to 0 s late
          b  in a session with the rows of its key, of all streams, up to 5 min apart by ts, up to 0 s late
        arriving rows visit
          a  -> b[x] if a.v > 3 and b.ts <= a.ts + INTERVAL 1 MINUTE
          b  -> a[x] if a.v > 3 and b.ts <= a.ts + INTERVAL 1 MINUTE
        state
          a  stores v, ts
          b  stores ts
          4 buckets by hash of the key, windows cut into 12 time slices, no intermediate result stored
          hot keys: not spread (sessions)
          rows wait for the watermark, since the ends of sessions are known only then
        """,
    ),
    "as of a time": (
        {"a": timedelta(0), "b": latest()},
        ["a.x = b.x"],
        ["a.v"],
        """
        join of 2 streams on x
          a  alive at the instant of ts only, up to 0 s late
          b  newest of its key by ts, one row per key is kept for ever, up to 0 s late
        arriving rows visit
          a  -> b[x]
          b  -> a[x]
        state
          a  stores v
          b  stores nothing but key and time
          4 buckets by hash of the key, windows cut into 12 time slices, no intermediate result stored
          hot keys: not spread (windows of rows)
          rows wait for the watermark, since windows of rows are known only then
        """,
    ),
    "functions, a band and a key": (
        {"a": MINUTE, "b": MINUTE, "c": MINUTE, "d": MINUTE},
        [ALIKE, "abs(a.v - b.v) < 3", predicate(alike, "b.s", "c.s", name="eq"), "c.x = d.x"],
        ["a.x", "d.x"],
        """
        join of 4 streams in 3 operators
          a  alive 1 min after ts, up to 0 s late
          b  alive 1 min after ts, up to 0 s late
          c  alive 1 min after ts, up to 0 s late
          d  alive 1 min after ts, up to 0 s late
        operator 1 without a key: arriving rows visit
          a  -> b[v nearby] if abs(a.v - b.v) < 3 and eq(a.s, b.s)
          b  -> a[v nearby] if abs(a.v - b.v) < 3 and eq(a.s, b.s)
        state of operator 1
          a  stores x, v, s, a slice in every bucket
          b  stores s, v, a slice in every bucket
        operator 2 on x: arriving rows visit
          c  -> d[x]
          d  -> c[x]
        state of operator 2
          c  stores s
          d  stores x
        operator 3 without a key: arriving rows visit
          operator 1  -> operator 2[all in reach] if eq(b.s, c.s)
          operator 2  -> operator 1[all in reach] if eq(b.s, c.s)
        state of operator 3
          operator 1  stores a.x, b.s, a slice in every bucket
          operator 2  stores c.s, d.x, a slice in every bucket
          4 buckets without a key, windows cut into 12 time slices, results of one operator stored in the next
        with deploy(): every row stored once, nothing between operators, 3 rounds of messages
          a  -> b[v nearby] if abs(a.v - b.v) < 3 and eq(a.s, b.s) -> c[all in reach] if eq(b.s, c.s) -> d[x]
          b  -> a[v nearby] if abs(a.v - b.v) < 3 and eq(a.s, b.s) -> c[all in reach] if eq(b.s, c.s) -> d[x]
          c  -> d[x] -> b[all in reach] if eq(b.s, c.s) -> a[v nearby] if abs(a.v - b.v) < 3 and eq(a.s, b.s)
          d  -> c[x] -> b[all in reach] if eq(b.s, c.s) -> a[v nearby] if abs(a.v - b.v) < 3 and eq(a.s, b.s)
        Python functions, called for each pair
          eq(a.s, b.s)  50 us, holds for 0.01 of all
          eq(b.s, c.s)  cost not known, share not known
        """,
    ),
    "a function that waits for the third stream": (
        {"a": MINUTE, "b": MINUTE, "c": MINUTE},
        ["a.x = b.x", "b.x = c.x", ALIKE],
        ["a.x"],
        """
        join of 3 streams on x
          a  alive 1 min after ts, up to 0 s late
          b  alive 1 min after ts, up to 0 s late
          c  alive 1 min after ts, up to 0 s late
        arriving rows visit
          a  -> b[x] -> c[x] if eq(a.s, b.s)
          b  -> a[x] -> c[x] if eq(a.s, b.s)
          c  -> a[x] -> b[x] if eq(a.s, b.s)
        state
          a  stores x, s
          b  stores s
          c  stores nothing but key and time
          4 buckets by hash of the key, windows cut into 12 time slices, no intermediate result stored
          hot keys: on one machine rows of one stream are dealt out over all buckets, the others copied
        Python functions, called for each pair
          eq(a.s, b.s)  50 us, holds for 0.01 of all, once all rows are found
        """,
    ),
    "a cycle with a check, a filter and a condition for Spark": (
        {"a": 5 * MINUTE, "b": 5 * MINUTE, "c": 5 * MINUTE},
        ["a.x = b.x", "b.x = c.x", "a.y = c.y", "levenshtein(a.s, b.s) < 3", "b.v > 1"],
        ["a.v", "b.ts"],
        """
        join of 3 streams on x
          a  alive 5 min after ts, up to 0 s late
          b  alive 5 min after ts, up to 0 s late
          c  alive 5 min after ts, up to 0 s late
        before the join
          b  only rows with b.v > 1
        arriving rows visit
          a  -> c[x, y] -> b[x]
          b  -> a[x] -> c[x, y]
          c  -> a[x, y] -> b[x]
        state
          a  stores v, s, y
          b  stores ts, s
          c  stores y
          4 buckets by hash of the key, windows cut into 12 time slices, no intermediate result stored
          hot keys: on one machine rows of one stream are dealt out over all buckets, the others copied
        after the join, in Spark
          levenshtein(a.s, b.s) < 3  (the kernel has no LEVENSHTEIN)
        """,
    ),
    "a stream without a key and a window of rows": (
        {"a": 5 * MINUTE, "b": RowWindow(10), "w": 30 * MINUTE},
        ["a.x = b.x", "w.ts <= greatest(a.ts, b.ts)", "b.v > 1"],
        ["a.v", "w.v"],
        """
        join of 3 streams in 2 operators
          a  alive 5 min after ts, up to 0 s late
          b  last 10 rows, up to 0 s late
          w  alive 30 min after ts, up to 0 s late
        operator 1 on x: arriving rows visit
          a  -> b[x] if b.v > 1
          b  -> a[x] if b.v > 1
        state of operator 1
          a  stores v, ts
          b  stores ts, v
        operator 2 without a key: arriving rows visit
          w           -> operator 1[all in reach] if w.ts <= greatest(a.ts, b.ts)
          operator 1  -> w[all in reach] if w.ts <= greatest(a.ts, b.ts)
        state of operator 2
          w           stores v, ts, a slice in every bucket
          operator 1  stores a.v, a.ts, b.ts, a slice in every bucket
          4 buckets without a key, windows cut into 12 time slices, results of one operator stored in the next
          rows wait for the watermark, since windows of rows are known only then
        with deploy(): every row stored once, nothing between operators, 2 rounds of messages
          a  -> b[x] if b.v > 1 -> w[all in reach] if w.ts <= greatest(a.ts, b.ts)
          b  -> a[x] if b.v > 1 -> w[all in reach] if w.ts <= greatest(a.ts, b.ts)
          w  -> a[all in reach] -> b[x] if w.ts <= greatest(a.ts, b.ts) and b.v > 1
        """,
    ),
    "no key at all": (
        {"a": None, "b": None},
        ["abs(a.ts - b.ts) <= INTERVAL 10 SECONDS", "a.v < b.v"],
        ["a.x"],
        """
        join of 2 streams without a key
          a  alive 10 s after ts, from the conditions on time, up to 0 s late
          b  alive 10 s after ts, from the conditions on time, up to 0 s late
        conditions that the windows already ensure
          abs(a.ts - b.ts) <= INTERVAL 10 SECONDS
        arriving rows visit
          a  -> b[all in reach] if a.v < b.v
          b  -> a[all in reach] if a.v < b.v
        state
          a  stores x, v, a slice in every bucket
          b  stores v, a slice in every bucket
          4 buckets without a key, windows cut into 12 time slices, no intermediate result stored
        """,
    ),
    "two pairs that meet": (
        {"a": MINUTE, "b": 2 * MINUTE, "c": MINUTE, "d": 2 * MINUTE},
        ["a.x = b.x", "c.y = d.y", "b.s = c.s"],
        ["a.v", "d.v"],
        """
        join of 4 streams in 3 operators
          a  alive 1 min after ts, up to 0 s late
          b  alive 2 min after ts, up to 0 s late
          c  alive 1 min after ts, up to 0 s late
          d  alive 2 min after ts, up to 0 s late
        operator 1 on x: arriving rows visit
          a  -> b[x]
          b  -> a[x]
        state of operator 1
          a  stores v
          b  stores s
        operator 2 on y: arriving rows visit
          c  -> d[y]
          d  -> c[y]
        state of operator 2
          c  stores s
          d  stores v
        operator 3 on s: arriving rows visit
          operator 1  -> operator 2[s]
          operator 2  -> operator 1[s]
        state of operator 3
          operator 1  stores a.v
          operator 2  stores d.v
          4 buckets by hash of the key, windows cut into 12 time slices, results of one operator stored in the next
          hot keys: not spread (several operators)
        """,  # noqa: E501 - as it is printed
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_golden_plans(name: str) -> None:
    windows, on, select, text = PLANS[name]
    assert explained(windows, on, select) == dedent(text).strip("\n")


def test_a_join_in_bounded_memory() -> None:
    columns = (Column("k", "bigint"), Column("ts", "timestamp"))
    streams = [Stream(name, columns, "ts", UNBOUNDED) for name in ("a", "b")]
    query = join_query(streams, "k", None, "inner", ColumnsOnly(), memory=512_000_000)
    plan = choose_plan(query, planning=Planning(memory=MemoryPlanning("xjoin", tick_s=2.5)))
    assert explain(plan).splitlines()[-6:] == [
        "  8 buckets by hash of the key, 32 partitions in all",
        "  hot keys: not spread (no windows)",
        "memory of an executor: 512 MB, of which 256 MB for stored rows",
        "  xjoin: the largest partition goes to disk; the largest in memory is looked for there",
        "  when nothing arrives for 2.5 s, what is on disk is joined",
        "  first result not known without rates and keys; all results after the streams have ended",
    ]
    windows = [Stream(name, columns, "ts", timedelta(hours=1)) for name in ("a", "b", "c")]
    limited = choose_plan(join_query(windows, "k", None, "inner", ColumnsOnly(), memory=512_000_000))
    assert explain(limited).splitlines()[-5:] == [
        "  8 buckets by hash of the key, windows cut into 12 time slices, no intermediate result stored",
        "  hot keys: not spread (memory is limited)",
        "memory of an executor: 512 MB, of which 256 MB for stored rows",
        "  where windows are larger, rows that found most partners for their size stay in memory",
        "  the others lie on disk, and are looked into piece by piece",
    ]
    known = statistics({"a": {"rate": 100, "distinct": 10_000}, "b": {"rate": 25, "distinct": 10_000}})
    assert "first result after 2 s" in explain(plan, forecast(plan, known, "probes"))


SPREAD = "on one machine rows of {} are dealt out over all buckets, the others copied"


@pytest.mark.parametrize(
    ("how", "optional", "options", "said"),
    [
        ("inner", "", {}, SPREAD.format("one stream")),
        ("left", "", {}, SPREAD.format("a")),
        ("right", "", {}, SPREAD.format("b")),
        ("inner", "bc", {}, SPREAD.format("a")),
        ("inner", "a", {}, SPREAD.format("b or c")),
        ("semi", "", {}, SPREAD.format("a")),
        ("anti", "", {}, SPREAD.format("a")),
        ("full", "", {}, "not spread (full join)"),
        ("left", "", {"buckets": 1}, "not spread (one bucket)"),
        ("semi", "", {"planning": Planning(spread_hot_keys=False)}, "not spread (turned off)"),
    ],
)
def test_whose_rows_of_a_hot_key_are_dealt_out(
    how: str, optional: str, options: dict[str, Any], said: str
) -> None:
    names = "ab" if how in ("left", "right", "full") else "abc"
    streams = [Stream(name, COLUMNS, "ts", MINUTE, optional=name in optional) for name in names]
    plan = choose_plan(join_query(streams, "x", None, how, ColumnsOnly()), **options)
    assert f"  hot keys: {said}" in explain(plan).splitlines()
    facts = json.loads(explain(plan, form="json"))["hot_keys"]
    assert bool(facts["dealt"]) == (not facts["not_spread"])
    assert all(name in said or how == "inner" for name in facts["dealt"])


def test_keys_that_are_spread_are_told_beside_hot_ones() -> None:
    streams = [Stream(name, COLUMNS, "ts", MINUTE) for name in "ab"]
    plan = choose_plan(join_query(streams, "x", None, "left", ColumnsOnly()))
    inputs = (MeasuredInput(None, None, None, None),) * 2
    operator = MeasuredOperator(inputs, None, None, None, 0)
    seen = Measured((operator,), 2, 1.0, ("a 7: 900 rows, 60% of its bucket",), 1)
    assert explain(plan, None, seen).splitlines()[-3:] == [
        "hot keys",
        "  a 7: 900 rows, 60% of its bucket",
        "  spread over all buckets: 1",
    ]
