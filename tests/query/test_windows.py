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
from watersmeet.query.sql import read_sql
from watersmeet.query.window import FROM_CONDITIONS, UNBOUNDED, RowWindow, window_of

COLUMNS = (Column("k", "bigint"), Column("ts", "timestamp"))
TEN = wm.tumbling("10 minutes")
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


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidStream, match=r"(?s)not a duration.*unknown unit.*wm.tumbling"):
        wm.tumbling("10 parsecs")
    with pytest.raises(InvalidStream, match=r'(?s)window of stream "a" is not positive.*wm.tumbling'):
        Stream("a", COLUMNS, "ts", wm.tumbling("0 seconds"))
