"""Groups of neighbouring values (Zhou et al. 2006, Sect. 3.3, item 2).

Good where values close to each other are frequent in the same streams.
"""

from __future__ import annotations

from watersmeet.optimize.sites.partition.groups import Groups, grouped, require_groups


def by_range(values: int, groups: int) -> Groups:
    """The domain cut into at most so many ranges of equal length, give or take one value.

    >>> by_range(5, 2)
    ((0, 1, 2), (3, 4))
    """
    require_groups(values, groups)
    return grouped(value * groups // values for value in range(values))
