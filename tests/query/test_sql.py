"""SQL around a join: what is read, and where a mistake is pointed out.

Would catch: a clause that is silently ignored, a window given to the wrong stream, an error without a place.
"""

from textwrap import dedent

import pytest

from watersmeet.errors import InvalidQuery
from watersmeet.query import Column, RowWindow, Stream
from watersmeet.query.sql import SqlItem, read_sql
from watersmeet.query.using import without_using
from watersmeet.query.window import window_of


def test_every_part_is_found() -> None:
    query = read_sql("""
        SELECT o.amount * 2 AS twice, c.*, least(o.x, c.x), result_time
        FROM orders [RANGE 10 MINUTES] o,
             clicks [ROWS 1000 PER KEY] AS c [LATENESS 30 SECONDS],
             `odd name` n [TIME happened] [RANGE 1 HOUR 30 MINUTES]
        WHERE o.id = c.id AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 5 SECONDS OR n.x IN (1, 2);
    """)
    assert query.items == (
        SqlItem("o.amount * 2", "twice"),
        SqlItem("c.*", None),
        SqlItem("least(o.x, c.x)", None),
        SqlItem("result_time", None),
    )
    orders, clicks, odd = query.streams
    assert (orders.source, orders.name, orders.window) == ("orders", "o", window_of("10 minutes"))
    assert (clicks.name, clicks.window, clicks.lateness) == ("c", RowWindow(1000, per_key=True), "30 SECONDS")
    assert (odd.source, odd.name, odd.time, odd.window) == (
        "odd name",
        "n",
        "happened",
        window_of("90 minutes"),
    )
    assert query.texts == (
        "o.id = c.id AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 5 SECONDS OR n.x IN (1, 2)",
    )
    assert not query.cross


def test_names_without_as_and_names_like_keywords() -> None:
    query = read_sql(
        "SELECT a.x one, lower(a.s) two, a.y FROM index [ROWS 5] a, comment [ROWS 1] -- x\n WHERE a.x = 1"
    )
    assert [item.name for item in query.items] == ["one", "two", None]
    assert [(stream.source, stream.name) for stream in query.streams] == [
        ("index", "a"),
        ("comment", "comment"),
    ]


def test_the_last_word_of_an_item_is_its_name_only_where_it_can_be() -> None:
    names = {
        "a.ts + INTERVAL 10 MINUTES": None,
        "a.ts + INTERVAL 10 MINUTES later": "later",
        "INTERVAL '10' MINUTE": None,
        "INTERVAL '10' MINUTE minute": "minute",
        "INTERVAL '1:30' MINUTE TO SECOND": None,
        "INTERVAL 1 HOUR 30 MINUTES wait": "wait",
        "INTERVAL 10 MINUTES AS wait": "wait",
        "a.x date": "date",
        "a.x IS NULL missing": "missing",
        "left(a.s, 1)": None,
        "replace(a.s, 'x', 'y') `odd name`": "odd name",
        "CASE WHEN a.b THEN 1 END": None,
        "a.end": None,
    }
    query = read_sql(f"SELECT {', '.join(names)} FROM a, b WHERE a.x = b.x")  # noqa: S608
    assert [item.name for item in query.items] == list(names.values())
    assert query.items[1].text == "a.ts + INTERVAL 10 MINUTES"
    assert query.items[6].text == "INTERVAL 10 MINUTES"


@pytest.mark.parametrize(
    "condition",
    [
        "left(a.s, 1) = right(b.s, 1)",
        "replace(a.s, 'x') = b.s",
        "a.x IS DISTINCT FROM b.x",
        "a.x IS NOT DISTINCT FROM b.x",
        "a.left = b.right AND a.limit < b.from",
        "a.x = b.inner",
        "a.join = b.using AND a.on > 1",
    ],
)
def test_words_of_clauses_that_are_names_or_operators(condition: str) -> None:
    assert read_sql(f"SELECT a.from FROM a, b WHERE {condition}").texts == (condition,)  # noqa: S608
    joined = read_sql(f"SELECT a.from FROM a INNER JOIN b ON {condition} CROSS JOIN c")  # noqa: S608
    assert joined.texts == (condition,)
    assert [stream.name for stream in joined.streams] == ["a", "b", "c"]


