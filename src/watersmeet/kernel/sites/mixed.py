"""The keys of a window at another site, kept current by differences (Tran & Lee 2010, Algorithm 9).

The window side has the window and counts the rows of every key. The head side has the same keys in the same
order; for keys it has pulled it also has their rows. After every change of the window the window side sends

    v_J   keys that are new
    v_C   counts that have changed; a key whose count is 0 is gone
    s_F   new rows of keys that were pulled

The paper sends v_C as one count per key, in the order of the keys. Here keys are numbered as they come,
alike on both sides, and only numbers whose count has changed are sent: the same knowledge, without a cost
per key of the window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any


@dataclass(frozen=True, slots=True)
class Update:
    """What the window side tells.

    Attributes:
        new: Positions, among the rows inserted, of one row per new key (v_J).
        counts: Per number of a key that has changed its rows now (v_C).
        following: Positions of inserted rows whose key was pulled (s_F).
        serials: The number of the key of each inserted row.
    """

    new: list[int]
    counts: dict[int, int]
    following: list[int]
    serials: list[int]


@dataclass(slots=True)
class KeyCounts:
    """The window side, V_2: the keys of the window, how many rows each has, and whether it was pulled."""

    serials: dict[Hashable, int] = field(default_factory=dict)
    keys: dict[int, Hashable] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    pulled: set[int] = field(default_factory=set)
    numbered: int = 0

    def change(self, inserted: Sequence[Hashable], removed: Iterable[int]) -> Update:
        """Rows with these keys have come, and rows of keys with these numbers are gone."""
        new: list[int] = []
        following: list[int] = []
        serials: list[int] = []
        touched: set[int] = set()
        for position, key in enumerate(inserted):
            serial = self.serials.get(key)
            if serial is None:
                serial = self.serials[key] = self.numbered
                self.keys[serial] = key
                self.counts[serial] = 0
                self.numbered += 1
                new.append(position)
            elif serial in self.pulled:
                following.append(position)
            self.counts[serial] += 1
            serials.append(serial)
            touched.add(serial)
        for serial, count in Counter(removed).items():
            self.counts[serial] -= count
            touched.add(serial)
        counts = {serial: self.counts[serial] for serial in sorted(touched)}
        for serial, count in counts.items():
            if not count:
                del self.serials[self.keys.pop(serial)], self.counts[serial]
                self.pulled.discard(serial)
        return Update(new, counts, following, serials)

    def pull(self, serials: Iterable[int]) -> list[int]:
        """The head side wants all rows of these keys; returns the keys that are still there."""
        present = [serial for serial in serials if serial in self.counts]
        self.pulled.update(present)
        return present

    def save(self) -> Any:
        """All state."""
        return dict(self.serials), dict(self.counts), frozenset(self.pulled), self.numbered

    @classmethod
    def restored(cls, kept: Any) -> KeyCounts:
        """Take back the state."""
        serials, counts, pulled, numbered = kept
        return cls(dict(serials), _turned(serials), dict(counts), set(pulled), numbered)


@dataclass(slots=True)
class MixedWindow:
    """The head side, M_2: the same keys, and for those that were pulled their rows by number, in order."""

    serials: dict[Hashable, int] = field(default_factory=dict)
    keys: dict[int, Hashable] = field(default_factory=dict)
    lists: dict[int, list[int]] = field(default_factory=dict)
    numbered: int = 0

    def add(self, new: Iterable[Hashable]) -> None:
        """Keys are new (v_J): nothing is known of their rows."""
        for key in new:
            self.serials[key] = self.numbered
            self.keys[self.numbered] = key
            self.numbered += 1

    def follow(self, keys: Iterable[Hashable], numbers: Iterable[int]) -> None:
        """Rows have come of keys that were pulled (s_F)."""
        for key, number in zip(keys, numbers, strict=True):
            self.lists[self.serials[key]].append(number)

    def count(self, counts: Iterable[tuple[int, int]]) -> None:
        """Keys have so many rows now (v_C): rows go from the front of a list, and keys without rows go."""
        for serial, count in counts:
            if not count:
                del self.serials[self.keys.pop(serial)]
                self.lists.pop(serial, None)
            elif serial in self.lists:
                rows = self.lists[serial]
                del rows[: len(rows) - count]

    def known(self, serials: Iterable[int], keys: Iterable[Hashable], numbers: Iterable[int]) -> None:
        """All rows of these keys have come, as asked for."""
        for serial in serials:
            if serial in self.keys:
                self.lists[serial] = []
        self.follow(keys, numbers)

    def save(self) -> Any:
        """All state."""
        # All lists one after the other, so that they are numbers in a row.
        rows = [row for one in self.lists.values() for row in one]
        return (
            dict(self.serials),
            [(serial, len(one)) for serial, one in self.lists.items()],
            rows,
            self.numbered,
        )

    @classmethod
    def restored(cls, kept: Any) -> MixedWindow:
        """Take back the state."""
        serials, sizes, rows, numbered = kept
        following = iter(rows)
        lists = {serial: list(islice(following, size)) for serial, size in sizes}
        return cls(dict(serials), _turned(serials), lists, numbered)


def _turned(serials: dict[Hashable, int]) -> dict[int, Hashable]:
    return {serial: key for key, serial in serials.items()}
