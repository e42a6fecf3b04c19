"""Things in groups that are not too large: whoever takes them has a limit, and a price for each group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_groups(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The items in their order, as many at a time as fit; one that is too large goes alone.

    >>> list(in_groups([3, 4, 5, 20, 1], lambda item: item, most=8))
    [[3, 4], [5], [20], [1]]
    """
    group: list[T] = []
    filled = 0
    for item in items:
        more = size(item)
        if group and filled + more > most:
            yield group
            group, filled = [], 0
        group.append(item)
        filled += more
    if group:
        yield group
