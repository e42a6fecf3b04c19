"""Which slice stores which rows: every slice decides it alone, and all decide the same.

Wang & Rundensteiner 2009 slice windows by age: a row moves from node to node as it grows old. Which node
holds it does not matter for the results ("re-slicing is semantics-free"). So here a row stays where it was
first put, and rows are dealt out in the order of time, so that every slice has its part of every age:

    time     ------------------------------------------>
    slices   0 1 2 0 1 2 0 1 2 | 0 1 0 1 2 0 1 0 1 2 ...       the second time, slice 2 had more left
             batch 1             batch 2

All slices see all new rows, as they have to look for partners in every slice. From these and from what it
remembers of earlier rows each works out how many rows every slice holds, and deals the new ones out so that
all hold the same: however rates change, slices are even after every batch, and nothing is copied or asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from watersmeet.kernel.stored import stored_as


@stored_as("piece")
class Piece(NamedTuple):
    """Rows that one slice was given at a time, and the last instant at which one of them is alive."""

    owner: int
    rows: int
    end: int


@stored_as("shares")
@dataclass(slots=True)
class Shares:
    """How the rows of one input are spread over the slices.

    Attributes:
        slices: How many slices there are.
        active: How many of them are given new rows; the others become empty by and by.
        pieces: The rows shared out so far that are still alive.
    """

    slices: int
    active: int
    pieces: list[Piece] = field(default_factory=list)

    def held(self) -> Any:
        """How many rows each slice holds."""
        counts = np.zeros(self.slices, np.int64)
        for piece in self.pieces:
            counts[piece.owner] += piece.rows
        return counts

    def owners(self, times: Any, ends: Any, now: int, tie_break: Callable[[], Any] | None = None) -> Any:
        """The slices that store some new rows.

        The answer depends on the rows and not on their order, so that slices need not get them in the same.

        Args:
            times: When the rows come alive.
            ends: Until when they live.
            now: Rows that end up to here are gone.
            tie_break: Numbers that tell rows of equal times apart, as far as that is possible.
        """
        self.pieces = [piece for piece in self.pieces if piece.end > now]
        found = np.zeros(len(times), np.int64)
        if self.active > 1 and len(times):
            order, groups = _ordered(times, self.active, tie_break)
            found[order] = self._dealt(groups)
        for owner in np.unique(found).tolist():
            mine = found == owner
            self.pieces.append(Piece(owner, int(mine.sum()), int(ends[mine].max())))
        self._merge()
        return found

    def _dealt(self, groups: Any) -> Any:
        """Owners of rows in order; rows of one group stay together. `groups` has where each group ends."""
        shares = _levelled(self.held()[: self.active], int(groups[-1]))
        # The k-th of n rows of a slice has its place k / n of the way, so that all are mixed evenly.
        places = np.concatenate([(np.arange(share) + 0.5) / share for share in shares.tolist() if share])
        owners = np.repeat(np.arange(len(shares)), shares)[np.argsort(places, kind="stable")]
        sizes = np.diff(groups, prepend=0)
        return np.repeat(owners[groups - sizes], sizes)

    def _merge(self) -> None:
        """Pieces of a slice that end close together are one, so that their number stays small."""
        merged: list[Piece] = []
        for owner in range(self.slices):
            mine = sorted(
                (piece for piece in self.pieces if piece.owner == owner), key=lambda piece: piece.end
            )
            while len(mine) > _MOST_PIECES:
                pairs = range(len(mine) - 1)
                at = min(pairs, key=lambda i: mine[i + 1].end - mine[i].end)
                both = Piece(owner, mine[at].rows + mine[at + 1].rows, mine[at + 1].end)
                mine[at : at + 2] = [both]
            merged += mine
        self.pieces = merged


# Pieces remembered per slice and input.
_MOST_PIECES = 24


def _ordered(times: Any, active: int, tie_break: Callable[[], Any] | None) -> tuple[Any, Any]:
    """An order of rows by time, and where each group of rows ends that nothing tells apart."""
    order = np.argsort(times, kind="stable")
    ends = _group_ends(times[order])
    largest = int(np.diff(ends, prepend=0).max())
    if tie_break is None or largest * active * 4 <= len(times):
        return order, ends
    numbers = tie_break()
    order = np.lexsort((numbers, times))
    return order, _group_ends(times[order], numbers[order])


def _group_ends(*values: Any) -> Any:
    changes = np.zeros(len(values[0]) - 1, np.bool_)
    for some in values:
        changes |= some[1:] != some[:-1]
    return np.append(np.flatnonzero(changes) + 1, len(values[0]))


def _levelled(held: Any, new: int) -> Any:
    """How many of some new rows each slice gets, so that all get as even as possible.

    >>> _levelled(np.array([5, 0, 2]), 6).tolist()
    [0, 4, 2]
    """
    order = np.argsort(held, kind="stable")
    sorted_held = held[order]
    filled = np.arange(1, len(held) + 1)
    # To raise the i emptiest slices to the level of the next takes so many rows.
    needed = sorted_held * filled - np.cumsum(sorted_held)
    raised = int(np.flatnonzero(needed <= new)[-1]) + 1
    total = int(sorted_held[:raised].sum()) + new
    level, rest = divmod(total, raised)
    shares = np.zeros(len(held), np.int64)
    shares[order[:raised]] = level - sorted_held[:raised]
    shares[order[:rest]] += 1
    return shares
