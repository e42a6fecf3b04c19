"""Kinds of windows: what they say of themselves, and how people write them.

Would catch: a kind that says nothing in a checkpoint, so that state of another window would be read; explain
that names a limit that is not the one; a size that makes no sense and is taken.
"""

from datetime import timedelta
from typing import Any

import pytest

import watersmeet as wm
from watersmeet.errors import InvalidQuery, InvalidStream
from watersmeet.query import Column, JoinQuery, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.selection import select_items
from watersmeet.query.sql import SqlItem, read_sql
from watersmeet.query.window import FROM_CONDITIONS, UNBOUNDED, RowWindow, window_of

COLUMNS = (Column("k", "bigint"), Column("ts", "timestamp"))
TEN = wm.tumbling("10 minutes")
HOPS, SESSIONS = wm.hopping("10 minutes", every="5 minutes"), wm.session("5 minutes")
MINUTE = 60_000_000


def query_of(on: list[str], **windows: Any) -> JoinQuery:
    streams = [Stream(name, COLUMNS, "ts", window) for name, window in windows.items()]
    return join_query(streams, on, None, "inner", ColumnsOnly())


@pytest.mark.parametrize(
    ("window", "reach", "said", "kept"),
    [
        (window_of("10 minutes"), 10 * MINUTE, "alive 10 min after ts", "600000000 us"),
        (
            window_of("10 minutes"),
            MINUTE,
            "alive 1 min after ts, from the conditions on time",
            "60000000 us",
        ),
        (FROM_CONDITIONS, 0, "alive 0 s after ts, from the conditions on time", "0 us"),
        (RowWindow(1000), None, "last 1,000 rows", "last 1,000 rows"),
        (
            RowWindow(5, per_key=True),
            MINUTE,
            "last 5 rows of a key, alive 1 min after ts, from the conditions on time",
            "last 5 rows of a key, 60000000 us",
        ),
        (UNBOUNDED, None, "unbounded", "unbounded"),
        (
            TEN,
            10 * MINUTE - 1,
            "alive from ts to the end of its slot of 10 min",
            "tumbling 10 min, 599999999 us",
        ),
        (
            TEN,
            MINUTE,
            "alive from ts to the end of its slot of 10 min, at most 1 min from the conditions on time",
            "tumbling 10 min, 60000000 us",
        ),
        (window_of("0 seconds"), 0, "alive at the instant of ts only", "0 us"),
        (wm.latest(), None, "newest of its key by ts, one row per key is kept for ever", "latest"),
        (
            wm.latest(),
            MINUTE,
            "newest of its key by ts, alive 1 min from the conditions on time",
            "latest, 60000000 us",
        ),
        (
            HOPS,
            10 * MINUTE - 1,
            "alive from ts to the end of each of its 2 slots of 10 min, one every 5 min",
            "hopping 10 min every 5 min, 599999999 us",
        ),
        (
            wm.hopping("1 hour", "1 hour"),
            60 * MINUTE - 1,
            "alive from ts to the end of its slot of 1 h, one every 1 h",
            "hopping 1 h every 1 h, 3599999999 us",
        ),
        (
            SESSIONS,
            None,
            "in a session with the rows of its key, of all streams, up to 5 min apart by ts",
            "session 5 min",
        ),
    ],
    ids=str,
)
def test_what_explain_and_checkpoints_say(window: Any, reach: int | None, said: str, kept: str) -> None:
    assert window.explained("ts", reach) == said
    assert window.identity(reach) == kept


def test_a_tumbling_window_bounds_its_stream() -> None:
    query = query_of(["a.k = b.k"], a=TEN, b="1 hour")
    assert query.reaches == (10 * MINUTE - 1, 60 * MINUTE)
    # Two rows of one slot are less than its size apart, whichever is the later.
    query = query_of(["a.k = b.k", "a.ts <= b.ts + INTERVAL 10 MINUTES"], a=TEN, b=TEN)
    assert query.by_windows == ("a.ts <= b.ts + INTERVAL 10 MINUTES",)
    query = query_of(["a.k = b.k", "b.ts <= a.ts + INTERVAL 1 MINUTE"], a=TEN, b=TEN)
    assert query.reaches == (MINUTE, 10 * MINUTE - 1)
    with pytest.raises(InvalidQuery, match='rows of stream "b" would have to be kept for ever'):
        query_of(["a.k = b.k"], a=TEN, b=None)


