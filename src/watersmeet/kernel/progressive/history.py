"""What has been found before: by stamps no pair is reported twice.

Every block of rows that arrives, every flush and every task has a number of its own, its stamp; no two
share one. A row is in memory from `came` to `left` and on disk from then on.

    row a   |came ------ left|  . . . on disk
    row b          |came ----------- left|             both in memory: found when b came

    row a   |came -- left|  . . . on disk
    row b                   |came ---- x ---- left|    found by a scan at x: b's partition in memory
                                                       against what had left before x
    row a   |came -- left|  . . .        merged
    row b                   |came -- left|             found when their runs were merged

(The paper's Fig. 7 takes two different scans for the second case, which loses pairs; it must be one.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from watersmeet.kernel.stored import stored_as

# When rows leave that are still in memory.
NEVER = 1 << 62


class Tagged(Protocol):
    """A run that is known by its tag."""

    @property
    def tag(self) -> int:
        """Its number."""


T = TypeVar("T", bound=Tagged)


@stored_as("history")
@dataclass(slots=True)
class History:
    """What was joined of one partition.

    Attributes:
        scans: Per side the stamps at which its rows in memory were joined with the other side's on disk.
        matched: Tags of runs, first side and second, that were merged in one operation.
    """

    scans: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    matched: set[tuple[int, int]] = field(default_factory=set)

    def seen(self, came: Sequence[Any], left: Sequence[Any]) -> Any:
        """Which pairs were found in memory or by a scan, given the stamps of their rows by side."""
        mask = (came[0] <= left[1]) & (came[1] <= left[0])
        for side in (0, 1):
            # The last scan while the row was in memory: if the other had not left by then, it had not at an
            # earlier one.
            stamps = np.asarray([-NEVER, *self.scans[side]])
            last = stamps[np.searchsorted(stamps, left[side], side="right") - 1]
            mask |= (last >= came[side]) & (last > left[1 - side])
        return mask

    def unmatched(self, one: Tagged, others: Iterable[T]) -> list[T]:
        """Runs of the second side whose pairs with one of the first are not all known."""
        return [other for other in others if (one.tag, other.tag) not in self.matched]

    def forget_others(self, tags: Iterable[int]) -> None:
        """Drop what is known about runs that are gone."""
        alive = set(tags)
        self.matched = {pair for pair in self.matched if alive.issuperset(pair)}
