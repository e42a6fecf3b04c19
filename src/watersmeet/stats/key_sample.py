"""A sample of keys with how often each occurs in every window: statistics collected while running.

Rows of a window lie sorted by the hash of their key, so the keys with the smallest hashes are a random
sample that costs nothing to draw, and the same one in every window: a bottom-k sketch as Theta sketches
are, with counts. Because the same keys are sampled everywhere, the sample tells not only how many keys
there are, but how many rows of several windows meet, skew and correlation included. Samples of parts are
merged by adding up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Keys per run. Orders differ by factors or do not matter; a few per cent of error are good enough.
SAMPLED_KEYS = 256

# A hot key has this many times the rows of the usual key, which is the one in the middle, not the average: a
# hot key is part of the average and lifts it, so that among few keys nothing could be far above it.
HOT_TIMES = 16

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class RunSample:
    """The keys of one run with the smallest hashes.

    Attributes:
        hashes: Their hashes, ascending.
        rows: How many rows each has.
        below: Every key of the run with a smaller hash than this is there.
    """

    hashes: Any
    rows: Any
    below: np.uint64

    @classmethod
    def of(cls, key_hashes: Any, key_rows: Any, keys: int = SAMPLED_KEYS) -> RunSample:
        """Sample a run by its sorted hashes and where the rows of each key start.

        >>> sample = RunSample.of(np.array([2, 5, 9], np.uint64), np.array([0, 4, 5, 7]), keys=2)
        >>> sample.hashes.tolist(), sample.rows.tolist(), int(sample.below)
        ([2, 5], [4, 1], 9)
        """
        taken = min(keys, len(key_hashes))
        below = _ALL if taken == len(key_hashes) else key_hashes[taken]
        return cls(key_hashes[:taken], np.diff(key_rows[: taken + 1]), below)


@dataclass(frozen=True, slots=True)
class KeySample:
    """The same keys in every window of an operator.

    Attributes:
        rows: One line per key, one column per input: how many rows it has there.
        copies: Likewise in how many runs it is there.
        runs: Per input how many runs a look-up goes into.
        scanned: Per input whether it has no key; its one line counts for every key.
        share: How much of the key domain is sampled.
    """

    rows: Any
    copies: Any
    runs: tuple[int, ...]
    scanned: tuple[bool, ...]
    share: float

    @property
    def keys(self) -> int:
        """How many keys were sampled."""
        return len(self.rows)


def merged_sample(inputs: Sequence[Sequence[RunSample]], scanned: Sequence[bool]) -> KeySample:
    """Add up the samples of the runs of every input.

    Args:
        inputs: Per input the samples of its runs.
        scanned: Per input whether it has no part in the key.

    >>> left = RunSample.of(np.array([1, 2], np.uint64), np.array([0, 3, 4]))
    >>> right = RunSample.of(np.array([2, 7], np.uint64), np.array([0, 5, 6]))
    >>> merged_sample([[left], [right, right]], [False, False]).rows.tolist()
    [[3.0, 0.0], [1.0, 10.0], [0.0, 2.0]]
    """
    keyed = [run for some, all_rows in zip(inputs, scanned, strict=True) if not all_rows for run in some]
    below = min((run.below for run in keyed), default=_ALL)
    whole = below == _ALL
    parts = [
        [(run.hashes, run.rows) if whole else _cut(run, below) for run in some] if not all_rows else []
        for some, all_rows in zip(inputs, scanned, strict=True)
    ]
    hashes = [h for some in parts for h, _ in some]
    keys = np.unique(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
    table, copies = np.zeros((len(keys), len(inputs))), np.zeros((len(keys), len(inputs)))
    for column, (some, all_rows) in enumerate(zip(parts, scanned, strict=True)):
        for part_hashes, part_rows in some:
            places = np.searchsorted(keys, part_hashes)
            table[places, column] += part_rows
            copies[places, column] += 1
        if all_rows:
            table[:, column] = sum(int(run.rows.sum()) for run in inputs[column])
            copies[:, column] = len(inputs[column])
    share = 1.0 if whole else float(below) / float(_ALL)
    return KeySample(table, copies, tuple(len(some) for some in inputs), tuple(scanned), share)


def _cut(run: RunSample, below: np.uint64) -> tuple[Any, Any]:
    stop = int(np.searchsorted(run.hashes, below))
    return run.hashes[:stop], run.rows[:stop]
