"""Which windows an arriving row visits first, when nothing is known about the data.

A row that finds no partner in the first window needs no look into the others, so the window with
the fewest expected partners should come first (Golab & Özsu 2003, Sect. 5.1: smallest result first).
Without statistics the length of the window is the one hint at hand: on a shared key the number of
partners grows with it.
"""

from __future__ import annotations

from watersmeet.plan import ProbePath
from watersmeet.query import JoinQuery


def shortest_window_first(query: JoinQuery) -> tuple[ProbePath, ...]:
    """One path per stream: the other windows by length, ties in the order the streams were given."""
    by_length = sorted(range(len(query.streams)), key=lambda i: (query.streams[i].window_us, i))
    return tuple(
        ProbePath(head, tuple(other for other in by_length if other != head))
        for head in range(len(query.streams))
    )
