"""One input of a join: where its rows come from, which column is time, how long a row lives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from watersmeet.errors import InvalidStream, choices
from watersmeet.query.duration import describe_duration, to_us
from watersmeet.query.window import FROM_CONDITIONS, window_of
from watersmeet.query.window_kind import Window

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SITE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
# The column a join adds to its result: when the last row of a combination came alive.
RESULT_TIME = "result_time"
# And, on request, an id that is the same when its batch runs again.
RESULT_ID = "result_id"
# What it adds beside it where rows meet in slots: from when to when the slot of a combination is.
WINDOW_START, WINDOW_END = "window_start", "window_end"
ADDED = (WINDOW_START, WINDOW_END, RESULT_TIME)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a stream.

    Attributes:
        name: Its name.
        type: Spark's short type text, such as ``bigint``.
        not_a_key: Why its values cannot be compared for equality; empty when they can.
        not_stored: Why its values cannot be part of a result or of a condition between streams; empty when
            they can.
    """

    name: str
    type: str
    not_a_key: str = ""
    not_stored: str = ""


@dataclass(frozen=True, slots=True)
class Stream:
    """A named stream; a row is alive from its time for as long as its window says (`query.window`).

    Attributes:
        name: How the stream is called in the query and in the result.
        columns: Every column a query may mention.
        time: The event-time column.
        window: How long a row waits for partners. It may be given as a length of time, or as None where the
            conditions on time say it.
        lateness: How much later than the newest row of the stream a row may arrive and still count.
        max_future: Rows further ahead of the clock than this are set aside, since one of them would
            move the watermark past everything; None trusts every timestamp.
        source: The rows themselves, a DataFrame; nothing in this layer looks inside.
        site: Where its rows arrive; None where that does not matter.
        optional: Whether results go on without it, with nulls, where it has no partner for them.
        idle: After how long a silence, on the clock, the others go on without it; None always waits.
        problem: The column of the source that says why a row cannot be used, such as a record that could not
            be decoded, and is null where it can. It is none of `columns`: no query mentions it.

    >>> s = Stream("a", (Column("k", "int"), Column("ts", "timestamp")), "ts", timedelta(seconds=5))
    >>> s.lateness_us
    0
    """

    name: str
    columns: tuple[Column, ...]
    time: str
    window: Window = FROM_CONDITIONS
    lateness: timedelta = timedelta(0)
    max_future: timedelta | None = timedelta(days=1)
    source: Any = field(default=None, compare=False, repr=False)
    site: str | None = None
    optional: bool = False
    idle: timedelta | None = None
    # Not a part of what a checkpoint between sites remembers, which is this text.
    problem: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse a stream that could never be joined."""
        object.__setattr__(self, "window", window_of(self.window))
        if not _NAME.fullmatch(self.name):
            raise InvalidStream(
                f'stream name "{self.name}" is not usable',
                "the name becomes a column of the result.",
                "use letters, digits and underscores, starting with a letter.",
            )
        if self.name.lower() in ADDED or self.name.startswith("__"):
            raise InvalidStream(
                f'stream name "{self.name}" is reserved',
                "the result has columns of that kind already.",
                "choose another name.",
            )
        if self.site is not None:
            refuse_unusable_site(self.site, f'stream "{self.name}"')
        _refuse_ambiguous_columns(self)
        time = self.column(self.time)
        if time.type != "timestamp":
            raise InvalidStream(
                f'time column "{self.time}" of stream "{self.name}" is not a timestamp',
                f"its type is {time.type}.",
                f'convert it first, for example df.withColumn("{self.time}", '
                f"F.to_timestamp(...)) or .cast('timestamp').",
            )
        self.window.refuse_unusable(self.name)
        if self.lateness < timedelta(0):
            raise InvalidStream(
                f'lateness of stream "{self.name}" is negative',
                f"it is {describe_duration(self.lateness)}.",
                'use lateness="0 seconds" for rows that arrive in order.',
            )
        if self.max_future is not None and self.max_future < timedelta(0):
            raise InvalidStream(
                f'max_future of stream "{self.name}" is negative',
                f"it is {describe_duration(self.max_future)}, so rows of this moment would be set aside.",
                "give it a length, or None to trust every timestamp.",
            )

        self._refuse_unfit_idle()

    def _refuse_unfit_idle(self) -> None:
        if self.idle is None:
            return
        if self.idle <= timedelta(0):
            raise InvalidStream(
                f'idle of stream "{self.name}" is not a length of time',
                f"it is {describe_duration(self.idle)}.",
                'say after how long a silence the others go on without it: idle="5 minutes".',
            )
        if self.window.endless:
            raise InvalidStream(
                f'stream "{self.name}" cannot be idle',
                "without windows there is no watermark that it could hold back.",
                "leave idle= out, or give the streams windows.",
            )

    @property
    def lateness_us(self) -> int:
        """The lateness in microseconds."""
        return to_us(self.lateness)

    @property
    def idle_s(self) -> float | None:
        """After how many seconds of silence the others go on without it."""
        return None if self.idle is None else self.idle.total_seconds()

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names a query may mention."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The column of that name, or an error that lists the valid ones."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidStream(
            f'stream "{self.name}" has no column "{name}"',
            "",
            f"its columns are {choices(self.column_names)}.",
        )


def refuse_unusable_site(site: Any, of: str) -> None:
    """Refuse a name that could not be a folder on every machine: messages to a site have one."""
    if not isinstance(site, str) or not _SITE.fullmatch(site):
        raise InvalidStream(
            f"site {site!r} of {of} is not usable",
            "messages to a site go through a folder of its name.",
            "use letters, digits, - and _, at most 64 of them, not - first.",
        )


def _refuse_ambiguous_columns(stream: Stream) -> None:
    seen: dict[str, str] = {}
    for name in stream.column_names:
        # Spark resolves names without regard to case, so "Id" and "id" cannot be told apart.
        if name.lower() in seen:
            raise InvalidStream(
                f'column "{name}" of stream "{stream.name}" is ambiguous',
                f"it appears more than once, as {choices((seen[name.lower()], name))}.",
                "rename or drop one of them before joining.",
            )
        seen[name.lower()] = name


def added_columns(streams: Sequence[Stream]) -> tuple[str, ...]:
    """The columns that a join of some streams adds to those of the streams."""
    return ADDED if streams[0].window.slots is not None else (RESULT_TIME,)
