"""Kinds of windows: how long a row waits for partners.

Everything in which kinds differ is asked of the window itself, so that a new kind is a class here and its
place in `KINDS`. Whatever the kind, no row waits longer than its **reach**: the longest its window lets it
wait, made shorter by the conditions on time (`query.bands`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from watersmeet.errors import InvalidStream
from watersmeet.query.duration import describe_duration, parse_duration, to_us


class Window:
    """How long the rows of a stream wait for partners. Kinds say where they differ from what stands here.

    Attributes:
        keyword: What it is called in the brackets of SQL and in job files.
        in_sql: How it is written in SQL, for people; empty if it is not.
        settings: What a job file says of it in a table: names and types, in the order of its fields, the
            keyword first; none for a kind that is a word of its own.
        waits_for_watermark: Whether rows are joined only when the watermark has passed them.
        endless: Whether rows wait for ever.
        left_to_conditions: Whether nothing but the conditions on time says how long rows wait.
        rows_bring_ends: Whether rows of a stream live differently long, so that each carries its end.
    """

    __slots__ = ()

    keyword: ClassVar[str] = ""
    in_sql: ClassVar[str] = ""
    settings: ClassVar[Mapping[str, type]] = {}
    waits_for_watermark: ClassVar[bool] = False
    endless: ClassVar[bool] = False
    left_to_conditions: ClassVar[bool] = False
    rows_bring_ends: ClassVar[bool] = False

    @classmethod
    def from_sql(cls, text: str) -> Window:
        """What SQL says after the keyword; ValueError with the reason where it cannot be read."""
        raise NotImplementedError

    @property
    def longest_us(self) -> int | None:
        """The longest a row can wait, microseconds; None where time sets no limit."""
        return None

    @property
    def most_rows(self) -> int | None:
        """How many rows of the stream, or of each key, live at a time; None where they are not counted."""
        return None

    @property
    def counts_rows(self) -> bool:
        """Whether a row dies by being followed, so that also rows which cannot join matter."""
        return self.most_rows is not None

    @property
    def counts_per_key(self) -> bool:
        """Whether the rows of every key are counted apart."""
        return False

    @property
    def counts_whole_stream(self) -> bool:
        """Whether rows are counted whatever their key."""
        return self.counts_rows and not self.counts_per_key

    def ends(self, times: Any) -> Any:
        """Until when rows of these times live, where they bring their own ends (int64 microseconds)."""
        raise NotImplementedError

    def own_ends(self, reach: int | None) -> OwnEnds | None:
        """How the rows of a stream get their ends; None where all live as long as their reach."""
        return OwnEnds(self, reach) if self.rows_bring_ends else None

    def mean_life_us(self, reach: int) -> float:
        """How long a row lives on average, microseconds."""
        return reach

    @property
    def beside_reach(self) -> str:
        """What limits rows beside their reach, in words; empty where the reach says it all."""
        return str(self)

    def identity(self, reach: int | None) -> str:
        """What a checkpoint remembers of it."""
        return ", ".join(filter(None, [self.beside_reach, "" if reach is None else f"{reach} us"]))

    def explained(self, time: str, reach: int | None) -> str:
        """How `explain` says how long a row lives.

        Args:
            time: The column with the time of a row.
            reach: How long it lives at most, microseconds.
        """
        said = [self.beside_reach] if self.beside_reach else []
        if reach is not None and not (said and reach == self.longest_us):
            why = "" if reach == self.longest_us else ", from the conditions on time"
            said.append(f"alive {describe_duration(timedelta(microseconds=reach))} after {time}{why}")
        return ", ".join(said)

    def refuse_unusable(self, stream: str) -> None:
        """Raise InvalidStream if it would be of no use to the stream of this name."""


@dataclass(frozen=True, slots=True)
class TimeWindow(Window):
    """A row waits for a length of time; both ends count."""

    length: timedelta

    keyword: ClassVar[str] = "range"
    in_sql: ClassVar[str] = "for example [RANGE 10 MINUTES]"
    settings: ClassVar[Mapping[str, type]] = {"range": timedelta}

    @classmethod
    def from_sql(cls, text: str) -> TimeWindow:
        """Read a length."""
        return cls(parse_duration(text))

    @property
    def longest_us(self) -> int:
        """Its length."""
        return to_us(self.length)

    @property
    def beside_reach(self) -> str:
        """Nothing."""
        return ""

    def refuse_unusable(self, stream: str) -> None:
        """Refuse a length of nothing."""
        refuse_not_positive(stream, self.length, "10 minutes")

    def __str__(self) -> str:
        """As people say it."""
        return describe_duration(self.length)


@dataclass(frozen=True, slots=True)
class RowWindow(Window):
    """The last `count` rows of a stream, or of each of its keys.

    A row is alive from its time until `count` rows of its stream (with `per_key`, of its key) have a later
    time. Rows of equal time come and go together.
    """

    count: int
    per_key: bool = False

    keyword: ClassVar[str] = "rows"
    in_sql: ClassVar[str] = "[ROWS 1000] or [ROWS 1000 PER KEY]"
    settings: ClassVar[Mapping[str, type]] = {"rows": int, "per_key": bool}
    # Which rows come between two others is known only then.
    waits_for_watermark: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what holds no row."""
        if type(self.count) is not int or self.count < 1:
            raise InvalidStream(
                "a row window needs at least one row",
                f"it was given {self.count!r}.",
                "use a whole number, for example wm.rows(1000).",
            )

    @classmethod
    def from_sql(cls, text: str) -> RowWindow:
        """Read a number, and whether it is per key."""
        count, *per_key = text.split(maxsplit=1)[:2] if text else [""]
        if not count.isdigit() or (per_key and per_key[0].upper().split() != ["PER", "KEY"]):
            raise ValueError(f'cannot count "{text}" rows')
        return cls(int(count), per_key=bool(per_key))

    @property
    def most_rows(self) -> int:
        """Its number of rows."""
        return self.count

    @property
    def counts_per_key(self) -> bool:
        """As it was asked for."""
        return self.per_key

    def __str__(self) -> str:
        """As people say it."""
        return f"last {self.count:,} rows{' of a key' if self.per_key else ''}"


