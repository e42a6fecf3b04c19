"""Streams that fall silent and must not hold the others back, as a source of Spark.

Spark's watermark is the smallest of what its streams have reached, and what a stream has reached only moves
with its rows. So a stream that may be idle has one more source in its branch. When the stream has been silent
for as long as it says, that source sends one row with what the other streams have reached.

    offset    {"idle": "payments", "reached": 1700000000000000, "run": "5f3a...", "folder": "..."}

What was told is in the offset, and so in the checkpoint: a batch that runs again tells the same. What the
streams have reached, and when they last had rows, is in the metrics of every batch. Whoever listens to these
(`spark.listener`) leaves a note in the folder; `run` keeps the notes of two queries apart.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from watersmeet.spark.host.pack import SOURCE_SCHEMA, Report
from watersmeet.spark.private import believed

FORMAT = "watersmeet-idle"


@dataclass(frozen=True, slots=True)
class Told:
    """What an offset says: what an idle stream is said to have reached, microseconds."""

    idle: str
    reached: int | None
    run: str
    folder: str

    @classmethod
    def read(cls, offset: Any) -> Told | None:
        """An offset as in Spark's progress; None if it is of another source."""
        try:
            found = json.loads(offset) if isinstance(offset, str) else offset
        except ValueError:
            return None
        if not isinstance(found, dict) or found.keys() != {"idle", "reached", "run", "folder"}:
            return None
        return cls(**found)

    @property
    def note(self) -> Path:
        """The file in which the reader finds what is known about all streams."""
        return Path(self.folder) / f"{Path(self.run).name}-streams"


@dataclass(frozen=True, slots=True)
class Patience:
    """What a stream was declared with: its lateness, and after how long a silence it is idle, if ever."""

    lateness_us: int
    idle_s: float | None


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of a stream: the newest time it has sent, and when on the clock it last had rows."""

    newest: int | None
    at: float


def others_reached(
    stream: str, all_: Mapping[str, Patience], heard: Mapping[str, Heard], since: float, now: float
) -> int | None:
    """What the other streams have reached; None while this one is not idle, or nothing is known.

    Others that are idle themselves do not count. If all are, the furthest of them does: all that came can be
    joined then.

    Args:
        stream: The stream.
        all_: All streams of the join.
        heard: What was heard of them.
        since: Since when anybody has listened; a silence starts no earlier.
        now: The clock.
    """

    def idle(name: str) -> bool:
        limit = all_[name].idle_s
        silent = now - max(since, heard[name].at if name in heard else since)
        return limit is not None and silent >= limit

    def reached(name: str) -> int | None:
        newest = heard[name].newest if name in heard else None
        return None if newest is None else newest - all_[name].lateness_us

    if not idle(stream):
        return None
    others = [name for name in all_ if name != stream]
    awake = [reached(name) for name in others if not idle(name)]
    if awake:
        return None if None in awake else min(one for one in awake if one is not None)
    return max((one for one in map(reached, others) if one is not None), default=None)


class IdleSource(DataSource):
    """What the others have reached, while a stream is idle.

    Options: the ``stream``, ``streams`` with the `Patience` of each as JSON, the ``folder`` of notes, the
    ``label`` of the ledger and the ``input``.
    """

    @classmethod
    def name(cls) -> str:
        """What the source is called."""
        return FORMAT

    def schema(self) -> str:
        """What it gives."""
        return SOURCE_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """A reader with these options."""
        return IdleReader(dict(self.options))


class Reached(InputPartition):
    """What is told."""

    def __init__(self, reached: int) -> None:
        """Plain data."""
        self.reached = reached


class IdleReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Tells one row whenever a stream is idle and the others have gone on."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Remember where to look."""
        self._stream = options["stream"]
        self._streams = {name: Patience(**one) for name, one in json.loads(options["streams"]).items()}
        self._folder = options["folder"]
        self._label, self._input = int(options["label"]), int(options["input"])
        self._since = time.time()
        self._finite = False

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Nothing was told."""
        return asdict(Told(self._stream, None, uuid.uuid4().hex, self._folder))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there is read and then it ends: nobody waits."""
        self._finite = True

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802
        """What there is to tell now; it never goes back."""
        if self._finite:
            return start
        told = replace(Told(**start), folder=self._folder)
        reached = others_reached(self._stream, self._streams, read_note(told), self._since, time.time())
        if reached is not None and (told.reached is None or reached > told.reached):
            told = replace(told, reached=reached)
        return asdict(told)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One, if there is something to tell."""
        return [Reached(end["reached"])] if end["reached"] != start["reached"] else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A row for the ledger, as new as a row of the stream that has reached as much as the others."""
        assert isinstance(partition, Reached)
        newest = partition.reached + self._streams[self._stream].lateness_us
        yield pa.record_batch(
            [
                pa.array([self._label], pa.int32()),
                pa.array([self._input], pa.int32()),
                pa.array([Report(self._input, idle=partition.reached).to_bytes()], pa.binary()),
                pa.array([newest], pa.timestamp("us", tz="UTC")),
            ],
            ["label", "input", "blob", "newest"],
        )


def read_note(told: Told) -> dict[str, Heard]:
    """What is known about the streams; nothing if there is no note, or somebody else may have left it."""
    if not believed(told.note):
        return {}
    try:
        return {name: Heard(*one) for name, one in json.loads(told.note.read_bytes()).items()}
    except (OSError, ValueError, TypeError):
        return {}


def note_of(heard: Mapping[str, Heard]) -> bytes:
    """A note for the reader."""
    return json.dumps({name: [one.newest, one.at] for name, one in heard.items()}).encode()
