"""The kinds of windows: how long a row waits for partners.

A new kind is a class here, with what it says differently from `Window`, and its place in `KINDS`. From there
SQL and job files know it. Kinds that all streams of a query have in common are in `query.common_window`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from watersmeet.errors import InvalidStream
from watersmeet.query.common_window import HoppingWindow, SessionWindow, length_of
from watersmeet.query.duration import describe_duration, parse_duration, to_us
from watersmeet.query.window_kind import Window, refuse_no_time


@dataclass(frozen=True, slots=True)
class TimeWindow(Window):
    """A row waits for a length of time; both ends count. Without any it meets what is alive at its time."""

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

    def explained(self, time: str, reach: int | None) -> str:
        """How long, or that it is one instant."""
        return Window.explained(self, time, reach) if self.length else f"alive at the instant of {time} only"

    def refuse_unusable(self, stream: str) -> None:
        """Refuse a length below nothing."""
        if self.length < timedelta(0):
            raise InvalidStream(
                f'window of stream "{stream}" is negative',
                f"it is {describe_duration(self.length)}, so a row would end before it begins.",
                'give it a length, for example window="10 minutes"; "0 seconds" is the same instant.',
            )

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
class LatestWindow(Window):
    """The newest rows of each key: a window of one row per key, or of several where they share its time."""

    keyword: ClassVar[str] = "latest"
    in_sql: ClassVar[str] = "[LATEST]"
    waits_for_watermark: ClassVar[bool] = True

    @classmethod
    def from_sql(cls, text: str) -> LatestWindow:
        """There is nothing to read."""
        if text:
            raise ValueError(f'the latest rows have no "{text}"')
        return cls()

    @property
    def most_rows(self) -> int:
        """One; rows of equal time come and go together."""
        return 1

    @property
    def counts_per_key(self) -> bool:
        """Of each key."""
        return True

    def explained(self, time: str, reach: int | None) -> str:
        """What stays, and for how long."""
        if reach is None:
            return f"newest of its key by {time}, one row per key is kept for ever"
        most = describe_duration(timedelta(microseconds=reach))
        return f"newest of its key by {time}, alive {most} from the conditions on time"

    def __str__(self) -> str:
        """As people say it."""
        return "latest"


@dataclass(frozen=True, slots=True)
class TumblingWindow(Window):
    """Time is cut into slots of one size, counted from 1970-01-01 UTC; a row is alive to the end of its slot.

    slots   |---------|---------|---------|
    rows       |=====| |=======|     |===|
    """

    size: timedelta

    keyword: ClassVar[str] = "tumbling"
    in_sql: ClassVar[str] = "for example [TUMBLING 10 MINUTES]"
    settings: ClassVar[Mapping[str, type]] = {"tumbling": timedelta}
    rows_bring_ends: ClassVar[bool] = True

    @classmethod
    def from_sql(cls, text: str) -> TumblingWindow:
        """Read a size."""
        return cls(parse_duration(text))

    @property
    def longest_us(self) -> int:
        """That of a row at the beginning of a slot."""
        return to_us(self.size) - 1

    def ends(self, times: Any) -> Any:
        """The last instant of each row's slot."""
        size = to_us(self.size)
        return (times // size + 1) * size - 1

    def mean_life_us(self, reach: int) -> float:
        """Rows come anywhere in a slot; the later half of a slot has less than half of it left."""
        return reach - reach**2 / (2 * to_us(self.size))

    def explained(self, time: str, reach: int | None) -> str:
        """Until when, and how long at most where conditions say so."""
        slot = f"alive from {time} to the end of its slot of {describe_duration(self.size)}"
        if reach is None or reach == self.longest_us:
            return slot
        most = describe_duration(timedelta(microseconds=reach))
        return f"{slot}, at most {most} from the conditions on time"

    def refuse_unusable(self, stream: str) -> None:
        """Refuse slots of no time."""
        refuse_no_time(stream, self.size, 'wm.tumbling("10 minutes")')

    def __str__(self) -> str:
        """As people say it."""
        return f"tumbling {describe_duration(self.size)}"


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


KINDS: tuple[type[Window], ...] = (
    TimeWindow,
    RowWindow,
    LatestWindow,
    TumblingWindow,
    HoppingWindow,
    SessionWindow,
    Unbounded,
    FromConditions,
)

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


def latest() -> LatestWindow:
    """A window of the newest row of each key, and of all rows that share its time.

    With ``window="0 seconds"`` on the other stream, each of its rows meets the newest partners at or before
    it. One row per key is kept for ever.

    >>> print(latest())
    latest
    """
    return LatestWindow()


def tumbling(size: str | timedelta) -> TumblingWindow:
    """A window that ends with its slot of time: of streams with slots of one size, the rows of a slot meet.

    Slots are counted from 1970-01-01 00:00 UTC.

    Args:
        size: How long a slot is, for example ``"10 minutes"``.

    >>> print(tumbling("10 minutes"))
    tumbling 10 min
    """
    return TumblingWindow(length_of(size, "the size of a tumbling window", 'wm.tumbling("10 minutes")'))
