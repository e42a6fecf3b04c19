"""Ending streams: wait until all that is there was read, leave end markers, wait until all is found."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from watersmeet.errors import InvalidQuery, StillRunning
from watersmeet.spark.private import private_folder, put_file
from watersmeet.spark.progressive.control import Told

_LOOK_EVERY_SECONDS = 0.1


def finish(
    running: Any, streams: Sequence[int], sources: Sequence[int] | None, timeout_s: float | None
) -> None:
    """Tell a running query that some of its streams have ended, and wait until that is done.

    An end marker is believed at once, so it must not overtake rows: first all that the sources have now is
    read, which shows in a batch for which they had nothing new to offer. That such a batch had no rows would
    not do: files may be empty, or hold nothing that passes a filter.

    Args:
        running: Spark's streaming query.
        streams: The numbers of the streams.
        sources: Per stream how many sources of the query it is read from, in their order, control last; None
            if that is not known, and then all have to be silent.
        timeout_s: How long to wait.
    """
    until = None if timeout_s is None else time.monotonic() + timeout_s
    if not running.isActive and _told(running.lastProgress, streams):
        return
    first = _last_batch(running) + 1
    _wait(running, until, lambda progress: progress.batchId > first and _silent(progress, streams, sources))
    told = next(filter(None, (Told.read(source.endOffset) for source in running.lastProgress.sources)))
    markers = [told.marker(stream) for stream in streams]
    private_folder(Path(told.folder))
    for marker in markers:
        put_file(marker, b"", durable=False)
    first = _last_batch(running)
    # Should that take too long they stay: the query goes on, and sees them.
    _wait(running, until, lambda progress: progress.batchId > first and _told(progress, streams))
    for marker in markers:
        with contextlib.suppress(OSError):
            marker.unlink()


def _wait(running: Any, until: float | None, done: Callable[[Any], bool]) -> None:
    while True:
        if any(done(progress) for progress in running.recentProgress):
            return
        if not running.isActive:
            error = running.exception()
            if error is not None:
                raise error
            raise InvalidQuery(
                "the query has stopped before its streams could end",
                "end markers are read by a running query.",
                "start it without trigger(availableNow=True), call finish, and then stop it.",
            )
        if until is not None and time.monotonic() > until:
            raise StillRunning(
                "the query has not found all results in time",
                "it goes on looking for them.",
                "call finish again and give it longer, or leave it to itself.",
            )
        time.sleep(_LOOK_EVERY_SECONDS)


def _last_batch(running: Any) -> int:
    last = running.lastProgress
    return -1 if last is None else int(last.batchId)


def _silent(progress: Any, streams: Sequence[int], sources: Sequence[int] | None) -> bool:
    """Whether the sources of some streams had nothing new to offer for a batch."""
    offered = [
        source.startOffset != source.endOffset
        for source in progress.sources
        if Told.read(source.endOffset) is None
    ]
    if sources is None or sum(sources) != len(offered):
        # Something else is read beside these, or one source twice: then all of them.
        return not any(offered)
    starts = [sum(sources[:stream]) for stream in range(len(sources))]
    return not any(any(offered[starts[one] : starts[one] + sources[one]]) for one in streams)


def _told(progress: Any, streams: Sequence[int]) -> bool:
    if progress is None:
        return False
    known = [Told.read(source.endOffset) for source in progress.sources]
    return any(told is not None and told.ended.issuperset(streams) for told in known)
