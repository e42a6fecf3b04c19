"""What has happened so far: the metrics of all batches, added up."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from watersmeet.plan.plan import BETWEEN
from watersmeet.spark.host.metrics import StreamMetrics
from watersmeet.spark.host.report import metrics


@dataclass(slots=True)
class StreamTotals:
    """One stream so far; `live` and `state_bytes` as of its last batch."""

    rows: int = 0
    late: int = 0
    no_time: int = 0
    live: int = 0
    state_bytes: int = 0
    newest: str = ""

    def add(self, batch: StreamMetrics) -> None:
        """Take in one batch."""
        self.rows += batch.rows
        self.late += batch.late
        self.no_time += batch.null_times
        if batch.live is not None and batch.state_bytes is not None:
            self.live, self.state_bytes = batch.live, batch.state_bytes
        if batch.newest is not None:
            self.newest = _second(str(batch.newest))


@dataclass(slots=True)
class Progress:
    """A running join so far.

    Attributes:
        streams: Every input of every operator by name: the streams, then results that are joined further.
        expected_rows: How many rows will come; None where nobody knows.
        curve: After every batch, the seconds since the start and the results found until then.
    """

    streams: dict[str, StreamTotals]
    expected_rows: int | None = None
    batches: int = 0
    results: int = 0
    watermark: str = ""
    held_by: str = ""
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    curve: list[tuple[float, int]] = field(default_factory=list)
    _last_batch: int = -1

    @classmethod
    def of(cls, names: Iterable[str], expected_rows: int | None = None) -> Progress:
        """Nothing so far."""
        return cls({name: StreamTotals() for name in names}, expected_rows)

    @property
    def rows(self) -> int:
        """Rows read from all streams."""
        return sum(stream.rows for name, stream in self.streams.items() if BETWEEN not in name)

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        return (self.ended or time.monotonic()) - self.started

    @property
    def rows_per_second(self) -> float:
        """The average since the start."""
        return self.rows / self.seconds if self.seconds else 0.0

    def update(self, query: Any) -> int:
        """Take in the batches that have ended since the last call; returns how many there were."""
        before = self.batches
        latest = query.lastProgress
        if latest is None or latest.batchId <= self._last_batch:
            return 0
        for progress in query.recentProgress:
            # While Spark waits it reports the last batch again.
            if progress.batchId > self._last_batch and progress.observedMetrics:
                self._last_batch = progress.batchId
                self._add(progress)
        return self.batches - before

    def _add(self, progress: Any) -> None:
        operators = metrics(progress)
        self.batches += 1
        self.results += operators[-1].results
        self.curve.append((self.seconds, self.results))
        holders = [operator.watermark_held_by for operator in operators if operator.watermark_held_by]
        self.held_by = holders[-1] if holders else self.held_by
        watermark = progress.eventTime.get("watermark", "")
        # Spark's word for having none yet is 1970.
        self.watermark = "" if watermark.startswith("1970-") else _second(watermark)
        for operator in operators:
            for name, stream in operator.streams.items():
                self.streams.setdefault(name, StreamTotals()).add(stream)


def _second(instant: str) -> str:
    """2013-01-14T22:59:00.000Z becomes 2013-01-14 22:59:00."""
    return instant.replace("T", " ")[:19]
