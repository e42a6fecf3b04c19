"""Which windows an arriving row visits first, when nothing is known about the data.

A row that finds no partner in the first window needs no look into the others, so the window with
the fewest expected partners should come first (Golab & Özsu 2003, Sect. 5.1: smallest result first).
Without statistics the length of the window is the one hint at hand: on a shared key the number of
partners grows with it. Inputs without a part in the key have all their rows for partners and come last.
"""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.plan import Operator, ProbePath, Source
from watersmeet.query import JoinQuery


def shortest_reach_first(
    query: JoinQuery, inputs: Sequence[Source | Operator], replicated: frozenset[int]
) -> tuple[ProbePath, ...]:
    """One path per input: the other windows by length, ties in the order of the inputs."""

    def rank(number: int) -> tuple[bool, float, int]:
        reaches = [query.reaches[stream] for stream in inputs[number].streams]
        limited = [reach for reach in reaches if reach is not None]
        return number in replicated, min(limited, default=float("inf")), number

    ranked = sorted(range(len(inputs)), key=rank)
    return tuple(
        ProbePath(head, tuple(other for other in ranked if other != head)) for head in range(len(inputs))
    )
