"""Kinds of join as they are asked for: what is refused, and what a condition decides about.

Would catch: a preserved row that would wait for ever, a condition that drops rows that must come out, a join
that was meant and another that is run, a checkpoint that goes on with another kind of join.
"""

import json
from datetime import timedelta
from typing import Any

import pytest

from watersmeet.errors import InvalidQuery
from watersmeet.optimize.choose import choose_plan
from watersmeet.plan.explain import explain
from watersmeet.plan.identity import difference, identity
from watersmeet.plan.layout import layouts
from watersmeet.query import Column, JoinQuery, RowWindow, Stream
from watersmeet.query.common_window import session
from watersmeet.query.condition import OnCondition
from watersmeet.query.join import join_query
from watersmeet.query.kind import optional
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import UNBOUNDED

COLUMNS = tuple(
    Column(*one) for one in (("id", "bigint"), ("v", "bigint"), ("s", "string"), ("ts", "timestamp"))
)
HOUR = timedelta(hours=1)


def stream(name: str, **settings: Any) -> Stream:
    return Stream(name, COLUMNS, **{"time": "ts", "window": HOUR} | settings)


def test_where_is_judged_on_finished_rows_where_every_row_matters() -> None:
    """A row that fails WHERE still holds a session together."""
    where = OnCondition("a.v = 1", of_results=True)
    for window, afterwards in ((HOUR, []), (session("5 minutes"), ["a.v = 1"])):
        streams = [stream(name, window=window) for name in "ab"]
        query = join(*streams, on=["a.id = b.id", where], how="semi")
        assert [one.text for one in query.afterwards] == afterwards
        assert [one.text for one in query.filters] == [one for one in ["a.v = 1"] if not afterwards]


A, B, C = stream("a"), stream("b", window=HOUR / 6), stream("c", window=HOUR / 12)


def join(*streams: Any, on: Any = "id", how: str = "inner", select: Any = None) -> JoinQuery:
    return join_query(streams, on, select, how, ColumnsOnly())


