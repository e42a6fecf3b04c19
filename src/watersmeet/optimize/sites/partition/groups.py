"""Groups of values as plain data, and rates per value from a histogram (Zhou et al. 2006, Sect. 3.3).

Values are numbered from 0, in the order of the domain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from watersmeet.errors import InvalidQuery

Groups = tuple[tuple[int, ...], ...]


def grouped(labels: Iterable[int]) -> Groups:
    """The values by label. Labels without a value make no group, groups are ordered by their first value.

    >>> grouped([7, 2, 7])
    ((0, 2), (1,))
    """
    found: dict[int, list[int]] = defaultdict(list)
    for value, label in enumerate(labels):
        found[label].append(value)
    return tuple(tuple(values) for values in found.values())


def require_groups(values: int, groups: int) -> None:
    """Refuse a number of groups or of values that makes no sense."""
    if groups < 1:
        raise InvalidQuery("there must be a group for every value", f"{groups} groups were asked for.")
    if values < 1:
        raise InvalidQuery("there are no values to group", f"the domain has {values}.")


def require_partition(groups: Groups, values: int) -> None:
    """Refuse groups that leave out a value or have one twice."""
    if sorted(value for group in groups for value in group) != list(range(values)) or () in groups:
        raise InvalidQuery(
            "the groups do not partition the domain",
            f"each of the values 0 to {values - 1} must be in one group.",
        )


def histogram_rates(bounds: Sequence[int], rates: Sequence[float]) -> NDArray[np.float64]:
    """The rate of every value, from the rates of buckets: evenly over the width of the bucket.

    Args:
        bounds: Where buckets begin, and where the last one ends.
        rates: Tuples per time unit, per bucket.

    >>> histogram_rates([0, 2, 6], [10.0, 2.0]).tolist()
    [5.0, 5.0, 0.5, 0.5, 0.5, 0.5]
    """
    widths = np.diff(bounds)
    if len(widths) != len(rates) or not len(rates) or (widths < 1).any():
        raise InvalidQuery(
            "the histogram has no rate for every bucket",
            f"it has the bounds {list(bounds)} and {len(rates)} rates.",
            "give increasing bounds, one more than rates.",
        )
    if not all(rate >= 0 for rate in rates):
        raise InvalidQuery("rate of a bucket is negative", f"the rates are {list(rates)}.")
    return np.repeat(np.asarray(rates, dtype=np.float64) / widths, widths)
