"""The rows of the table: a join, the data it runs on, and what is to be said about it."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet_lab.peers.nexmark import COLUMNS, LONGEST_S
from watersmeet_lab.peers.query import Near, Query, Side

# Of the joins on generated keys. Times are whole milliseconds, since Flink's event times have no finer ones.
WINDOW_S = 100
_KEYED = (("key", "BIGINT"), ("ts", "TIMESTAMP"), ("payload", "STRING"))
# A person opens auctions so long after registering; older accounts are outside the window.
_NEW_S = 10


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: What `--only` calls it.
        data: Which rows it joins: "keyed", "topics", "nexmark", or "people": persons and auctions.
        query: The join.
        about: What it is, and what of the query it comes from is left out.
    """

    name: str
    data: str
    query: Query
    about: str


def _keyed(streams: int) -> Query:
    names = [f"s{i}" for i in range(streams)]
    sides = [
        Side(
            name,
            _KEYED,
            (("s0.key", "key"),) if i else (),
            tuple(Near(other, WINDOW_S, WINDOW_S) for other in names[:i]),
        )
        for i, name in enumerate(names)
    ]
    select = tuple(f"{name}.{column}" for name in names for column, _ in _KEYED)
    return Query(tuple(sides), select, window_s=WINDOW_S)


def _all(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.{column}" for name in names for column, _ in COLUMNS[name])


_PERSONS = Side("persons", COLUMNS["persons"])
_AUCTIONS = Side("auctions", COLUMNS["auctions"])
_THEIR_AUCTIONS = Side(
    "auctions", COLUMNS["auctions"], (("persons.id", "seller"),), (Near("persons", 0, _NEW_S),)
)
_BIDS = Side("bids", COLUMNS["bids"], (("auctions.id", "auction"),), (Near("auctions", 0, LONGEST_S),))
_WHILE_OPEN = "bids.ts <= auctions.expires"

ROWS = (
    Row(
        "four-way",
        "keyed",
        _keyed(4),
        "four streams on one key, any two rows of a result within a window; 40 bytes of payload",
    ),
    Row(
        "kafka",
        "topics",
        _keyed(3),
        "three topics of JSON on one key, reading and parsing included; DuckDB parses the records in files",
    ),
    Row(
        "q3",
        "people",
        Query(
            (_PERSONS, _THEIR_AUCTIONS),
            ("persons.name", "persons.city", "persons.state", "auctions.id"),
            ("auctions.category = 10", "persons.state IN ('OR', 'ID', 'CA')"),
        ),
        f"sellers of a category in three states; windowed here: auctions up to {_NEW_S} s later",
    ),
    Row(
        "q4",
        "nexmark",
        Query((_AUCTIONS, _BIDS), ("auctions.id", "auctions.category", "bids.price"), (_WHILE_OPEN,)),
        "bids between the start and the expiry of their auction; all systems run the join, none the MAX per "
        "auction and the AVG per category that follow it",
    ),
    Row(
        "q8",
        "people",
        Query(
            (_PERSONS, Side("auctions", COLUMNS["auctions"], (("persons.id", "seller"),))),
            _all("persons"),
            slot_s=10,
        ),
        "persons who opened an auction in the tumbling window in which they registered, as a semi join, "
        "which is what the query's two DISTINCTs come to",
    ),
    Row(
        "q9",
        "nexmark",
        Query((_AUCTIONS, _BIDS), _all("auctions", "bids"), (_WHILE_OPEN,)),
        "as q4 with all columns; all systems run the join, none the choice of the highest bid after it",
    ),
    Row(
        "q20",
        "nexmark",
        Query((_AUCTIONS, _BIDS), _all("bids", "auctions"), (_WHILE_OPEN, "auctions.category = 10")),
        "bids with the auction, of one category; windowed here: bids until the expiry",
    ),
    Row(
        "q23",
        "nexmark",
        Query((_PERSONS, _THEIR_AUCTIONS, _BIDS), _all("bids", "auctions", "persons"), (_WHILE_OPEN,)),
        "bids, their auction and its seller, as proposed for Nexmark; windowed here: bids until the expiry, "
        f"auctions within {_NEW_S} s of the seller's registration",
    ),
)
