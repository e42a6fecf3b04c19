"""A bucket around a join: it says when rows are joined, or what comes out, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watersmeet.kernel.bucket import Bucket, Counts, Metrics, RunFiles
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.run import Rows
from watersmeet.kernel.sampling import PathPlanner
from watersmeet.kernel.slicing import Slicing
from watersmeet.kernel.spreading import KeySpreader


@dataclass(slots=True)
class AroundJoin(Bucket):
    """A bucket that has a join inside.

    Attributes:
        inner: The join.
    """

    inner: MultiwayJoin

    @property
    def planner(self) -> PathPlanner | None:
        """Who chooses the paths."""
        return self.inner.planner

    @planner.setter
    def planner(self, value: PathPlanner | None) -> None:
        self.inner.planner = value

    @property
    def slicing(self) -> Slicing | None:
        """Who says which rows are stored here."""
        return self.inner.slicing

    @slicing.setter
    def slicing(self, value: Slicing | None) -> None:
        self.inner.slicing = value

    @property
    def spreader(self) -> KeySpreader | None:
        """Who decides which keys are spread over all buckets."""
        return self.inner.spreader

    @property
    def streams(self) -> frozenset[int]:
        """The inputs that are streams."""
        return self.inner.streams

    @property
    def watermark(self) -> int:
        """Every row still to come has a later time."""
        return self.inner.watermark

    @watermark.setter
    def watermark(self, value: int) -> None:
        self.inner.watermark = value

    def on_start(self, watermark: int) -> None:
        """A batch begins; rows of streams up to the watermark are late."""
        self.inner.on_start(watermark)

    def late(self, part: int, rows: Rows) -> Any:
        """A mask of the rows of a stream at or before the watermark."""
        return self.inner.late(part, rows)

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs."""
        return self.inner.save()

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        self.inner.load(kept)

    def use_files(self, files: RunFiles) -> None:
        """Look into windows piece by piece, where they do not fit."""
        self.inner.use_files(files)

    def resident(self) -> set[str]:
        """The runs that stay open until the next batch."""
        return self.inner.resident()

    def take_counts(self) -> Counts:
        """The counts, starting anew."""
        return self.inner.take_counts()

    def take_metrics(self) -> Metrics:
        """What it did, which ways it went, and which keys it holds."""
        return self.inner.take_metrics()
