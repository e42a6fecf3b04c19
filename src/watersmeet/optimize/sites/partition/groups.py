"""Groups of values as plain data (Zhou et al. 2006, Sect. 3.3).

Values are numbered from 0, in the order of the domain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

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
