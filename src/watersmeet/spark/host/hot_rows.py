"""Rows of hot keys as packers send them: dealt out or copied to all buckets, and told to the key's bucket.

They travel apart from other rows, as inputs of their own, so that buckets know which of them others have too.
Whoever sends a row of a hot key tells the bucket of the key what it went by, and the newest row that it dealt
out. A row that comes to the bucket of its key like any other was sent by somebody who did not know that it is
hot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from watersmeet.kernel.spreading import Route, homes
from watersmeet.spark.host.hot_notes import Routes, routes_of_text, text_of_routes

# The inputs of hot rows begin here, one per dealt input and input.
_HOT = 1 << 16


class HotInput(NamedTuple):
    """Hot rows of an input, of keys of which the rows of one input are dealt out."""

    number: int
    dealt: int

    @property
    def copied(self) -> bool:
        """Whether all buckets get these rows."""
        return self.number != self.dealt

    @property
    def code(self) -> int:
        """The number under which they travel."""
        return _HOT * (1 + self.dealt) + self.number

    @classmethod
    def of(cls, code: int) -> HotInput | None:
        """What travels under a number; None for rows that are not hot."""
        return cls(code % _HOT, code // _HOT - 1) if code >= _HOT else None


@dataclass(frozen=True)
class Sent:
    """What a packer tells the bucket of hot keys.

    Attributes:
        routes: What it went by.
        dealt: By key the newest time of the rows that it has dealt out.
    """

    routes: Routes
    dealt: dict[int, int]

    def to_bytes(self) -> bytes:
        """As it travels."""
        return json.dumps([text_of_routes(self.routes), list(self.dealt.items())]).encode()

    @classmethod
    def of(cls, said: bytes) -> Sent:
        """What was told."""
        routes, dealt = json.loads(bytes(said))
        return cls(routes_of_text(routes), dict(dealt))


class HotRoutes:
    """The routes of all hot keys of a join, as a packer uses them."""

    def __init__(self, routes: Mapping[int, Routes], buckets: int) -> None:
        """Sort them by key.

        Args:
            routes: By bucket what it says of its keys.
            buckets: How many there are.
        """
        self._of = dict(routes)
        self._buckets = buckets
        self._routes: list[Route] = sorted(route for some in routes.values() for route in some)
        self._keys = np.array([route.key for route in self._routes], np.uint64)
        self._dealt = np.array([route.dealt for route in self._routes])
        self._deals = np.array([route.deals for route in self._routes])

    def hot(self, hashes: Any) -> Any:
        """Which rows are of a hot key: the number of its route, or -1."""
        if not len(self._keys):
            return np.full(len(hashes), -1)
        places = np.minimum(np.searchsorted(self._keys, hashes), len(self._keys) - 1)
        return np.where(self._keys[places] == hashes, places, -1)

    def shares(self, number: int, which: Any, spread: Any) -> Iterator[tuple[HotInput, Sequence[int], Any]]:
        """Which hot rows of an input go where: what they travel as, the buckets, the positions of the rows.

        Args:
            number: The input.
            which: The number of the route of every row.
            spread: The bucket to which each goes if it is dealt out.
        """
        dealt = self._dealt[which]
        for other in np.unique(dealt[dealt != number]).tolist():
            yield HotInput(number, other), range(self._buckets), np.flatnonzero(dealt == other)
        own = np.flatnonzero(dealt == number)
        deals = self._deals[which[own]]
        bucket = np.where(deals, spread[own], homes(self._keys[which[own]], self._buckets))
        for one in np.unique(bucket).tolist():
            yield HotInput(number, number), [one], own[bucket == one]

    def told(self, number: int, which: Any, times: Any) -> Iterator[tuple[int, Sent]]:
        """What the buckets of the keys are told about some rows.

        Args:
            number: The input.
            which: The number of the route of every row.
            times: When they come alive.
        """
        routes = [self._routes[place] for place in np.unique(which).tolist()]
        newest = np.full(len(self._routes), np.iinfo(np.int64).min)
        np.maximum.at(newest, which, times)
        for bucket, said in self._of.items():
            if here := [route for route in routes if route in said]:
                dealt = [route for route in here if route.deals and route.dealt == number]
                latest = {route.key: int(newest[self._routes.index(route)]) for route in dealt}
                yield bucket, Sent(said, latest)
