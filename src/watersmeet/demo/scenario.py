"""What a demo shows: streams with their rows in order of arrival, and the question asked of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import WatersmeetError
from watersmeet.query.join import On

Integers = npt.NDArray[np.int64]

# Every row carries its position in its stream, so that an answer can be checked row by row.
ROW = "row"


class InvalidScenario(WatersmeetError, ValueError):
    """A demo cannot be shown as asked."""


@dataclass(frozen=True, slots=True)
class Feed:
    """One stream of a demo.

    Attributes:
        name: The name of the stream.
        rows: Its rows in order of arrival.
        arrival_us: When each row arrives; it decides which rows travel together.
        lateness: How far a row may be behind the newest before it.
    """

    name: str
    rows: pa.Table
    arrival_us: Integers
    lateness: timedelta


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold."""

    claim: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(ABC):
    """One demo: the streams, the join and how to show it.

    Attributes:
        title: The headline.
        story: What is about to happen.
        feeds: The streams.
        time: The column with the event time.
        window: How long the rows of every stream wait for partners.
        batches: In how many parts the rows are replayed.
        headings: The columns of the table of first results.
        cells: Turns a result, one dict per stream, into a line of that table.
        note: How to read that table.
        no_time: What a row without event time is called.
    """

    title: str
    story: str
    feeds: tuple[Feed, ...]
    time: str
    window: timedelta
    batches: int
    headings: tuple[str, ...]
    cells: Callable[[Mapping[str, Any]], tuple[str, ...]]
    note: str
    no_time: str

    @property
    def rows(self) -> int:
        """Rows of all streams."""
        return sum(feed.rows.num_rows for feed in self.feeds)

    @property
    @abstractmethod
    def on(self) -> On:
        """What the streams are joined on."""

    @abstractmethod
    def check(self, answer: pa.Table) -> list[Check]:
        """Compare an answer, one struct column per stream, with what is known about the scenario."""

    def keepsake(self, answer: pa.Table) -> Path | None:  # noqa: ARG002
        """Write what stays when the demo is over; returns where it is, if there is something."""
        return None


def times_us(rows: pa.Table, time: str) -> Integers:
    """The event times that are there, in microseconds, in order of arrival."""
    times: Integers = rows[time].drop_null().cast(pa.int64()).to_numpy()
    return times


def behind_us(times: Integers) -> Integers:
    """How far each row is behind the newest that arrived before it.

    >>> behind_us(np.array([10, 30, 20, 30, 40]))
    array([ 0,  0, 10,  0,  0])
    """
    behind: Integers = np.maximum.accumulate(times) - times
    return behind
