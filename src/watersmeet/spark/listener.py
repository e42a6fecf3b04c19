"""Hears the batches of all joins of a session: says what their owner should know, and notes who is silent.

What is said is decided in `spark.speak` and goes to Python's logger ``watersmeet``. The notes are for streams
with ``idle=``, see `spark.host.idle`. A listener must never harm a query: what fails in here is only logged.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pyspark.sql.streaming.listener import StreamingQueryListener

from watersmeet.spark.advice import told_partitions
from watersmeet.spark.connect import is_connected
from watersmeet.spark.connected_listener import listen_without_a_trace
from watersmeet.spark.host.beside import leave_note
from watersmeet.spark.host.idle import Heard, Told, note_of
from watersmeet.spark.host.metrics import BatchMetrics
from watersmeet.spark.host.report import joins_in, metrics
from watersmeet.spark.kafka_lost import kafka_lost
from watersmeet.spark.private import is_private, own_name, put_file
from watersmeet.spark.speak import Speaker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("watersmeet")

_heard_in: WeakSet[Any] = WeakSet()


def notes_folder(spark: SparkSession) -> Path | None:
    """Where workers on this machine find where checkpoints are: a folder that Spark removes at its end.

    None where the driver is a server of Spark Connect, which nobody here can listen to in time.
    """
    if is_connected(spark):
        return None
    from pyspark import SparkFiles

    return Path(SparkFiles.getRootDirectory()) / own_name()


def listen(spark: SparkSession) -> None:
    """Hear the joins of a session; once is enough."""
    try:
        if spark not in _heard_in:
            if is_connected(spark):
                listen_without_a_trace(spark)
            spark.streams.addListener(JoinListener(spark))
            _heard_in.add(spark)
    except Exception as error:  # noqa: BLE001
        logger.info("joins of this session cannot be listened to: %s", error)


@dataclass
class Running:
    """What is known about a query that runs.

    Attributes:
        speaker: What was said about it.
        heard: What was heard of its streams.
        notes: The notes that were left for its sources.
    """

    speaker: Speaker = field(default_factory=Speaker)
    heard: dict[str, Heard] = field(default_factory=dict)
    notes: set[Path] = field(default_factory=set)


# By the id of the run, which no two queries share: two listeners say things once.
_running: dict[str, Running] = {}


class JoinListener(StreamingQueryListener):
    """Hears of every batch of every query of a session; most have no join of ours."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        """Listen to a session."""
        self._spark = None if spark is None else weakref.ref(spark)

    @property
    def _jlistener(self) -> Any:
        """In a classic session Spark's own listener asks the JVM for every field; this one asks once."""
        from pyspark import SparkContext

        if not hasattr(self, "_java"):
            jvm: Any = SparkContext._jvm  # noqa: SLF001
            self._java = jvm.PythonStreamingQueryListenerWrapper(JavaListener(self._spark))
        return self._java

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to say yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A batch has ended."""
        heard(event.progress)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Forget it."""
        forget(str(event.runId))


class JavaListener:
    """What Java calls in a classic session."""

    def __init__(self, spark: Callable[[], SparkSession | None] | None) -> None:
        """Listen to a session, if it is still there."""
        self._spark = spark

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Tell the workers where its checkpoint is; Java waits for this before the first batch."""
        with contextlib.suppress(Exception):
            spark = None if self._spark is None else self._spark()
            assert spark is not None
            queries = spark._jsparkSession.streams()  # noqa: SLF001
            running = queries.get(event.id()).streamingQuery()
            folder = notes_folder(spark)
            if folder is not None:
                joins: list[int] = []
                with contextlib.suppress(Exception):
                    joins = joins_in(running.analyzedPlan().toString())
                leave_note(folder, event.id().toString(), running.resolvedCheckpointRoot(), joins)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A batch has ended."""
        with contextlib.suppress(Exception):
            heard(_progress(json.loads(event.progress().json())))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing has happened."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Forget it."""
        with contextlib.suppress(Exception):
            forget(event.runId().toString())

    class Java:
        """The interface of Spark."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _progress(said: dict[str, Any]) -> Any:
    """A progress from its JSON, as far as it is needed here."""
    sources = [
        SimpleNamespace(
            description=one.get("description"),
            startOffset=one.get("startOffset"),
            endOffset=one.get("endOffset"),
            numInputRows=one.get("numInputRows", 0),
        )
        for one in said["sources"]
    ]
    states = [
        SimpleNamespace(numShufflePartitions=one["numShufflePartitions"]) for one in said["stateOperators"]
    ]
    return SimpleNamespace(
        runId=said["runId"],
        id=said["id"],
        name=said.get("name"),
        batchId=said["batchId"],
        observedMetrics=said.get("observedMetrics") or {},
        sources=sources,
        stateOperators=states,
    )


def heard(progress: Any) -> None:
    """Say what is new in a batch, and leave notes; never raises."""
    try:
        batch = metrics(progress)
        if not batch:
            return
        running = _running.setdefault(str(progress.runId), Running())
        partitions = max((one.numShufflePartitions for one in progress.stateOperators), default=None)
        known = None if partitions in told_partitions else partitions
        for line in running.speaker.lines(batch, known, kafka_lost(progress)):
            logger.warning("query %s: %s", progress.name or progress.id, line)
        told = [
            one for one in (Told.read(source.endOffset) for source in progress.sources) if one is not None
        ]
        if told:
            _hear(running.heard, batch)
            for one in told:
                # A batch of an earlier life may name a folder that is gone.
                if is_private(one.note.parent):
                    put_file(one.note, note_of(running.heard), durable=False)
                    running.notes.add(one.note)
    except Exception:
        logger.debug("a batch could not be read", exc_info=True)


def forget(run: str) -> None:
    """A query has ended."""
    running = _running.pop(run, None)
    for note in running.notes if running is not None else ():
        with contextlib.suppress(OSError):
            note.unlink()


def _hear(known: dict[str, Heard], batch: list[BatchMetrics]) -> None:
    now = time.time()
    for one in batch:
        for name, stream in one.streams.items():
            before = known.get(name)
            newest = before.newest if before is not None else None
            if stream.newest is not None:
                newest = round(stream.newest.timestamp() * 1e6)
            if before is None or stream.rows or newest != before.newest:
                known[name] = Heard(newest, now)
