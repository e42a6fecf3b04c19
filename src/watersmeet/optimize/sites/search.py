"""The cheapest way to join all streams, one after the other, whatever a join costs and leaves.

What is paid from some point on depends on the state that was reached, however it was reached. So of all
ways to one state only the cheapest is kept, and all orders are searched by sets of streams.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeVar


class Reached(Protocol):
    """Some streams joined."""

    @property
    def done(self) -> frozenset[int]:
        """The streams."""

    @property
    def state(self) -> Hashable:
        """All that later costs depend on."""

    @property
    def preference(self) -> tuple[Any, ...]:
        """The smaller the better: what it cost, then what decides between equal costs."""


Found = TypeVar("Found", bound=Reached)


def search(
    starts: Iterable[Found],
    joins: int,
    adjacent: Callable[[frozenset[int]], Iterable[int]],
    grow: Callable[[Found, int], Iterable[Found]],
    *,
    search_steps: int,
) -> tuple[Found | None, bool]:
    """The cheapest of all ways, and whether all were looked at; None if no way leads to the end.

    Args:
        starts: Where to begin; all of them are looked at.
        joins: How many streams are joined one after the other.
        adjacent: The streams that can be joined next.
        grow: The ways to join one of them.
        search_steps: How often `grow` may be called before only the cheapest state is followed: with 0 the
            search is greedy.
    """
    layer = {start.state: start for start in starts}
    complete = True
    for _ in range(joins):
        following: dict[Hashable, Found] = {}
        for reached in sorted(layer.values(), key=lambda reached: reached.preference):
            if search_steps <= 0 and following and len(reached.done) > 1:
                complete = False
                break
            for stream in adjacent(reached.done):
                search_steps -= 1
                for more in grow(reached, stream):
                    known = following.get(more.state)
                    if known is None or more.preference < known.preference:
                        following[more.state] = more
        layer = following
    return min(layer.values(), key=lambda reached: reached.preference, default=None), complete
