"""Groups of values whose streams rank alike by rate (Zhou et al. 2006, Sect. 3.3, item 3).

Values with the same best plan belong together. Plans are too many to compare, so the paper compares the order
of the streams: for every value a vector with the rank of each stream, clustered by k-means. The distance is
taken to be Euclidean, which k-means minimises, and equally fast streams rank by number.

When streams are distributed alike, few different vectors are left. Kept together, they give fewer groups than
asked for. The paper's k-means started several clusters at the same vector and put its values into any of
them, which is why rates did worse than ranges there: mode "paper" does the same.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from watersmeet.optimize.sites.partition.groups import Groups, grouped, require_groups

Floats = NDArray[np.float64]
Mode = Literal["together", "paper"]

# Most have settled long before.
ROUNDS = 25


def rank_vectors(rates: Floats) -> NDArray[np.int64]:
    """Per value (row) the rank of each stream (column), 1 for the slowest.

    >>> rank_vectors(np.array([[20.0], [30.0], [10.0]])).tolist()
    [[2, 3, 1]]
    """
    slowest_first = np.argsort(rates, axis=0, kind="stable")
    return np.argsort(slowest_first, axis=0, kind="stable").T + 1


def by_rate(rates: Floats, groups: int, *, seed: int = 0, mode: Mode = "together") -> Groups:
    """Values clustered by the order of their streams, into at most so many groups.

    Args:
        rates: One row per stream, one column per value.
        groups: How many groups at most.
        seed: Where clusters start, and in mode "paper" where equal values go.
        mode: Whether values with the same order stay together or may be spread at random.

    >>> by_rate(np.array([[1.0, 9.0, 2.0], [5.0, 5.0, 5.0]]), groups=2)
    ((0, 2), (1,))
    """
    require_groups(rates.shape[1], groups)
    vectors = rank_vectors(rates).astype(np.float64)
    rng = np.random.default_rng(seed)
    if mode == "together":
        return grouped(_clusters(vectors, _spread_out(vectors, groups, rng)).tolist())
    picked = vectors[rng.choice(len(vectors), size=min(groups, len(vectors)), replace=False)]
    starts, copies = np.unique(picked, axis=0, return_counts=True)
    cluster = _clusters(vectors, starts)
    # Clusters with the same start are equally near to all their values, in this round and all later ones.
    copy = rng.integers(copies[cluster])
    return grouped((cluster * len(vectors) + copy).tolist())


def _spread_out(vectors: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Different vectors to start from: the farther from all others, the more likely (k-means++)."""
    chosen = [vectors[rng.integers(len(vectors))]]
    distances = np.sum((vectors - chosen[0]) ** 2, axis=1)
    while len(chosen) < count and distances.any():
        chosen.append(vectors[rng.choice(len(vectors), p=distances / distances.sum())])
        distances = np.minimum(distances, np.sum((vectors - chosen[-1]) ** 2, axis=1))
    return np.array(chosen)


def _clusters(vectors: Floats, starts: Floats) -> NDArray[np.int64]:
    """The cluster of every vector, by k-means; clusters may end up empty, and stay where they were."""
    centres = starts.copy()
    nearest = np.full(len(vectors), -1)
    for _ in range(ROUNDS):
        before = nearest
        distances = np.sum((vectors[:, None, :] - centres[None, :, :]) ** 2, axis=2)
        nearest = np.argmin(distances, axis=1)
        if np.array_equal(nearest, before):
            break
        for cluster in np.unique(nearest):
            centres[cluster] = vectors[nearest == cluster].mean(axis=0)
    return nearest.astype(np.int64)
