"""The join that all nodes of a ring work on."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.errors import InvalidQuery
from watersmeet.kernel.ring.message import Row
from watersmeet.kernel.ring.predicate import Predicate
from watersmeet.plan.plan import ProbePath


@dataclass(frozen=True, slots=True)
class AgeWindow:
    """Rows live while their age is below a length.

    Attributes:
        length: Microseconds, or rows.
        rows: Whether age is counted in rows: the number of rows of the stream that came after.
    """

    length: int
    rows: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """Streams, windows and what belongs together.

    Attributes:
        windows: Per stream how long its rows live.
        paths: Per stream the order in which its rows visit the others.
        predicate: What belongs together.
    """

    windows: tuple[AgeWindow, ...]
    paths: tuple[ProbePath, ...]
    predicate: Predicate

    def __post_init__(self) -> None:
        """Refuse what is no join."""
        streams = len(self.windows)
        if streams < 2 or [path.head for path in self.paths] != list(range(streams)):
            raise InvalidQuery(
                "join on a ring is described in part",
                f"{streams} streams have paths of {[path.head for path in self.paths]}.",
                "give each of two or more streams a window and a path.",
            )
        for stream, window in enumerate(self.windows):
            if window.length < 1:
                raise InvalidQuery(
                    f"window of stream {stream} holds no row", f"its length is {window.length}.", "give it 1."
                )

    @property
    def streams(self) -> int:
        """How many streams are joined."""
        return len(self.windows)

    def next_stream(self, rows: tuple[Row, ...]) -> int:
        """The stream that a partial result looks at next."""
        return self.paths[rows[0].stream].order[len(rows) - 1]