@dataclass(frozen=True, slots=True)
class Unbounded(Window):
    """A row waits for ever: everything meets everything of the other stream that has its key."""

    keyword: ClassVar[str] = "unbounded"
    endless: ClassVar[bool] = True

    def __str__(self) -> str:
        """As people say it."""
        return "unbounded"


@dataclass(frozen=True, slots=True)
class FromConditions(Window):
    """No window was given: a row waits as long as the conditions on time let partners come."""

    left_to_conditions: ClassVar[bool] = True

    def __str__(self) -> str:
        """There is nothing to say."""
        return ""


@dataclass(frozen=True, slots=True)
class OwnEnds:
    """Until when each row of a stream lives, where rows live differently long.

    Attributes:
        window: Their window.
        reach: How long they live at most, microseconds; None where nothing else limits them.
    """

    window: Window
    reach: int | None

    def of(self, times: Any) -> Any:
        """The ends of rows of these times (int64 microseconds)."""
        ends = self.window.ends(times)
        return ends if self.reach is None else np.minimum(ends, times + self.reach)


KINDS: tuple[type[Window], ...] = (TimeWindow, RowWindow, Unbounded, FromConditions)

UNBOUNDED = Unbounded()
FROM_CONDITIONS = FromConditions()

# A window as people write it: "10 minutes" is a length of time, None leaves it to the conditions on time.
WindowLike = str | timedelta | Window | None


def window_of(value: WindowLike) -> Window:
    """The window somebody wrote; ValueError with the reason where it cannot be read.

    >>> window_of("10 minutes"), window_of(None)
    (TimeWindow(length=datetime.timedelta(seconds=600)), FromConditions())
    """
    if isinstance(value, Window):
        return value
    return FROM_CONDITIONS if value is None else TimeWindow(parse_duration(value))


def rows(count: int, *, per_key: bool = False) -> RowWindow:
    """A window of the last rows of a stream instead of a length of time.

    Args:
        count: How many rows.
        per_key: Count the rows of every key apart.

    >>> rows(1000)
    RowWindow(count=1000, per_key=False)
    """
    return RowWindow(count, per_key)


def refuse_not_positive(stream: str, length: timedelta, example: str) -> None:
    """Raise InvalidStream if a window lasts no time."""
    if length <= timedelta(0):
        raise InvalidStream(
            f'window of stream "{stream}" is not positive',
            f"it is {describe_duration(length)}, so no row would ever wait for a partner.",
            f'give it a length, for example window="{example}".',
        )
