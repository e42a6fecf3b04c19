"""What belongs together, judged for one partial result and all rows of a slice at once.

The ring is for conditions of any kind, so it asks for nothing but an answer per pair of rows. What it is
told must not depend on where and when it asks: a pair may be judged on any node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from watersmeet.errors import InvalidQuery
from watersmeet.kernel.ring.message import Row

Ids = NDArray[np.int64]
Values = NDArray[Any]
Mask = NDArray[np.bool_]
# Two streams that have a condition.
Edge = tuple[int, int]

_A, _B, _STEP = (np.uint64(word) for word in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15))
_SHIFT = np.uint64(31)
_WORD = 1 << 64


class Predicate(Protocol):
    """A condition on the rows of all streams."""

    def __call__(self, rows: Sequence[Row], stream: int, ids: Ids, values: Values) -> Mask:
        """Which rows of a stream go with a partial result.

        Args:
            rows: The rows that are bound.
            stream: The stream that is looked at.
            ids: The ids of its rows.
            values: Their values.
        """


class PairHash:
    """Pairs match at random, each pair always or never.

    The paper tunes selectivity with a match by chance. Here chance is a hash of the two ids, so that the
    answer is the same on every node and in every run.

    >>> predicate = PairHash([(0, 1)], match_prob=0.5)
    >>> ids = np.arange(1, 1001)
    >>> int(predicate([Row(0, 0, 0)], 1, ids, ids).sum())
    478
    """

    def __init__(self, edges: Iterable[Edge], match_prob: float, seed: int = 0) -> None:
        """Conditions between streams.

        Args:
            edges: The pairs of streams that have a condition; others go together anyhow.
            match_prob: How likely a pair matches.
            seed: Other pairs match for another seed.
        """
        if not 0 <= match_prob <= 1:
            raise InvalidQuery("match probability makes no sense", f"it is {match_prob}.", "give 0 to 1.")
        self.edges = frozenset(frozenset(edge) for edge in edges)
        self._always = match_prob == 1
        self._below = np.uint64(min(int(match_prob * _WORD), _WORD - 1))
        self._seed = np.uint64(seed)

    def __call__(self, rows: Sequence[Row], stream: int, ids: Ids, values: Values) -> Mask:  # noqa: ARG002
        """See `Predicate`."""
        mask: Mask | None = None
        words = ids.view(np.uint64)
        for row in rows:
            if frozenset((row.stream, stream)) in self.edges and not self._always:
                matches = self._matches(np.uint64(row.id), words)
                mask = matches if mask is None else mask & matches
        return np.ones(len(ids), np.bool_) if mask is None else mask

    def _matches(self, one: np.uint64, others: NDArray[np.uint64]) -> Mask:
        # Sum and product say which two ids they are, and not which of them was looked for.
        word = (others + one) * _STEP ^ (others * one + self._seed) * _B
        word = (word ^ (word >> _SHIFT)) * _A
        word = (word ^ (word >> _SHIFT)) * _B
        below: Mask = (word ^ (word >> _SHIFT)) < self._below
        return below


class PairFunction:
    """Any Python function of two values, for each pair of streams that has a condition.

    >>> near = PairFunction({(0, 1): lambda one, other: abs(one - other) < 2})
    >>> values = np.array([1, 5, 2], dtype=object)
    >>> near([Row(0, 9, 0, value=3)], 1, np.arange(3), values).tolist()
    [False, False, True]
    """

    def __init__(self, functions: Mapping[Edge, Callable[[Any, Any], object]]) -> None:
        """Conditions; a function is given the values in the order of its pair of streams."""
        self.functions = dict(functions)

    def __call__(self, rows: Sequence[Row], stream: int, ids: Ids, values: Values) -> Mask:
        """See `Predicate`."""
        mask = np.ones(len(ids), np.bool_)
        for row in rows:
            for (one, other), function in self.functions.items():
                if (one, other) == (row.stream, stream):
                    mask &= [bool(function(row.value, value)) for value in values]
                elif (one, other) == (stream, row.stream):
                    mask &= [bool(function(value, row.value)) for value in values]
        return mask
