"""Looking into windows that do not fit in memory: one after the other, and each group of runs by group.

    all in one go     new rows -> b, c                          where b and c fit together
    one by one        new rows -> b1 b2, then b3                combinations with b are the heads
                               -> c1 c2 c3, then c4             of the search through c

Every combination takes one run of each window, and each run is in one group, so nothing is found twice. What
has been looked into is closed, unless it is worth its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from watersmeet.kernel.bucket import RunFiles
from watersmeet.kernel.grouping import in_groups
from watersmeet.kernel.window import StoredRun


class ResidentRule(Protocol):
    """The rule for which runs stay open between batches."""

    def recently(self, before: float | None, found: int) -> float:
        """In how many combinations a run lately had a part per batch, brought up to date."""

    def staying(self, runs: Sequence[StoredRun], found: dict[str, float]) -> set[str]:
        """The names of the runs that stay, by what they lately found; new ones are not among these."""


@dataclass(slots=True)
class OpenLimit:
    """What may be open at a time, and what it was good for.

    Attributes:
        bytes: What runs that are looked into together may take.
        resident_rule: Which runs stay open between batches; None closes all.
        close: Called with runs that are not looked into any more for now.
        found: In how many combinations each run had a part in this batch, by its name.
        before: What was found lately per batch, up to the batch before.
    """

    bytes: int
    resident_rule: ResidentRule | None = None
    close: Callable[[Sequence[StoredRun]], None] = lambda _runs: None
    found: dict[str, int] = field(default_factory=dict)
    before: dict[str, float] = field(default_factory=dict)

    def use_files(self, files: RunFiles) -> None:
        """Close what was looked into, unless it was open before."""
        stay = files.open_runs()

        def close(runs: Sequence[StoredRun]) -> None:
            gone = {stored.id for stored in runs} - stay
            files.close_others(files.open_runs() - gone)

        self.close = close

    def remember(self, names: Iterable[str]) -> dict[str, float]:
        """What the runs of these names lately found, this batch included."""
        assert self.resident_rule is not None
        return {
            name: self.resident_rule.recently(self.before.get(name), self.found.get(name, 0))
            for name in names
            if name in self.before or name in self.found
        }

    def staying(self, runs: Sequence[StoredRun]) -> set[str]:
        """The names of the runs that stay open until the next batch."""
        assert self.resident_rule is not None
        return self.resident_rule.staying(runs, self.remember(stored.id for stored in runs))

    def holds(self, windows: Sequence[Sequence[StoredRun]]) -> bool:
        """Whether all these runs may be open together."""
        return sum(stored.size for runs in windows for stored in runs) <= self.bytes

    def count(self, names: Sequence[str], owners: Any) -> None:
        """Combinations with rows of these runs were found: which run each row is of."""
        for name, count in zip(names, np.bincount(owners, minlength=len(names)).tolist(), strict=True):
            self.found[name] = self.found.get(name, 0) + count

    def groups(self, runs: Sequence[StoredRun], windows: int) -> Iterator[Sequence[StoredRun]]:
        """The runs of one of so many windows in groups that fit; each is closed after use."""
        for group in in_groups(runs, (lambda stored: stored.size, self.bytes // windows)):
            yield group
            self.close(group)