def columns(*streams: str) -> list[Stream]:
    """Streams written as their name and the letters of their columns."""
    return [
        Stream(name, (Column("ts", "timestamp"), *(Column(c, "int") for c in letters)), "ts")
        for name, letters in (text.split() for text in streams)
    ]


def test_using_is_a_condition_and_its_column_is_that_of_the_left_stream() -> None:
    items = "k, K + 1 next, b.k, f(k), k.x, 'k'"
    sources = "z, a JOIN b USING (k) JOIN c USING (k, j)"
    text = f"SELECT {items} FROM {sources} WHERE k > 3 AND a.k < 9"  # noqa: S608
    query = without_using(read_sql(text), columns("z k", "a kv", "b kj", "c kj"))
    assert query.texts == ("a.k = b.k", "a.k = c.k", "b.j = c.j", "a.k > 3 AND a.k < 9")
    assert [item.text for item in query.items] == ["a.k", "a.k + 1", "b.k", "f(a.k)", "k.x", "'k'"]


@pytest.mark.parametrize(
    ("text", "fact", "hint"),
    [
        ("a JOIN b USING (v)", 'USING names the column "v", which is missing in "b"', '"b.k"'),
        ("a JOIN b USING (j)", 'USING names the column "j", which is missing in "a"', '"a.v"'),
        ("a JOIN b ON a.v = b.j JOIN c USING (k)", 'it is not clear which "k" USING means', "ON a.k = c.k"),
        ("a JOIN b USING k", "cannot read what follows USING", "USING (id)"),
        ("a JOIN b USING ()", "cannot read what follows USING", "USING (id)"),
        ("a JOIN b USING (k j)", "cannot read what follows USING", "USING (id)"),
        ("a JOIN b USING (k) ON a.v = b.j", "USING stands once after JOIN, in place of ON", "USING (id)"),
        ("a JOIN b USING (k) USING (j)", "USING stands once after JOIN, in place of ON", "USING (id)"),
        ("a USING (k), b", "USING stands once after JOIN, in place of ON", "USING (id)"),
    ],
)
def test_using_that_cannot_be_read(text: str, fact: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        without_using(read_sql(f"SELECT * FROM {text}"), columns("a kv", "b kj", "c kj"))  # noqa: S608
    assert caught.value.fact == fact
    assert hint in caught.value.hint
    assert "^" in caught.value.detail


def test_using_leaves_words_alone_that_are_no_columns() -> None:
    streams = [
        Stream(name, (Column("ts", "timestamp"), Column("date", "date"), Column("day", "int")), "ts")
        for name in "ab"
    ]
    text = (
        "SELECT CAST(a.ts AS date) AS d, day FROM a JOIN b USING (date, day) "
        "WHERE b.ts <= a.ts + INTERVAL 1 DAY AND date > DATE '2026-01-01'"
    )
    query = without_using(read_sql(text), streams)
    assert [item.text for item in query.items] == ["CAST(a.ts AS date)", "a.day"]
    assert query.texts[2:] == ("b.ts <= a.ts + INTERVAL 1 DAY AND a.date > DATE '2026-01-01'",)


def test_given_names_may_be_words_of_sql() -> None:
    items = "a.x AS end, a.y AS limit, CASE WHEN a.x > 1 THEN 1 END AS case"
    query = read_sql(f"SELECT {items} FROM a, b WHERE a.x = 1")  # noqa: S608
    assert [item.name for item in query.items] == ["end", "limit", "case"]


def test_joins_written_as_joins() -> None:
    query = read_sql("select * from a [rows 5] join b on a.x = b.x inner join c on b.y = c.y where a.v > 3")
    assert [stream.name for stream in query.streams] == ["a", "b", "c"]
    assert query.texts == ("a.x = b.x", "b.y = c.y", "a.v > 3")
    assert query.streams[1].window is None
    assert read_sql("SELECT * FROM a CROSS JOIN b").cross


@pytest.mark.parametrize(
    ("text", "fact", "marked"),
    [
        ("SELECT * FROM a, b GROUP BY x", "GROUP BY is not part of a join", "GROUP"),
        ("SELECT * FROM a LEFT CROSS JOIN b", "cannot read what stands before JOIN", "LEFT"),
        (
            "SELECT * FROM a WHERE a.x NOT IN (SELECT x FROM b)",
            "IN with a SELECT is not part of a join",
            "IN",
        ),
        ("SELECT * FROM a, b WHERE EXISTS (SELECT 1 FROM c)", "EXISTS decides about one stream", "b WHERE"),
        (
            "SELECT * FROM a WHERE a.x = 1 OR EXISTS (SELECT 1 FROM c)",
            "EXISTS stands once, and is connected with the rest of WHERE by AND",
            "OR EXISTS",
        ),
        (
            "SELECT * FROM a WHERE EXISTS (SELECT 1 FROM c) AND a.x = 1 OR a.x = 2",
            "EXISTS stands once, and is connected with the rest of WHERE by AND",
            "OR a.x",
        ),
        (
            "SELECT * FROM a WHERE CASE WHEN a.x = 1 AND EXISTS (SELECT 1 FROM c) AND a.y = 1 THEN true END",
            "EXISTS stands inside parentheses, or inside CASE",
            "EXISTS",
        ),
        ("SELECT * FROM a WHERE (NOT EXISTS (SELECT 1 FROM c))", "EXISTS stands inside", "EXISTS"),
        ("SELECT * FROM a WHERE EXISTS (SELECT max(c.x) FROM c)", "EXISTS selects max(c.x)", "EXISTS"),
        ("SELECT * FROM a WHERE EXISTS (SELECT every(c.x) FROM c)", "EXISTS selects every(c.x)", "EXISTS"),
        ("SELECT * FROM a WHERE NOT EXISTS (SELECT 1 FROM c WHERE a.x = c.x", "the condition ends", "x"),
        ("SELECT * FROM a WHERE a.x > 1 AND EXISTS (SELECT 1 FROM c) AND", "the condition ends", "AND"),
        ("SELECT * FROM a WHERE EXISTS (SELECT 1 FROM c;)", "EXISTS holds a semicolon", "EXISTS"),
        ("SELECT * FROM a LEFT JOIN b LEFT JOIN c ON 1 ON 2", "two ON stand behind one stream", "2"),
        ("SELECT * FROM a [RANGE 5 PARSECS], b", 'unknown unit "PARSECS"', "[RANGE"),
        ("SELECT * FROM a [ROWS many], b", 'cannot count "many" rows', "[ROWS"),
        ("SELECT * FROM a [SLIDE 5 SECONDS], b", 'cannot read "[SLIDE"', "[SLIDE"),
        ("SELECT * FROM a [ROWS 5] [RANGE 5 SECONDS], b", 'stream "a" has two of these settings', "[RANGE"),
        ("SELECT * FROM a x y, b", 'cannot read "y" after stream "a"', "y,"),
        ("SELECT * FROM a, WHERE a.x = 1", "the name of a stream is missing", ""),
        ("SELECT * FROM a NATURAL JOIN b", "NATURAL says no columns", "NATURAL"),
        ("SELECT * FROM a, b WHERE", "WHERE is followed by nothing", "WHERE"),
        ("SELECT * FROM a AS AS x, b", 'cannot read "x" after stream "a"', "x,"),
        ("SELECT a.x,, a.y FROM a, b", "the SELECT list has a gap", ",, a.y"),
        ("SELECT * FROM a [ROWS 1,000], b", 'cannot count "1,000" rows', "[ROWS"),
        ("SELECT *", "the query is not a SELECT ... FROM ...", "SELECT"),
        ("DROP TABLE a", "the query is not a SELECT ... FROM ...", "DROP"),
    ],
)
def test_mistakes_are_pointed_out(text: str, fact: str, marked: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        read_sql(text)
    assert caught.value.fact.startswith(fact)
    assert caught.value.hint
    if marked:
        _, line, mark = caught.value.detail.split("\n")[:3]
        assert line[mark.index("^") :].startswith(marked)


def test_the_line_of_a_longer_text_is_shown() -> None:
    text = dedent("""\
        SELECT *
        FROM a [RANGE 1 HOUR],
             b [RANGE never]
        WHERE a.x = b.x""")
    with pytest.raises(InvalidQuery) as caught:
        read_sql(text)
    assert caught.value.detail == "here:\n         b [RANGE never]\n           ^"
