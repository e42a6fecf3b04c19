"""Ticks and end markers as a source of Spark.

Spark runs a batch only when some source has something new. So that a join can work while its streams are
silent, and learn that they have ended, one more source is put beside them: it has something new whenever a
tick of time has passed, and when somebody has left an end marker in its folder.

    offset    {"at": 1700000000.0, "ended": [0], "run": "5f3a...", "folder": "..."}

These are the time of the last tick, the streams that have ended, a name for the run, and where end markers
for it are looked for. What has ended stays in the offsets, and so in the checkpoint, whatever becomes of the
folder. The name is made up when a run begins with nothing; markers carry it, so that none is believed by
another run of the same query. Nor is one that somebody else may have left: the folder must be closed to all
other users.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from watersmeet.spark.host.arrivals import CONTROL
from watersmeet.spark.host.blobs import PACKED_SCHEMA
from watersmeet.spark.private import believed

FORMAT = "watersmeet-control"


@dataclass(frozen=True, slots=True)
class Told:
    """What the groups have been told by an offset."""

    at: float
    ended: frozenset[int]
    run: str
    folder: str

    @classmethod
    def read(cls, offset: Any) -> Told | None:
        """An offset as in Spark's progress; None if it is of another source."""
        try:
            found = json.loads(offset) if isinstance(offset, str) else offset
        except ValueError:
            return None
        if not isinstance(found, dict) or found.keys() != {"at", "ended", "run", "folder"}:
            return None
        return cls(found["at"], frozenset(found["ended"]), found["run"], found["folder"])

    def offset(self) -> dict[str, Any]:
        """As Spark keeps it."""
        return {"at": self.at, "ended": sorted(self.ended), "run": self.run, "folder": self.folder}

    def marker(self, stream: int) -> Path:
        """The file that says that a stream of this run has ended."""
        return Path(self.folder) / f"{self.run}-ended-{stream}"


class ControlSource(DataSource):
    """Ticks and end markers.

    Options: ``folder`` of the end markers, how many ``streams`` there are, ``labels`` of the groups, and
    ``seconds`` of a tick.
    """

    @classmethod
    def name(cls) -> str:
        """What the source is called."""
        return FORMAT

    def schema(self) -> str:
        """What it gives."""
        return PACKED_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """A reader with these options."""
        return ControlReader(dict(self.options))


class Signal(InputPartition):
    """What is told to the groups: the streams that have ended."""

    def __init__(self, ended: Sequence[int]) -> None:
        """Plain data."""
        self.ended = list(ended)


class ControlReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Gives every group one row when something has changed."""

    def __init__(self, options: dict[str, str]) -> None:
        """Remember where to look."""
        self._folder = options["folder"]
        self._streams = int(options["streams"])
        self._labels = [int(label) for label in options["labels"].split(",")]
        self._seconds = float(options["seconds"])
        # When no tick is given any more: with the trigger "available now" there is one, at the beginning.
        self._last: float | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Nothing was told."""
        return Told(0.0, frozenset(), uuid.uuid4().hex, self._folder).offset()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What comes later is not told in this run."""
        self._last = time.time()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802
        """What there is to tell now; a clock that was set back is followed from there."""
        before = Told.read(start)
        assert before is not None
        now = time.time() if self._last is None else self._last
        passed = not 0 <= now - before.at < self._seconds
        told = replace(before, at=now if passed and now != before.at else before.at, folder=self._folder)
        found = [stream for stream in range(self._streams) if believed(told.marker(stream))]
        return replace(told, ended=told.ended.union(found)).offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One, if there is something to tell."""
        return [Signal(end["ended"])] if end != start else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A row for every group."""
        assert isinstance(partition, Signal)
        blob = json.dumps({"ended": partition.ended}).encode()
        count = len(self._labels)
        yield pa.record_batch(
            [
                pa.array(self._labels, pa.int32()),
                pa.array([CONTROL] * count, pa.int32()),
                pa.array([blob] * count, pa.binary()),
            ],
            ["label", "input", "blob"],
        )
