"""Orders when little is known about the data.

The window with the fewest expected partners should come first (Golab & Özsu 2003, Sect. 5.1). On a shared
key the number of partners grows with the rows alive, so those decide where they are known for all inputs,
and else the length of the window, which is always known. Inputs without a part in the key have all their
rows for partners and come last.
"""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.plan import ProbePath


def shortest_first(lengths: Sequence[float], scanned: frozenset[int]) -> tuple[ProbePath, ...]:
    """One path per input: the other windows by length, ties in the order of the inputs.

    Args:
        lengths: Per input its rows alive, or how long a row lives.
        scanned: The inputs without a part in the key.

    >>> shortest_first([3, 1, 2], frozenset())[0]
    ProbePath(head=0, order=(1, 2), before=0)
    """
    ranked = sorted(range(len(lengths)), key=lambda part: (part in scanned, lengths[part], part))
    keyless = len(scanned) < len(lengths)
    return tuple(
        # Rows with a key cannot be looked up by a row without one: those with a key look for it instead.
        ProbePath(
            head, tuple(part for part in ranked if part != head), before=int(keyless and head in scanned)
        )
        for head in range(len(lengths))
    )
