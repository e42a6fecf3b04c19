"""What the windows of a bucket tell about their keys, for choosing in which order to visit them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from watersmeet.kernel.run import Run
from watersmeet.kernel.window import StoredRun
from watersmeet.plan import ProbePath
from watersmeet.stats.key_sample import HOT_TIMES, KeySample, RunSample, merged_sample


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
    parts = [[_sample(stored.run) for stored in runs] for runs in visible]
    return merged_sample(parts, [part in scanned for part in range(len(visible))])


def _sample(run: Run) -> RunSample:
    return RunSample.of(run.key_hashes, run.key_rows)


class HotKey(NamedTuple):
    """A key with very many rows in a window.

    Attributes:
        rows: How many.
        run: A run that holds it.
        key: Which key of that run.
    """

    rows: int
    run: Run
    key: int


class KeyFigures(NamedTuple):
    """What a sample says about the keys of a window.

    Attributes:
        distinct: How many different keys there are, about.
        usual: How many rows the key in the middle has: half of the keys have no more.
    """

    distinct: int
    usual: int


def key_figures(runs: Sequence[StoredRun]) -> KeyFigures:
    """The keys of a window: the number of sampled ones over the share that was sampled, and their median."""
    samples = [_sample(stored.run) for stored in runs]
    sample = merged_sample([samples], [False])
    if not sample.keys:
        return KeyFigures(0, 0)
    rows = np.sort(sample.rows[:, 0])
    return KeyFigures(round(sample.keys / sample.share), int(rows[(sample.keys - 1) // 2]))


# A key is hot when it has this many rows, this share of its bucket's rows, and far more than the usual key.
_HOT_ROWS = 100
_HOT_SHARE = 0.05


def hottest_key(runs: Sequence[StoredRun], figures: KeyFigures) -> HotKey | None:
    """The key with the most rows in a window, if it is a hot one or the only one.

    The most frequent key of each run is a candidate; a key that is hot in a window is most frequent in one of
    its runs unless its rows are spread thinner than those of others everywhere. Nothing in its window says
    whether the only key is hot: whoever knows the other buckets has to compare.
    """
    opened = [stored.run for stored in runs]
    best: HotKey | None = None
    total = sum(run.rows for run in opened)
    least = max(_HOT_ROWS, _HOT_SHARE * total, HOT_TIMES * figures.usual if figures.distinct > 1 else 0)
    seen = set()
    for run in opened:
        if not len(run.key_hashes):
            continue
        key = int(np.argmax(np.diff(run.key_rows)))
        wanted = run.key_hashes[key]
        if int(wanted) in seen:
            continue
        seen.add(int(wanted))
        rows = sum(_rows_of(other, wanted) for other in opened)
        if rows >= least and (best is None or rows > best.rows):
            best = HotKey(rows, run, key)
    return best


def _rows_of(run: Run, wanted: np.uint64) -> int:
    at = int(np.searchsorted(run.key_hashes, wanted))
    if at < len(run.key_hashes) and run.key_hashes[at] == wanted:
        return int(run.key_rows[at + 1] - run.key_rows[at])
    return 0
