"""Ending streams: wait until all that is there was read, leave end markers, wait until all is found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from watersmeet.errors import InvalidQuery, StillRunning
from watersmeet.spark.progressive.control import mark_ended, told

_LOOK_EVERY_SECONDS = 0.1


def finish(running: Any, folder: Path, streams: Sequence[int], timeout_s: float | None) -> None:
    """Tell a running query that some of its streams have ended, and wait until that is done.

    An end marker is believed at once, so it must not overtake rows: first all that the sources have now is
    read, which shows in a batch in which only the control source has something new.

    Args:
        running: Spark's streaming query.
        folder: Where its control source looks for end markers.
        streams: The numbers of the streams.
        timeout_s: How long to wait.
    """
    until = None if timeout_s is None else time.monotonic() + timeout_s
    first = _last_batch(running) + 1
    _wait(running, until, lambda progress: progress.batchId > first and _silent(progress))
    for stream in streams:
        mark_ended(folder, stream)
    first = _last_batch(running)
    _wait(running, until, lambda progress: progress.batchId > first and _ended(progress, streams))


def _wait(running: Any, until: float | None, done: Any) -> None:
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


def _silent(progress: Any) -> bool:
    """Whether no stream had anything new in a batch."""
    return all(source.numInputRows == 0 for source in progress.sources if told(source.endOffset) is None)


def _ended(progress: Any, streams: Sequence[int]) -> bool:
    return any((told(source.endOffset) or set()).issuperset(streams) for source in progress.sources)
