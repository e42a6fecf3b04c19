"""What the windows of a bucket tell about their keys, for choosing in which order to visit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from watersmeet.kernel.run import Run
from watersmeet.kernel.window import StoredRun
from watersmeet.plan import ProbePath
from watersmeet.stats.key_sample import KeySample, RunSample, merged_sample

# What is kept of a run under this name.
_SAMPLE = "sample", ()


class Look(Protocol):
    """A look at the keys, taken only if somebody wants to know."""

    def __call__(self) -> KeySample:
        """The sample."""


class PathPlanner(Protocol):
    """Who decides which path new rows take."""

    def path(self, head: int, rows: Sequence[int], look: Look) -> ProbePath:
        """The path for new rows of an input.

        Args:
            head: The input.
            rows: How many rows of each input take part: the new ones of the head, those alive of the others.
            look: Samples the keys.
        """

    def learn(self, agreed: Mapping[tuple[int, ...], tuple[int, int]]) -> None:
        """Take note of look-ups by more than the key.

        Args:
            agreed: By the attributes of a look-up how many rows its keys had, and how many were left.
        """

    @property
    def paths(self) -> Sequence[ProbePath]:
        """The path of every input now."""

    def take_changes(self) -> int:
        """How many paths were changed since this was last asked."""

    def remember(self) -> Any:
        """What to start from after the next batch."""

    def recall(self, remembered: Any) -> None:
        """Go on from there, if it was found under the same plan."""


def sample_windows(visible: Sequence[Sequence[StoredRun]], scanned: frozenset[int]) -> KeySample:
    """Sample the keys of the visible rows of every input."""
    parts = [[key_sample(stored.run) for stored in runs] for runs in visible]
    return merged_sample(parts, [part in scanned for part in range(len(visible))])


def key_sample(run: Run) -> RunSample:
    """The keys of a run, those with the smallest hashes."""
    found: RunSample | None = run.derived.get(_SAMPLE)
    if found is None:
        found = run.derived[_SAMPLE] = RunSample.of(run.key_hashes, run.key_rows)
    return found
