"""What conditions are taken for: keys, bounds on time, filters, conditions of the kernel, work for Spark.

Would catch: an equality that is not used as a key, a bound that is missed, a text cut at the wrong place.
"""

from datetime import timedelta

import pytest

from watersmeet.errors import InvalidQuery
from watersmeet.query import Column, JoinQuery, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly

MINUTE = timedelta(minutes=1)
SECOND = 1_000_000


class Guessing(ColumnsOnly):
    """Every key expression is a bigint, or a timestamp if it mentions one."""

    def of_key(self, stream: Stream, text: str) -> Column:
        return Column(text, "timestamp" if ".ts" in text else "bigint")


class WithClockChanges(Guessing):
    fixed_zone = False


def query(*on: str, window: timedelta | None = MINUTE, types: ColumnsOnly | None = None) -> JoinQuery:
    names = ("ts", "timestamp"), ("x", "bigint"), ("end", "bigint"), ("case", "bigint"), ("v", "bigint")
    columns = tuple(Column(name, kind) for name, kind in names)
    streams = [Stream(name, columns, "ts", window) for name in ("a", "b")]
    return join_query(streams, list(on), ["a.x"], "inner", types or Guessing())


def labels(made: JoinQuery) -> list[str]:
    return [attribute.label for attribute in made.attributes]


def test_columns_named_like_keywords() -> None:
    assert labels(query("a.end = b.end AND a.case = b.case AND a.x = b.x")) == ["end", "case", "x"]


def test_comments_are_no_part_of_a_key() -> None:
    made = query("a.x = b.v + 1 -- more = less\nAND /* AND a.end = b.end */ a.v = b.v")
    assert labels(made) == ["a.x = b.v + 1", "v"]


def test_what_the_kernel_would_compute_is_no_part_of_the_text_of_a_query() -> None:
    """Checkpoints of joins between sites know their query by it."""
    made = query("a.x + 1 = b.v", "a.v > 5")
    assert made.attributes[0].members[0].expression is not None
    assert made.filters[0].expression is not None
    assert "expression" not in repr((made.attributes, made.filters))


@pytest.mark.parametrize(
    "text",
    ["CASE WHEN a.v = 0 THEN 1 ELSE 2 END = b.x", "lower('=') = 'x' OR a.x = b.x", "(a.x, a.v) = (b.x, b.v)"],
)
def test_equalities_are_split_where_they_compare(text: str) -> None:
    made = query(text)
    assert labels(made) == (["CASE WHEN a.v = 0 THEN 1 ELSE 2 END = b.x"] if text.startswith("CASE") else [])
    assert len(made.attributes) + len(made.conditions) + len(made.afterwards) == 1


@pytest.mark.parametrize(
    ("text", "reaches"),
    [
        ("a.ts = b.ts", (0, 0)),
        ("b.ts = a.ts + INTERVAL 2 SECONDS", (2 * SECOND, 0)),
        ("b.ts - a.ts BETWEEN INTERVAL 1 SECOND AND INTERVAL 3 SECONDS", (3 * SECOND, 0)),
        ("abs(a.ts - b.ts) < INTERVAL 1 SECOND", (SECOND - 1, SECOND - 1)),
        ("greatest(a.ts, b.ts) <= least(a.ts, b.ts) + INTERVAL 1 SECOND", None),
        (
            "a.ts <= least(b.ts, b.ts + INTERVAL 1 SECOND) AND b.ts <= a.ts + INTERVAL 1 DAY",
            (86400 * SECOND, 0),
        ),
    ],
)
def test_windows_from_conditions_on_time(text: str, reaches: tuple[int, int] | None) -> None:
    if reaches is None:
        with pytest.raises(InvalidQuery, match="kept for ever"):
            query(text, window=None)
    else:
        assert query(text, window=None).reaches == reaches


@pytest.mark.parametrize(
    "texts", [("a.ts = b.ts", "a.ts > b.ts"), ("a.ts = b.ts + INTERVAL 1 SECOND", "a.ts <= b.ts")]
)
def test_contradictions_are_named(texts: tuple[str, str]) -> None:
    with pytest.raises(InvalidQuery) as caught:
        query(*texts)
    assert all(text in caught.value.detail for text in texts)


def test_where_clocks_change_days_are_left_to_spark() -> None:
    """Spark adds days of the calendar there, and a day may have 23 or 25 hours."""
    zone = WithClockChanges()
    day = query("b.ts <= a.ts + INTERVAL 1 DAY", "a.x = b.x", types=zone)
    assert [rest.text for rest in day.afterwards] == ["b.ts <= a.ts + INTERVAL 1 DAY"]
    assert query("b.ts - a.ts < INTERVAL 1 HOUR", "a.x = b.x", types=zone).afterwards
    assert query("b.ts <= a.ts + INTERVAL 23 HOURS", "a.x = b.x", types=zone).afterwards == ()
    with pytest.raises(InvalidQuery) as caught:
        query("b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 DAY", "a.x = b.x", window=None, types=zone)
    assert "clocks change" in caught.value.detail


@pytest.mark.parametrize(
    ("kinds", "keys"),
    [
        # A wider whole number stands for the narrower ones, whatever comes first.
        (("int", "int", "bigint"), ["CAST(a.x AS bigint) = CAST(b.x AS bigint) = c.x"]),
        (("bigint", "smallint", "int"), ["a.x = CAST(b.x AS bigint) = CAST(c.x AS bigint)"]),
        (("int", "int", "double"), ["CAST(a.x AS double) = CAST(b.x AS double) = c.x"]),
        # A double does not stand for long whole numbers: equal to one double need not be equal.
        (("bigint", "bigint", "double"), ["a.x = b.x", "CAST(b.x AS double) = c.x"]),
        (("bigint", "double", "bigint"), ["CAST(a.x AS double) = b.x = CAST(c.x AS double)"]),
    ],
)
def test_equalities_in_several_types_share_a_key_where_one_type_keeps_values_apart(
    kinds: tuple[str, ...], keys: list[str]
) -> None:
    streams = [
        Stream(name, (Column("ts", "timestamp"), Column("x", kind)), "ts", MINUTE)
        for name, kind in zip("abc", kinds, strict=True)
    ]
    made = join_query(streams, ["a.x = b.x", "b.x = c.x"], None, "inner", ColumnsOnly())
    assert [attribute.text for attribute in made.attributes] == keys
