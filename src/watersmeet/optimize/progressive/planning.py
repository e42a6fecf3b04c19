"""What the user may say about joins that are larger than memory."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.errors import InvalidPlanning, choices
from watersmeet.optimize.progressive.policies import PROGRESSIVE


@dataclass(frozen=True, slots=True)
class MemoryPlanning:
    """How a join keeps to its memory.

    Attributes:
        algorithm: Who decides which rows wait on disk, and what is done in silence.
        tick_s: How long streams must be silent until the silence is used, seconds.

    >>> MemoryPlanning(algorithm="lru")
    Traceback (most recent call last):
    watersmeet.errors.InvalidPlanning: there is no algorithm "lru" for joins larger than memory
    detail: there are 5.
    hint: valid are "hmj", "rpj", "rpj-dd", "rpj-md", "xjoin".
    """

    algorithm: str = "rpj"
    tick_s: float = 1.0

    def __post_init__(self) -> None:
        """Refuse names that do not exist."""
        if self.algorithm not in PROGRESSIVE:
            raise InvalidPlanning(
                f'there is no algorithm "{self.algorithm}" for joins larger than memory',
                f"there are {len(PROGRESSIVE)}.",
                f"valid are {choices(PROGRESSIVE)}.",
            )