@pytest.mark.parametrize(
    ("ask", "fact", "hint"),
    [
        (lambda: join(A, B, how="outer"), 'there is no join "outer"', '"left", "right"'),
        (lambda: join(A, B, C, how="left"), 'how="left" is for two streams', "wm.optional(payments)"),
        (lambda: join(A, B, C, how="full"), 'how="full" is for two streams', "wm.optional(payments)"),
        (lambda: join(optional(A), optional(B)), "every stream is optional", 'how="full"'),
        (lambda: join(A, optional(B), how="anti"), 'how="anti" goes without wm.optional', "leave how out"),
        (lambda: optional("payments"), "only a stream can be optional, not str", "wm.optional(wm.stream("),
        (
            lambda: join(stream("a", window=UNBOUNDED), B, how="left"),
            'rows of stream "a" would wait for ever',
            'window="1 hour"',
        ),
        (
            lambda: join(stream("a", window=RowWindow(9)), B, how="left"),
            'rows of stream "a" cannot wait by count',
            'window="1 hour"',
        ),
        (
            lambda: join(A, optional(stream("b", window=RowWindow(9))), optional(C)),
            'window last 9 rows of stream "b" goes with the last stream only',
            "put the stream last",
        ),
        (
            lambda: join(A, B, on=["a.id = b.id", "a.v = (SELECT max(b.v) FROM b)"]),
            "a condition holds a SELECT ... FROM",
            "one more stream",
        ),
        (
            lambda: join(A, optional(B), on=["a.id = b.id", "1 = 0"]),
            '"1 = 0" names no stream',
            "leave it out",
        ),
        (
            lambda: join(A, B, on=["a.id = b.id", OnCondition("b.v > 1", of_results=True)], how="anti"),
            'WHERE names stream "b", which is not in the result',
            "behind ON",
        ),
        (
            lambda: join(A, stream("b", window=UNBOUNDED), how="semi"),
            'window unbounded of stream "b" does not go with this kind of join',
            'window="1 hour"',
        ),
        (
            lambda: join(stream("a", window=None), B, how="anti"),
            'rows of stream "a" would have to be kept for ever',
            "give it a window",
        ),
        (
            lambda: join(stream("a", site="oslo"), stream("b", site="rome"), how="left"),
            "joins between sites return one row of every stream",
            "leave site= out",
        ),
        (
            lambda: join(A, B, how="semi", select=["a.v", "b.v"]),
            'a join of kind semi has no column "b.v"',
            'columns of "a" only',
        ),
        (
            lambda: join(A, optional(B), on=["a.id = b.id", "levenshtein(a.s, b.s) < 3"]),
            '"levenshtein(a.s, b.s) < 3" cannot decide which rows have partners',
            "compute it as a column before the join",
        ),
        (
            lambda: join(A, optional(B), optional(C), on=["a.id = b.id", "a.id = c.id", "a.v > 5"]),
            '"a.v > 5" names no optional stream',
            'filter the DataFrame of "a"',
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_way_out(ask: Any, fact: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        ask()
    assert fact in refused.value.fact
    assert hint in refused.value.hint


def test_left_and_right_are_optional_streams() -> None:
    assert join(A, B, how="left") == join(A, optional(B))
    assert join(A, B, how="right") == join(optional(A), B)
    assert join(optional(A), B).preserved == (1,)
    assert join(A, B, how="full").preserved == (0, 1)
    assert join(A, B, C, how="anti").kept == (tuple(c.name for c in COLUMNS), (), ())


def test_conditions_belong_to_the_last_stream_they_name() -> None:
    """And none of them drops rows that come out without partners."""
    on = ["a.id = b.id", "a.v < b.v", "b.v < c.v", "b.id = c.id", "c.v > 1", "b.v > 2"]
    query = join(A, optional(B), optional(C), on=on)
    assert [(condition.text, condition.owner) for condition in query.conditions] == [
        ("a.v < b.v", 1),
        ("b.v < c.v", 2),
    ]
    assert [(f.stream, f.text) for f in query.filters] == [(2, "c.v > 1"), (1, "b.v > 2")]
    # Not through b, which may be missing: c has to equal b, not a.
    assert [attribute.text for attribute in query.attributes] == ["a.id = b.id", "b.id = c.id"]
    gated = join(A, optional(B), on=["a.id = b.id", "a.v > 2"])
    assert gated.filters == ()
    assert [(condition.text, condition.owner) for condition in gated.conditions] == [("a.v > 2", 1)]


def test_conditions_on_time_do_not_shorten_the_window_of_a_preserved_stream() -> None:
    on = ["a.id = b.id", "b.ts <= a.ts + INTERVAL 5 MINUTES"]
    assert join(A, B, on=on).reaches[0] == 5 * 60 * 10**6
    assert join(A, B, on=on, how="left").reaches[0] == 3600 * 10**6
    assert join(stream("a", window=None), B, on=on, how="left").reaches[0] == 5 * 60 * 10**6


def test_explain_says_what_comes_out_and_what_is_kept() -> None:
    text = explain(choose_plan(join(A, optional(B), optional(C), on=["a.id = b.id", "b.v = c.v"])))
    assert text.startswith("outer join of 3 streams in 2 operators")
    assert "a  alive 1 h after ts, up to 0 s late, comes out with nulls if there are no partners" in text
    assert (
        "b  alive 10 min after ts, up to 0 s late, optional, kept 1 h longer for results that close later"
        in text
    )
    assert "they look once more for c; what lacks one leaves with nulls" in text
    anti = explain(choose_plan(join(A, B, how="anti")))
    assert "rows of a look for partners, and leave if they have none" in anti


def test_a_checkpoint_of_another_kind_is_refused() -> None:
    def known(query: JoinQuery) -> str:
        plan = choose_plan(query)
        return json.dumps(identity(plan, plan.root, layouts(plan)[plan.root]))

    kinds = {
        how: known(join(A, B, how=how, select=["a.v"])) for how in ("inner", "left", "full", "semi", "anti")
    }
    for before, stored in kinds.items():
        for after, current in kinds.items():
            assert bool(difference(stored, current)) == (before != after)
    said = difference(kinds["inner"], kinds["left"])
    assert said == "the join was of kind inner and is now of kind outer with b optional"
