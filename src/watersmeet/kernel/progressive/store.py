"""Where the rows of a progressive join lie: what its host has to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from watersmeet.kernel.progressive.history import History


@dataclass(frozen=True, slots=True)
class DiskRun:
    """A sorted run of one partition of one side.

    Attributes:
        tag: Its number; runs that were merged together are known by their tags.
        rows: How many rows it has.
        handle: How the store knows it.
    """

    tag: int
    rows: int
    handle: Any


class Store(Protocol):
    """Rows in memory by side and partition, and runs on disk. What it finds goes through it unread."""

    def arrive(self, side: int, rows: Any, stamp: int) -> tuple[Any, Iterator[Any]]:
        """Take new rows into memory.

        Returns how many each partition got, and their pairs with rows of the other side in memory.
        """

    def resident(self, side: int, partition: int) -> Sequence[tuple[int, Any]]:
        """What is in memory of a partition, as runs: their rows and handles."""

    def evict(
        self, side: int, partition: int, count: int, stamp: int
    ) -> tuple[Sequence[tuple[int, Any]], Any]:
        """Let the oldest rows of a partition leave memory.

        Returns the runs they are now, with their rows and handles, and when the rows came, in that order.
        """

    def scan(
        self, side: int, partition: int, disk: Sequence[DiskRun], stamp: int, history: History
    ) -> Iterator[Any]:
        """Unseen pairs of a side's rows in memory with runs of the other side."""

    def read(self, runs: Sequence[DiskRun]) -> None:
        """These runs are about to be joined and merged."""

    def join(
        self, partition: int, one: DiskRun, others: Sequence[DiskRun], history: History
    ) -> Iterator[Any]:
        """Unseen pairs of a run of the first side with runs of the second."""

    def merge(self, side: int, partition: int, runs: Sequence[DiskRun]) -> Any:
        """One run in place of several; returns its handle."""