def test_sql_has_tumbling_windows() -> None:
    streams = read_sql(
        "SELECT a.x FROM s [TUMBLING 10 MINUTES] a, t [tumbling 1 day] WHERE a.x = t.x"
    ).streams
    assert [stream.window for stream in streams] == [TEN, wm.tumbling(timedelta(days=1))]
    with pytest.raises(InvalidQuery, match=r"write for example \[TUMBLING 10 MINUTES\]"):
        read_sql("SELECT a.x FROM s [TUMBLING 10] a, t [RANGE 1 DAY] WHERE a.x = t.x")


def test_conditions_on_time_leave_common_windows_as_they_are() -> None:
    """They are judged instead: a slot has to end where it does, and a session has no length."""
    near = "b.ts <= a.ts + INTERVAL 1 MINUTE"
    query = query_of(["a.k = b.k", near], a=HOPS, b=HOPS)
    assert (query.reaches, query.by_windows) == ((10 * MINUTE - 1,) * 2, ())
    assert [condition.text for condition in query.conditions] == [near]
    query = query_of(["a.k = b.k", "b.ts <= a.ts + INTERVAL 10 MINUTES"], a=HOPS, b=HOPS)
    assert query.by_windows == ("b.ts <= a.ts + INTERVAL 10 MINUTES",)
    query = query_of(["a.k = b.k", near], a=SESSIONS, b=SESSIONS)
    assert (query.reaches, [condition.text for condition in query.conditions]) == ((None, None), [near])


def test_a_row_that_fails_a_filter_is_in_its_session_all_the_same() -> None:
    query = query_of(["a.k = b.k", "a.k > 5"], a=SESSIONS, b=SESSIONS)
    assert (query.filters, [condition.text for condition in query.conditions]) == ((), ["a.k > 5"])
    query = query_of(["a.k = b.k", "a.k > 5"], a=HOPS, b=HOPS)
    assert [condition.text for condition in query.filters] == ["a.k > 5"]


def test_sql_has_all_kinds_of_windows() -> None:
    def windows(first: str, second: str) -> list[Any]:
        text = f"SELECT a.x FROM s [{first}] a, t [{second}] WHERE a.x = t.x"  # noqa: S608
        return [stream.window for stream in read_sql(text).streams]

    assert windows("LATEST", "RANGE 0 SECONDS") == [wm.latest(), window_of("0 seconds")]
    assert windows("HOPPING 10 MINUTES EVERY 5 MINUTES", "hopping 10 min every 300 s") == [HOPS, HOPS]
    assert windows("SESSION 5 MINUTES", "session 300 s") == [SESSIONS, SESSIONS]
    wrong = {
        "LATEST 5": r'(?s)the latest rows have no "5".*write \[LATEST\]',
        "HOPPING 10 MINUTES": r"(?s)has no EVERY.*write for example \[HOPPING 10 MINUTES EVERY 5 MINUTES\]",
        "HOPPING 10 MINUTES EVERY": r"(?s)write for example \[HOPPING 10 MINUTES EVERY 5 MINUTES\]",
        "SESSION": r"(?s)write for example \[SESSION 5 MINUTES\]",
    }
    for text, said in wrong.items():
        with pytest.raises(InvalidQuery, match=said):
            windows(text, "RANGE 1 DAY")


def test_results_say_their_slot_and_columns_of_that_name_make_room() -> None:
    columns = (*COLUMNS, Column("window_start", "bigint"))
    streams = [Stream(name, columns, "ts", HOPS) for name in ("a", "b")]
    query = join_query(streams, "k", ["a.window_start"], "inner", ColumnsOnly())
    assert query.outputs is not None
    assert [output.name for output in query.outputs] == [
        "a_window_start",
        "window_start",
        "window_end",
        "result_time",
    ]
    chosen = select_items(streams, [SqlItem("Window_End", None), SqlItem("window_start", "since")])
    assert chosen is not None
    assert [output.name for output in chosen.outputs] == ["window_end", "since"]


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidStream, match=r"(?s)not a duration.*unknown unit.*wm.tumbling"):
        wm.tumbling("10 parsecs")
    with pytest.raises(InvalidStream, match=r"(?s)the hop of a hopping window.*wm.hopping"):
        wm.hopping("10 minutes", "often")
    with pytest.raises(InvalidStream, match=r"(?s)the gap of a session is not a duration.*wm.session"):
        wm.session("a while")
    with pytest.raises(InvalidStream, match=r'(?s)window of stream "a" is not positive.*wm.tumbling'):
        Stream("a", COLUMNS, "ts", wm.tumbling("0 seconds"))
