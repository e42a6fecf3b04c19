"""What a kind of window says of itself: everything in which kinds differ is asked of the window.

Whatever the kind, no row waits longer than its **reach**: the longest its window lets it wait, made shorter
by the conditions on time (`query.bands`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from watersmeet.errors import InvalidStream
from watersmeet.query.duration import describe_duration


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
        common: Whether it says which rows of all streams belong together, so that all streams of a query
            have it, or none. Conditions on time do not make it shorter.
    """

    __slots__ = ()

    keyword: ClassVar[str] = ""
    in_sql: ClassVar[str] = ""
    settings: ClassVar[Mapping[str, type]] = {}
    waits_for_watermark: ClassVar[bool] = False
    endless: ClassVar[bool] = False
    left_to_conditions: ClassVar[bool] = False
    rows_bring_ends: ClassVar[bool] = False
    common: ClassVar[bool] = False

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

    @property
    def every_row_matters(self) -> bool:
        """Whether rows that fail a condition change what becomes of others."""
        return self.counts_rows

    @property
    def slots(self) -> Slots | None:
        """The slots of time in which rows stand, where one row stands in several; None where it does not."""
        return None

    @property
    def gap_us(self) -> int | None:
        """How far apart neighbouring rows of a session are at most, microseconds; None without sessions."""
        return None

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
class Slots:
    """Slots of time that overlap: slot k begins at k hops from 1970-01-01 UTC.

    Attributes:
        size: How long a slot is, microseconds.
        hop: How long after one the next begins; the size is a multiple of it.
    """

    size: int
    hop: int

    @property
    def copies(self) -> int:
        """In how many slots a row stands."""
        return self.size // self.hop


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


def refuse_no_time(stream: str, length: timedelta, example: str) -> None:
    """Raise InvalidStream if a length of the window of a stream is no time at all."""
    if length <= timedelta(0):
        raise InvalidStream(
            f'window of stream "{stream}" is not positive',
            f"it is {describe_duration(length)}, so no row would ever wait for a partner.",
            f"give it a length, for example window={example}.",
        )
