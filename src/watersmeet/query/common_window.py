"""Windows that all streams of a query have in common: hopping windows and sessions.

They say which rows belong together, whatever the stream, so a query has one of them for all its streams or
for none. Every other kind says of one stream how long its rows wait.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.errors import InvalidQuery, InvalidStream, choices
from watersmeet.query.duration import describe_duration, parse_duration, to_us
from watersmeet.query.window_kind import Slots, Window, refuse_no_time

if TYPE_CHECKING:
    from watersmeet.query.attribute import Attribute
    from watersmeet.query.stream import Stream

_EVERY = re.compile(r"\s+EVERY\s+", re.IGNORECASE)
# A row is stored once for each of its slots.
_MOST_SLOTS = 1000


@dataclass(frozen=True, slots=True)
class HoppingWindow(Window):
    """Slots of one size that begin one hop after the other, counted from 1970-01-01 UTC; rows of a slot meet.

    slots   |-------------------|
                      |-------------------|
                                |-------------------|
    row                    ^ stands in the first two
    """

    size: timedelta
    every: timedelta

    keyword: ClassVar[str] = "hopping"
    in_sql: ClassVar[str] = "for example [HOPPING 10 MINUTES EVERY 5 MINUTES]"
    settings: ClassVar[Mapping[str, type]] = {"hopping": timedelta, "every": timedelta}
    common: ClassVar[bool] = True

    @classmethod
    def from_sql(cls, text: str) -> HoppingWindow:
        """Read a size and a hop."""
        size, *every = _EVERY.split(text)
        if len(every) != 1:
            raise ValueError(f'"{text}" has no EVERY that says how long after a slot the next one begins')
        return cls(parse_duration(size), parse_duration(every[0]))

    @property
    def longest_us(self) -> int:
        """That of a row at the beginning of a slot."""
        return to_us(self.size) - 1

    @property
    def slots(self) -> Slots:
        """Its slots."""
        return Slots(to_us(self.size), to_us(self.every))

    def mean_life_us(self, reach: int) -> float:
        """In each of its slots a row lives half of the size on average: the lives in all of them together."""
        del reach
        return self.slots.copies * self.slots.size / 2

    def explained(self, time: str, reach: int | None) -> str:
        """In how many slots, and until when."""
        del reach
        size, every = describe_duration(self.size), describe_duration(self.every)
        copies = self.slots.copies
        each = "its slot" if copies == 1 else f"each of its {copies} slots"
        return f"alive from {time} to the end of {each} of {size}, one every {every}"

    def refuse_unusable(self, stream: str) -> None:
        """Refuse slots of no time, hops that do not fit into them, and too many slots for a row."""
        example = 'wm.hopping("10 minutes", every="5 minutes")'
        refuse_no_time(stream, self.size, example)
        refuse_no_time(stream, self.every, example)
        size, every = describe_duration(self.size), describe_duration(self.every)
        if self.size % self.every:
            raise InvalidStream(
                f'slots of stream "{stream}" are no multiple of their hop',
                f"a slot of {size} begins every {every}, so rows would stand in different numbers of slots.",
                f"let the size be a multiple of the hop, for example {example}.",
            )
        if self.slots.copies > _MOST_SLOTS:
            raise InvalidStream(
                f'a row of stream "{stream}" would stand in {self.slots.copies:,} slots',
                f"a slot of {size} begins every {every}, and a row is stored once for each of them.",
                f"use a longer hop: at most {_MOST_SLOTS:,} slots are allowed.",
            )

    def __str__(self) -> str:
        """As people say it."""
        return f"hopping {describe_duration(self.size)} every {describe_duration(self.every)}"


@dataclass(frozen=True, slots=True)
class SessionWindow(Window):
    """Rows of a key, of all streams together, that follow each other by at most a gap are a session.

    a        x     x                 x
    b          x        x          x
             |==========|          |=|
             one session           the next: what lies between is longer than the gap
    """

    gap: timedelta

    keyword: ClassVar[str] = "session"
    in_sql: ClassVar[str] = "for example [SESSION 5 MINUTES]"
    settings: ClassVar[Mapping[str, type]] = {"session": timedelta}
    common: ClassVar[bool] = True
    # Until then a row may come that makes it longer.
    waits_for_watermark: ClassVar[bool] = True

    @classmethod
    def from_sql(cls, text: str) -> SessionWindow:
        """Read a gap."""
        return cls(parse_duration(text))

    @property
    def gap_us(self) -> int:
        """Its gap."""
        return to_us(self.gap)

    @property
    def every_row_matters(self) -> bool:
        """Every row makes its session longer, or two into one."""
        return True

    def explained(self, time: str, reach: int | None) -> str:
        """What a session is."""
        del reach
        return f"in a session with the rows of its key, of all streams, up to {self._gap} apart by {time}"

    def refuse_unusable(self, stream: str) -> None:
        """Refuse a gap of no time."""
        refuse_no_time(stream, self.gap, 'wm.session("5 minutes")')

    @property
    def _gap(self) -> str:
        return describe_duration(self.gap)

    def __str__(self) -> str:
        """As people say it."""
        return f"session {self._gap}"


def hopping(size: str | timedelta, every: str | timedelta) -> HoppingWindow:
    """Slots of time that overlap; the rows of a slot meet, and results say which slot it was.

    All streams of a query have the same slots. They are counted from 1970-01-01 00:00 UTC, and a row stands
    in ``size / every`` of them. Results have ``window_start`` and ``window_end``.

    Args:
        size: How long a slot is, a multiple of `every`.
        every: How long after a slot the next one begins.

    >>> print(hopping("10 minutes", every="5 minutes"))
    hopping 10 min every 5 min
    """
    example = 'wm.hopping("10 minutes", every="5 minutes")'
    return HoppingWindow(
        length_of(size, "the size of a hopping window", example),
        length_of(every, "the hop of a hopping window", example),
    )


def session(gap: str | timedelta) -> SessionWindow:
    """Sessions: rows of a key, of all streams together, each at most `gap` after the one before.

    All streams of a query have the same gap. A result is made of rows of one session; it leaves when the
    session has ended, which is when the watermark passes its last row by the gap.

    Args:
        gap: The longest time between two neighbouring rows of a session.

    >>> print(session("5 minutes"))
    session 5 min
    """
    return SessionWindow(length_of(gap, "the gap of a session", 'wm.session("5 minutes")'))


def length_of(value: Any, what: str, example: str) -> timedelta:
    """Read a length of a window; raises InvalidStream if it is none."""
    try:
        return parse_duration(value)
    except ValueError as error:
        raise InvalidStream(
            f"{what} is not a duration", f"{error}.", f"write a number and a unit, for example {example}."
        ) from None


def common_window(streams: Sequence[Stream]) -> Window | None:
    """The window that all streams have in common; None if each has its own. A mix is refused."""
    common = next((stream.window for stream in streams if stream.window.common), None)
    if common is None:
        return None
    if any(stream.window != common for stream in streams):
        raise InvalidQuery(
            f"{common.keyword} windows have to be the same in all streams of a query",
            ", ".join(f"{stream.name}: {str(stream.window) or 'none'}" for stream in streams) + ".",
            f"give every stream the window {common}, or none of them a {common.keyword} one.",
        )
    placed = [stream.name for stream in streams if stream.site is not None]
    if placed:
        raise InvalidQuery(
            f"{common.keyword} windows cannot be joined between sites",
            f"{choices(placed)} arrive at sites.",
            "leave site= out, or give every stream a window of time.",
        )
    return common


def refuse_missing_key(
    streams: Sequence[Stream], attributes: Sequence[Attribute], common: Window | None
) -> None:
    """Refuse sessions without one key that all streams share, and slots of streams that no key links."""
    if common is None:
        return
    linked = _linked(len(streams), attributes)
    if len(linked) > 1:
        parts = ["+".join(streams[number].name for number in sorted(part)) for part in linked]
        raise InvalidQuery(
            f"{common.keyword} windows need a key",
            f"no equality links {choices(parts)}.",
            'name a shared column, on="user", or write an equality; other conditions may come with it.',
        )
    partial = [attribute for attribute in attributes if len(attribute.streams) < len(streams)]
    if common.gap_us is not None and partial:
        raise InvalidQuery(
            "sessions need one key that all streams share",
            f"{partial[0].text} is not about all streams, and a session is made of rows of one key.",
            "join on a column that all streams have, and filter the DataFrame that comes back.",
        )


def _linked(streams: int, attributes: Sequence[Attribute]) -> list[set[int]]:
    """The streams in groups that equalities link."""
    groups = [{number} for number in range(streams)]
    for attribute in attributes:
        touched = [group for group in groups if attribute.among(group)]
        groups = [group for group in groups if group not in touched] + [set().union(*touched)]
    return groups
