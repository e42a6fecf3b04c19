"""Plans as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.query import JoinQuery

# A window is cut into this many slices. State leaves in whole slices, so at most 1/12 of a window is
# dead weight; more slices would mean more runs to look into for every arriving row.
SLICES_PER_WINDOW = 12

# Buckets are fixed for the life of a checkpoint, partitions are not. Eight spread evenly over 1, 2, 4
# or 8 partitions and keep the runs of a bucket large.
DEFAULT_BUCKETS = 8


@dataclass(frozen=True, slots=True)
class ProbePath:
    """The order in which an arriving row of one stream visits the windows of the others.

    >>> ProbePath(head=0, order=(2, 1))
    ProbePath(head=0, order=(2, 1))
    """

    head: int
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        """Every other stream is visited exactly once."""
        expected = sorted(set(range(len(self.order) + 1)) - {self.head})
        if sorted(self.order) != expected:
            raise ValueError(f"a path of stream {self.head} must visit {expected}, not {list(self.order)}")


@dataclass(frozen=True, slots=True)
class Plan:
    """One multi-way operator on a shared key.

    Attributes:
        query: What is computed.
        paths: One probe path per stream, in stream order.
        buckets: How many independent kernel instances the key domain is split into.
        slices: How many slices a window is cut into.
    """

    query: JoinQuery
    paths: tuple[ProbePath, ...]
    buckets: int = DEFAULT_BUCKETS
    slices: int = SLICES_PER_WINDOW
