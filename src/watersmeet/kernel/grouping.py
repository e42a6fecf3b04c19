"""Things in groups that are not too large: whoever takes them has a limit, and a price for each group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_groups(items: Iterable[T], *limits: tuple[Callable[[T], int], int]) -> Iterator[list[T]]:
    """The items in their order, as many at a time as fit; one that is too large goes alone.

    Args:
        items: The items.
        limits: How large an item is, and how large the items of a group may be together; in several ways, if
            several limits have to be kept.

    >>> list(in_groups([3, 4, 5, 20, 1], (int, 8)))
    [[3, 4], [5], [20], [1]]
    """
    group: list[T] = []
    filled = [0] * len(limits)
    for item in items:
        more = [size(item) for size, _ in limits]
        if group and any(
            full + add > most for full, add, (_, most) in zip(filled, more, limits, strict=True)
        ):
            yield group
            group, filled = [], [0] * len(limits)
        group.append(item)
        filled = [full + add for full, add in zip(filled, more, strict=True)]
    if group:
        yield group
