"""A windowed join as plain data, from which every system's own words are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_COLUMN = re.compile(r"\b([a-z]\w*)\.([a-z]\w*)\b")


@dataclass(frozen=True)
class Near:
    """When a row may come: between so many seconds before and so many after a row of an earlier stream."""

    other: str
    before: int
    after: int


@dataclass(frozen=True)
class Side:
    """A stream of a join, and what links it with those before it.

    Attributes:
        name: The stream; its files and topics are named after it.
        columns: Their names and Spark's types; all have `ts`, the event time.
        equal: A column of an earlier stream, as in ``auctions.id``, and the column here it is equal to.
        near: When its rows may come. Engines that join two streams at a time bound their state by the first.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    equal: tuple[tuple[str, str], ...] = ()
    near: tuple[Near, ...] = ()

    @property
    def schema(self) -> str:
        """The columns, as Spark reads them."""
        return ", ".join(f"{name} {kind}" for name, kind in self.columns)


@dataclass(frozen=True)
class Query:
    """A join of sides, in the order in which binary joins are chained.

    Attributes:
        sides: The streams.
        select: What results have, as in ``bids.price``.
        conditions: Further ones, in SQL that all systems read alike.
        window_s: All rows of a result lie so close together; ours says it as a window of every stream.
        slot_s: The first stream's rows come out that have a partner in their slot of so many seconds.
    """

    sides: tuple[Side, ...]
    select: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    window_s: int | None = None
    slot_s: int | None = None

    def equalities(self, side: Side) -> list[str]:
        """What is equal, as conditions."""
        return [f"{other} = {side.name}.{own}" for other, own in side.equal]


def rewritten(text: str, column: Callable[[str, str], str]) -> str:
    """A condition with its columns written another way.

    >>> rewritten("bids.ts <= auctions.expires", lambda stream, name: f"{stream}_{name}")
    'bids_ts <= auctions_expires'
    """
    return _COLUMN.sub(lambda found: column(found[1], found[2]), text)


def between(time: str, other: str, near: Near, interval: Callable[[int], str]) -> str:
    """The condition on two times; `interval` writes a number of seconds.

    >>> between("b.ts", "a.ts", Near("a", 0, 10), lambda seconds: f"INTERVAL '{seconds}' SECOND")
    "b.ts BETWEEN a.ts AND a.ts + INTERVAL '10' SECOND"
    """
    low = f"{other} - {interval(near.before)}" if near.before else other
    high = f"{other} + {interval(near.after)}" if near.after else other
    return f"{time} BETWEEN {low} AND {high}"
