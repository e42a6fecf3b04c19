"""Looking into windows that do not fit in memory: one after the other, and each group of runs by group.

    all in one go     new rows -> b, c                          where b and c fit together
    one by one        new rows -> b1 b2, then b3                combinations with b are the heads
                               -> c1 c2 c3, then c4             of the search through c

Every combination takes one run of each window, and each run is in one group, so nothing is found twice. What
has been looked into is closed, unless it is worth its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from watersmeet.kernel.window import StoredRun


@dataclass(slots=True)
class Room:
    """What may be open at a time, and what it was good for.

    Attributes:
        bytes: What runs that are looked into together may take.
        close: Called with runs that are not looked into any more for now.
        found: In how many combinations each run had a part, by its name.
    """

    bytes: int
    close: Callable[[Sequence[StoredRun]], None] = lambda _runs: None
    found: dict[str, int] = field(default_factory=dict)

    def holds(self, windows: Sequence[Sequence[StoredRun]]) -> bool:
        """Whether all these runs may be open together."""
        return sum(stored.size for runs in windows for stored in runs) <= self.bytes

    def count(self, names: Sequence[str], owners: Any) -> None:
        """Combinations with rows of these runs were found: which run each row is of."""
        for name, count in zip(names, np.bincount(owners, minlength=len(names)).tolist(), strict=True):
            self.found[name] = self.found.get(name, 0) + count

    def groups(self, runs: Sequence[StoredRun], windows: int) -> Iterator[Sequence[StoredRun]]:
        """The runs of one of so many windows in groups that fit; each is closed after use."""
        group: list[StoredRun] = []
        for stored in runs:
            if group and sum(one.size for one in group) + stored.size > self.bytes // windows:
                yield group
                self.close(group)
                group = []
            group.append(stored)
        if group:
            yield group
            self.close(group)
