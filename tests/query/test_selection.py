"""The columns of a result and their names.

Would catch: a name the user gave that is changed, two columns of one name, an aggregate taken for a column.
"""

import pytest

from watersmeet.errors import InvalidQuery
from watersmeet.query import Column, Stream
from watersmeet.query.selection import select_items
from watersmeet.query.sql import read_sql

STREAMS = [
    Stream(name, (Column("ts", "timestamp"), Column("id", "int"), Column("a_id", "int")), "ts")
    for name in ("a", "b")
]


def names(select: str) -> list[str | None]:
    chosen = select_items(STREAMS, read_sql(f"SELECT {select} FROM a, b").items)  # noqa: S608
    assert chosen is not None
    return [output.name for output in chosen.outputs]


def test_names_are_the_users_or_tell_streams_apart() -> None:
    assert names("a.id AS v, b.id") == ["v", "id"]
    assert names("a.id, b.id, result_time") == ["a_id", "b_id", "result_time"]
    assert names("a.id + 1 AS id, b.id") == ["id", "b_id"]
    assert names("a.id + 1, b.*") == [None, "ts", "id", "a_id"]


@pytest.mark.parametrize(
    ("select", "fact"),
    [
        ("a.id AS v, b.id AS v", 'two columns of the result would be called "v"'),
        ("a.id, b.id, b.a_id", 'two columns of the result would be called "a_id"'),
        ("a.id, a.id", 'two columns of the result would be called "a_id"'),
        ("count(*)", '"count(*)" needs more than one result'),
        ("sum(a.id) AS s", '"sum(a.id)" needs more than one result'),
        ("row_number() OVER (ORDER BY a.id)", "needs more than one result"),
        ("*, a.id", '"*" names no stream of the query'),
        ("c.*", '"c.*" names no stream of the query'),
        ("c.id", 'cannot tell which stream "c.id" belongs to'),
        ("a.id +", 'cannot read "a.id +" in the SELECT list'),
    ],
)
def test_lists_that_make_no_sense(select: str, fact: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        names(select)
    assert fact in caught.value.fact
    assert caught.value.hint
