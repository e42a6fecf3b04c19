"""Orders when little is known about the data.

The window with the fewest expected partners should come first (Golab & Özsu 2003, Sect. 5.1). On a shared
key the number of partners grows with the rows alive, so those decide where they are known for all inputs,
and else the length of the window, which is always known. An input that shares more than the key comes before
that. Inputs without a part in the key have all their rows for partners and come last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from watersmeet.plan import ProbePath


def shortest_first(
    lengths: Sequence[float],
    scanned: frozenset[int],
    shared: Callable[[Sequence[int], int], int] = lambda _bound, _part: 0,
) -> tuple[ProbePath, ...]:
    """One path per input: the other windows by length, ties in the order of the inputs.

    Args:
        lengths: Per input its rows alive, or how long a row lives.
        scanned: The inputs without a part in the key.
        shared: How many values beside the key an input shares with those that are bound: the more, the fewer
            partners, whatever the lengths.

    >>> shortest_first([3, 1, 2], frozenset())[0]
    ProbePath(head=0, order=(1, 2), before=0)
    >>> shortest_first([3, 1, 2], frozenset(), lambda bound, part: part == 2)[0]
    ProbePath(head=0, order=(2, 1), before=0)
    """

    def order(head: int) -> tuple[int, ...]:
        bound = [head]
        left = [part for part in range(len(lengths)) if part != head]
        while left:
            part = min(left, key=lambda one: (one in scanned, -shared(bound, one), lengths[one], one))
            bound.append(part)
            left.remove(part)
        return tuple(bound[1:])

    keyless = len(scanned) < len(lengths)
    # Rows with a key cannot be looked up by a row without one: those with a key look for it instead.
    return tuple(
        ProbePath(head, order(head), before=int(keyless and head in scanned)) for head in range(len(lengths))
    )
