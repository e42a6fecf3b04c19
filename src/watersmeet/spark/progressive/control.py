"""Ticks and end markers as a source of Spark.

Spark runs a batch only when some source has something new. So that a join can work while its streams are
silent, and learn that they have ended, one more source is put beside them: it has something new whenever a
tick of the clock has passed, and when somebody has left an end marker in its folder.

    offset    {"tick": 17, "ended": [0]}      which ticks were given, and which streams have ended

What has ended stays in the offsets, and so in the checkpoint, whatever becomes of the folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

FORMAT = "watersmeet-control"
# The input whose blobs are ticks and end markers.
CONTROL = -1
SCHEMA = "label int, input int, blob binary"
_MARKER = "ended-{}"


def mark_ended(folder: Path, stream: int) -> None:
    """Leave an end marker."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER.format(stream)).touch()


def told(offset: Any) -> set[int] | None:
    """The streams that have ended by an offset in Spark's progress; None if it is of another source."""
    try:
        found = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return None
    known = isinstance(found, dict) and found.keys() == {"tick", "ended"}
    return set(found["ended"]) if known else None


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
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """A reader with these options."""
        return ControlReader(dict(self.options))


class Signal(InputPartition):
    """What is told to the groups: the streams that have ended."""

    def __init__(self, ended: Sequence[int]) -> None:
        """Plain data."""
        self.ended = list(ended)


class ControlReader(DataSourceStreamReader):
    """Gives every group one row when something has changed."""

    def __init__(self, options: dict[str, str]) -> None:
        """Remember where to look."""
        self._folder = Path(options["folder"])
        self._streams = int(options["streams"])
        self._labels = [int(label) for label in options["labels"].split(",")]
        self._seconds = float(options["seconds"])

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Nothing was told."""
        return {"tick": 0, "ended": []}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802
        """What there is to tell now; a clock that was set back does not take ticks back."""
        found = [stream for stream in range(self._streams) if self._marker(stream).exists()]
        tick = int(time.time() / self._seconds)
        return {"tick": max(tick, start["tick"]), "ended": sorted({*start["ended"], *found})}

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

    def _marker(self, stream: int) -> Path:
        return self._folder / _MARKER.format(stream)
