"""Persons, auctions and bids of an auction house, in Nexmark's proportions of 1 : 3 : 46.

Written from the public description of the benchmark: what its queries join and filter on is here, its padding
is not. The same numbers give the same rows. Times are whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

# Of so many events in a row, the first is a person, then come auctions, then bids.
_GROUP, _AUCTIONS, _BIDS = 50, 3, 46
_EPOCH_MS = 1_700_000_000_000
# An auction is open for one second to so many.
LONGEST_S = 10
# Bids go to auctions that are at most so old, some of which have closed; sellers have registered at most so
# long ago, some outside the window of the queries.
_OLDEST_AUCTION_S, _OLDEST_SELLER_S = 12, 15
# Every other bid goes to the newest auction whose number is a multiple of this.
_HOT = 100
_FIRST_CATEGORY, _CATEGORIES = 10, 5

_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
)
_NAMES = tuple(
    f"{first} {last}"
    for first in (
        "Peter",
        "Paul",
        "Luke",
        "John",
        "Saul",
        "Vicky",
        "Kate",
        "Julie",
        "Sarah",
        "Deiter",
        "Walter",
    )
    for last in ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
)
_ITEMS = tuple(f"{size} {thing}" for size in ("small", "large", "old") for thing in ("lamp", "chair", "boat"))
_CHANNELS = ("web", "phone", "partner", "shop")

COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "persons": (
        ("id", "BIGINT"),
        ("name", "STRING"),
        ("city", "STRING"),
        ("state", "STRING"),
        ("ts", "TIMESTAMP"),
    ),
    "auctions": (
        ("id", "BIGINT"),
        ("item", "STRING"),
        ("reserve", "BIGINT"),
        ("seller", "BIGINT"),
        ("category", "BIGINT"),
        ("ts", "TIMESTAMP"),
        ("expires", "TIMESTAMP"),
    ),
    "bids": (
        ("auction", "BIGINT"),
        ("bidder", "BIGINT"),
        ("price", "BIGINT"),
        ("channel", "STRING"),
        ("ts", "TIMESTAMP"),
    ),
}


@dataclass(frozen=True)
class Nexmark:
    """How much is generated.

    Attributes:
        batches: How many batches, each with as many events.
        batch_groups: Groups of 50 events in a batch.
        groups_per_s: Groups in a second of event time.
        bids: Whether bids are written; without them a batch is small.
        seed: Of the generator.
    """

    batches: int
    batch_groups: int
    groups_per_s: int = 200
    bids: bool = True
    seed: int = 20261120

    @property
    def streams(self) -> tuple[str, ...]:
        """What is written."""
        return ("persons", "auctions", "bids")[: 3 if self.bids else 2]

    def tables(self, stream: str) -> Iterator[pa.Table]:
        """The batches of a stream, in the order of their times."""
        make = {"persons": self._persons, "auctions": self._auctions, "bids": self._bids}[stream]
        for batch in range(self.batches):
            random = np.random.default_rng([self.seed, list(COLUMNS).index(stream), batch])
            columns = make(np.arange(batch * self.batch_groups, (batch + 1) * self.batch_groups), random)
            yield pa.table({name: columns[name] for name, _ in COLUMNS[stream]})

    def _persons(self, group: Any, random: np.random.Generator) -> dict[str, Any]:
        n = len(group)
        return {
            "id": group,
            "name": _texts(_NAMES, n, random),
            "city": _texts(_CITIES, n, random),
            "state": _texts(_STATES, n, random),
            "ts": _times(self._ms(group, 0)),
        }

    def _auctions(self, groups: Any, random: np.random.Generator) -> dict[str, Any]:
        group, place = np.repeat(groups, _AUCTIONS), np.tile(np.arange(_AUCTIONS), len(groups))
        n = len(group)
        ms = self._ms(group, 1 + place)
        return {
            "id": group * _AUCTIONS + place,
            "item": _texts(_ITEMS, n, random),
            "reserve": random.integers(100, 100_000, n),
            "seller": np.maximum(group - random.integers(0, _OLDEST_SELLER_S * self.groups_per_s, n), 0),
            "category": _FIRST_CATEGORY + random.integers(0, _CATEGORIES, n),
            "ts": _times(ms),
            "expires": _times(ms + random.integers(1000, LONGEST_S * 1000 + 1, n)),
        }

    def _bids(self, groups: Any, random: np.random.Generator) -> dict[str, Any]:
        group, place = np.repeat(groups, _BIDS), np.tile(np.arange(_BIDS), len(groups))
        n = len(group)
        newest = (group + 1) * _AUCTIONS - 1
        any_auction = newest - random.integers(0, _OLDEST_AUCTION_S * self.groups_per_s * _AUCTIONS, n)
        hot = newest // _HOT * _HOT
        return {
            "auction": np.maximum(np.where(random.random(n) < 0.5, hot, any_auction), 0),
            "bidder": random.integers(0, np.maximum(group, 1)),
            "price": random.integers(100, 1_000_000, n),
            "channel": _texts(_CHANNELS, n, random),
            "ts": _times(self._ms(group, 1 + _AUCTIONS + place)),
        }

    def _ms(self, group: Any, place: Any) -> Any:
        return (group * _GROUP + place) * 1000 // (self.groups_per_s * _GROUP) + _EPOCH_MS


def _texts(known: tuple[str, ...], count: int, random: np.random.Generator) -> pa.Array:
    return pa.array(known).take(pa.array(random.integers(0, len(known), count)))


def _times(ms: Any) -> pa.Array:
    return pa.array(ms * 1000, pa.timestamp("us", tz="UTC"))
