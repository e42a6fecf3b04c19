"""How long a row waits for partners: a length of time, a number of rows that come after it, or for ever."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from watersmeet.errors import InvalidStream


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The last `count` rows of a stream, or of each of its keys.

    A row is alive from its time until `count` rows of its stream (with `per_key`, of its key) have a later
    time. Rows of equal time come and go together.
    """

    count: int
    per_key: bool = False

    def __post_init__(self) -> None:
        """Refuse what holds no row."""
        if type(self.count) is not int or self.count < 1:
            raise InvalidStream(
                "a row window needs at least one row",
                f"it was given {self.count!r}.",
                "use a whole number, for example wm.rows(1000).",
            )

    def __str__(self) -> str:
        """As the explain text shows it."""
        return f"last {self.count:,} rows{' of a key' if self.per_key else ''}"


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A row waits for ever: everything meets everything of the other stream that has its key."""

    def __str__(self) -> str:
        """As the explain text shows it."""
        return "unbounded"


UNBOUNDED = Unbounded()

# None is left to the conditions on time, see `query.bands`.
Window = timedelta | RowWindow | Unbounded | None


def rows(count: int, *, per_key: bool = False) -> RowWindow:
    """A window of the last rows of a stream instead of a length of time.

    Args:
        count: How many rows.
        per_key: Count the rows of every key apart.

    >>> rows(1000)
    RowWindow(count=1000, per_key=False)
    """
    return RowWindow(count, per_key)
